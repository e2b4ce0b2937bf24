// Math functions of CUDA's library, 256 a thread, with arguments from half of x to x.
#define APPLY(name, type, function)                                                   \
    extern "C" __global__ void name(const type *x, type *y, int n)                    \
    {                                                                                 \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                \
        if (i >= n)                                                                   \
            return;                                                                   \
        type a = x[i], sum = 0;                                                       \
        for (int k = 0; k < 256; k++)                                                 \
            sum += function(a * ((type)0.5 + (type)k * (type)(1.0 / 512)));           \
        y[i] = sum;                                                                   \
    }

APPLY(exp_f64, double, exp)
APPLY(log_f64, double, log)
APPLY(sin_f64, double, sin)
APPLY(cos_f64, double, cos)
APPLY(tanh_f64, double, tanh)
APPLY(erf_f64, double, erf)
APPLY(exp_f32, float, expf)
APPLY(log_f32, float, logf)
APPLY(sin_f32, float, sinf)
