// Accuracy of functions of one f16 or bf16 argument, over all 2^16 arguments.
#include "small.h"
#include "unary.h"

// The root of a small number, computed in double, decides: see accuracy.cu.
UNARY(sqrt_f16, F16, false, true, __builtin_elementwise_sqrt(x), root(x))
UNARY(sqrt_bf16, BF16, false, true, __builtin_elementwise_sqrt(x), root(x))

UNARY(exp2_f16_sfu, F16, false, false, sfu_exp2(x), __nv_exp2(x))
UNARY(exp2_bf16_sfu, BF16, true, false, sfu_exp2(x), __nv_exp2(x))
UNARY(tanh_f16_sfu, F16, false, false, __builtin_elementwise_tanh(x), __nv_tanh(x))
UNARY(tanh_bf16_sfu, BF16, false, false, __builtin_elementwise_tanh(x), __nv_tanh(x))
