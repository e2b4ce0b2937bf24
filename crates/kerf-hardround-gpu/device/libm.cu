// Functions of libdevice on f64 arguments from the host, which judges them.
#define KERNEL extern "C" __attribute__((global))
#define LIBDEVICE extern "C" __attribute__((device))

typedef unsigned int u32;

#define FUNCTION(NAME)                                                                              \
    LIBDEVICE double __nv_##NAME(double);                                                           \
    KERNEL void libm_##NAME(const double *x, double *y, u32 n, double)                              \
    {                                                                                               \
        u32 i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +                    \
                __nvvm_read_ptx_sreg_tid_x();                                                       \
        if (i < n)                                                                                  \
            y[i] = __nv_##NAME(x[i]);                                                               \
    }

FUNCTION(exp)
FUNCTION(exp2)
FUNCTION(exp10)
FUNCTION(expm1)
FUNCTION(log)
FUNCTION(log2)
FUNCTION(log10)
FUNCTION(log1p)
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(tan)
FUNCTION(asin)
FUNCTION(acos)
FUNCTION(atan)
FUNCTION(sinh)
FUNCTION(cosh)
FUNCTION(tanh)
FUNCTION(cbrt)
FUNCTION(sqrt)
FUNCTION(rsqrt)
FUNCTION(asinh)
FUNCTION(acosh)
FUNCTION(atanh)
FUNCTION(erf)
FUNCTION(erfc)
FUNCTION(sinpi)
FUNCTION(cospi)

// CUDA has no function for integer powers in f64 but this one.
LIBDEVICE double __nv_pow(double, double);
KERNEL void libm_pow(const double *x, double *y, u32 n, double power)
{
    u32 i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
    if (i < n)
        y[i] = __nv_pow(x[i], power);
}
