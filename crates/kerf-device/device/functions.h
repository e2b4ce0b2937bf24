// The functions under test and their references.
#pragma once
#include "device.h"

#define LIBDEVICE extern "C" __attribute__((device))
LIBDEVICE float __nv_expf(float);
LIBDEVICE float __nv_exp2f(float);
LIBDEVICE float __nv_logf(float);
LIBDEVICE float __nv_log2f(float);
LIBDEVICE float __nv_sinf(float);
LIBDEVICE float __nv_cosf(float);
LIBDEVICE float __nv_tanf(float);
LIBDEVICE float __nv_tanhf(float);
LIBDEVICE float __nv_powf(float, float);
LIBDEVICE double __nv_exp(double);
LIBDEVICE double __nv_exp2(double);
LIBDEVICE double __nv_log(double);
LIBDEVICE double __nv_log2(double);
LIBDEVICE double __nv_sin(double);
LIBDEVICE double __nv_cos(double);
LIBDEVICE double __nv_tan(double);
LIBDEVICE double __nv_tanh(double);
LIBDEVICE double __nv_pow(double, double);
LIBDEVICE double __nv_rsqrt(double);

DEVICE double root(double x) { return __nvvm_sqrt_rn_d(x); }

// What CUDA's headers make of __expf, __logf, __powf, __tanf and __fdividef under -ftz=true.
DEVICE float sfu_times(float x, float y) { return __nvvm_mul_rn_ftz_f(x, y); }
DEVICE float sfu_exp(float x) { return __nvvm_ex2_approx_ftz_f(sfu_times(x, 0x1.715476p+0f)); }
DEVICE float sfu_log(float x) { return sfu_times(__nvvm_lg2_approx_ftz_f(x), 0x1.62e430p-1f); }
DEVICE float sfu_pow(float x, float y) {
    return __nvvm_ex2_approx_ftz_f(sfu_times(y, __nvvm_lg2_approx_ftz_f(x)));
}
DEVICE float sfu_div(float x, float y) { return __nvvm_div_approx_ftz_f(x, y); }
DEVICE float sfu_tan(float x) {
    return sfu_div(__nvvm_sin_approx_ftz_f(x), __nvvm_cos_approx_ftz_f(x));
}
