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

// The same of two arguments: the first from half of x to x, the second from z down to half of z.
#define APPLY_TWO(name, type, function)                                               \
    extern "C" __global__ void name(const type *x, const type *z, type *y, int n)     \
    {                                                                                 \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                \
        if (i >= n)                                                                   \
            return;                                                                   \
        type a = x[i], b = z[i], sum = 0;                                             \
        for (int k = 0; k < 256; k++)                                                 \
            sum += function(a * ((type)0.5 + (type)k * (type)(1.0 / 512)),            \
                            b * ((type)1.0 - (type)k * (type)(1.0 / 512)));           \
        y[i] = sum;                                                                   \
    }

// Sine and cosine of one argument.
#define APPLY_SINCOS(name, type, function)                                            \
    extern "C" __global__ void name(const type *x, type *y, int n)                    \
    {                                                                                 \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                \
        if (i >= n)                                                                   \
            return;                                                                   \
        type a = x[i], sum = 0;                                                       \
        for (int k = 0; k < 256; k++) {                                               \
            type sine, cosine;                                                        \
            function(a * ((type)0.5 + (type)k * (type)(1.0 / 512)), &sine, &cosine);  \
            sum += sine;                                                              \
            sum += cosine;                                                            \
        }                                                                             \
        y[i] = sum;                                                                   \
    }

__device__ double gamma_f64(double x) { return pow(x, 0.41666); }
__device__ double cube(double x) { return pow(x, 3.0); }
__device__ float gamma_f32(float x) { return powf(x, 0.41666f); }

APPLY_TWO(pow_f64, double, pow)
APPLY_TWO(hypot_f64, double, hypot)
APPLY_TWO(rhypot_f64, double, rhypot)
APPLY_TWO(atan2_f64, double, atan2)
APPLY_TWO(pow_f32, float, powf)
APPLY_TWO(hypot_f32, float, hypotf)
APPLY_TWO(atan2_f32, float, atan2f)
APPLY(powc_f64, double, gamma_f64)
APPLY(cube_f64, double, cube)
APPLY(powc_f32, float, gamma_f32)
APPLY_SINCOS(sincos_f64, double, sincos)
APPLY_SINCOS(sincos_f32, float, sincosf)
