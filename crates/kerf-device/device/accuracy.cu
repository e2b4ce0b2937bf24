// Accuracy of f32 functions of one argument, over all 2^32 arguments.
#include "unary.h"

// Roots and quotients of floats, computed in double, decide the rounding to float: a quotient or
// root cannot be nearer than 2^-50 to the middle between two floats without being there (Figueroa,
// "When is double rounding innocuous?", 1995).
UNARY(sqrt_f32, F32, false, true, __nvvm_sqrt_rn_f(x), root(x))
UNARY(rcp_f32, F32, false, true, 1.0f / x, 1.0 / x)
// 1/sqrtf(x); libdevice's rsqrtf is the special-function unit's instruction, measured below.
UNARY(rsqrt_f32, F32, false, false, 1.0f / __nvvm_sqrt_rn_f(x), 1.0 / root(x))
UNARY(exp_f32, F32, false, false, __nv_expf(x), __nv_exp(x))
UNARY(log_f32, F32, false, false, __nv_logf(x), __nv_log(x))
UNARY(sin_f32, F32, false, false, __nv_sinf(x), __nv_sin(x))
UNARY(cos_f32, F32, false, false, __nv_cosf(x), __nv_cos(x))
UNARY(tan_f32, F32, false, false, __nv_tanf(x), __nv_tan(x))
UNARY(tanh_f32, F32, false, false, __nv_tanhf(x), __nv_tanh(x))
UNARY(exp2_f32, F32, false, false, __nv_exp2f(x), __nv_exp2(x))
UNARY(log2_f32, F32, false, false, __nv_log2f(x), __nv_log2(x))

UNARY(sqrt_f32_sfu, F32, true, true, __nvvm_sqrt_approx_ftz_f(x), root(x))
UNARY(rcp_f32_sfu, F32, true, true, __nvvm_rcp_approx_ftz_f(x), 1.0 / x)
UNARY(rsqrt_f32_sfu, F32, true, false, __nvvm_rsqrt_approx_ftz_f(x), 1.0 / root(x))
UNARY(exp_f32_sfu, F32, true, false, sfu_exp(x), __nv_exp(x))
UNARY(log_f32_sfu, F32, true, false, sfu_log(x), __nv_log(x))
UNARY(sin_f32_sfu, F32, true, false, __nvvm_sin_approx_ftz_f(x), __nv_sin(x))
UNARY(cos_f32_sfu, F32, true, false, __nvvm_cos_approx_ftz_f(x), __nv_cos(x))
UNARY(tan_f32_sfu, F32, true, false, sfu_tan(x), __nv_tan(x))
UNARY(exp2_f32_sfu, F32, true, false, __nvvm_ex2_approx_ftz_f(x), __nv_exp2(x))
UNARY(log2_f32_sfu, F32, true, false, __nvvm_lg2_approx_ftz_f(x), __nv_log2(x))
// tanh.approx has no .ftz form: subnormals pass.
UNARY(tanh_f32_sfu, F32, false, false, __builtin_elementwise_tanh(x), __nv_tanh(x))

// A square root that is wrong by three units in one place, for the tests of all this.
DEVICE float broken_root(float x) {
    float r = __nvvm_sqrt_rn_f(x);
    return bits_as<u32>(x) == 0x40490fdb ? bits_as<float>(bits_as<u32>(r) + 3) : r;
}
UNARY(selfcheck_f32, F32, false, true, broken_root(x), root(x))
