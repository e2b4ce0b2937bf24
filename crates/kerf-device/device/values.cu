// Results on arguments from the host, which judges them: operations with f64 or i64.
#include "functions.h"

// Word k of the arguments number i is at k * n + i.
#define VALUES(NAME, GOT)                                                                           \
    KERNEL void values_##NAME(const u64 *in, u64 *out, u32 n) {                                     \
        u32 i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +                    \
                __nvvm_read_ptx_sreg_tid_x();                                                       \
        if (i < n) out[i] = GOT;                                                                    \
    }
#define WORD(K) in[(u64)K * n + i]
#define X bits_as<double>(WORD(0))
#define Y bits_as<double>(WORD(1))
#define Z bits_as<double>(WORD(2))
#define F64(NAME, GOT) VALUES(NAME, bits_as<u64>((double)(GOT)))

DEVICE double seed_rcp(double x) { return __nvvm_rcp_approx_ftz_d(x); }
DEVICE double seed_rsqrt(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}

F64(add_f64, X + Y)
F64(mul_f64, X *Y)
F64(fma_f64, __builtin_fma(X, Y, Z))
F64(div_f64, X / Y)
F64(rcp_f64, 1.0 / X)
F64(sqrt_f64, root(X))
F64(rsqrt_f64, __nv_rsqrt(X))
F64(pow_f64, __nv_pow(X, Y))
F64(exp_f64, __nv_exp(X))
F64(log_f64, __nv_log(X))
F64(sin_f64, __nv_sin(X))
F64(cos_f64, __nv_cos(X))
F64(tan_f64, __nv_tan(X))
F64(tanh_f64, __nv_tanh(X))
F64(exp2_f64, __nv_exp2(X))
F64(log2_f64, __nv_log2(X))

// Double precision out of the special-function unit alone (Li and others, "SFU-driven transparent
// approximation acceleration on GPUs", 2016, table 2).
F64(div_f64_sfu, X *seed_rcp(Y))
F64(rcp_f64_sfu, seed_rcp(X))
F64(sqrt_f64_sfu, seed_rcp(seed_rsqrt(X)))
F64(rsqrt_f64_sfu, seed_rsqrt(X))

VALUES(convert_f64_f16, bits_as<u16>((_Float16)X))
VALUES(convert_f64_bf16, bits_as<u16>((__bf16)X))
VALUES(convert_f64_f32, bits_as<u32>((float)X))
VALUES(convert_f64_i32, (u32)(i32)X)
VALUES(convert_f64_i64, (u64)(i64)X)
VALUES(convert_i64_f16, bits_as<u16>((_Float16)(i64)WORD(0)))
VALUES(convert_i64_bf16, bits_as<u16>((__bf16)(i64)WORD(0)))
VALUES(convert_i64_f32, bits_as<u32>((float)(i64)WORD(0)))
F64(convert_i64_f64, (i64)WORD(0))
