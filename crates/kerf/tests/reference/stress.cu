// Kernels that make it hard to keep a high-precision value beside every float: values that travel as
// integers, through memory, between threads and through calls. See kernels.rs for the same formulas.

struct Pair {
    double a, b;
};

struct Mixed {
    float a, b;
    double c;
    int k;
    float d;
};

__device__ double warp_sum(double v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

__device__ float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// All the threads' values are the same in memory, and different beyond its precision.
__global__ void shuffle_f64(const double *small, double *out)
{
    double v = warp_sum(1.0 + small[threadIdx.x]);
    if (threadIdx.x % 32 == 0)
        out[threadIdx.x / 32] = v;
}

__global__ void shuffle_f32(const double *small, float *out)
{
    float v = warp_sum(1.0f + (float)small[threadIdx.x]);
    if (threadIdx.x % 32 == 0)
        out[threadIdx.x / 32] = v;
}

__device__ double cas_add(double *address, double value)
{
    unsigned long long *word = (unsigned long long *)address;
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__device__ float cas_add(float *address, float value)
{
    int *word = (int *)address;
    int old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(value + __int_as_float(assumed)));
    } while (assumed != old);
    return __int_as_float(old);
}

__global__ void atomics(const double *x, double *sums, float *sums_f32)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = x[i] / 7.0;
    atomicAdd(&sums[0], v);
    cas_add(&sums[1], v);
    atomicAdd(&sums_f32[0], (float)v);
    cas_add(&sums_f32[1], (float)v);
}

// Through shared memory, a local array and copies of structs.
__global__ void memory(const double *x, Mixed *scratch, double *out)
{
    __shared__ double s[64];
    __shared__ Mixed m[64];
    int i = threadIdx.x;
    s[i] = x[i] / 3.0;
    __syncthreads();
    double local[8];
    for (int k = 0; k < 8; ++k)
        local[k] = s[(i + k) % 64] / (k + 1);
    Mixed mine = {(float)s[i], (float)(s[i] * 2.0), s[i] / 5.0, i, 0.5f};
    scratch[i] = mine;
    __syncthreads();
    m[i] = scratch[(i + 1) % 64];
    __syncthreads();
    Mixed other = m[(i + 63) % 64]; // what this thread put into scratch
    out[2 * i] = local[i % 8] + other.c;
    out[2 * i + 1] = other.a + (double)other.b * other.d;
}

__device__ __noinline__ double scaled(double v, float by)
{
    return v * by;
}

__device__ __noinline__ Pair split(double v, Pair p)
{
    Pair r = {v / p.a, v - p.b};
    return r;
}

__global__ void calls(const double *x, double *out)
{
    int i = threadIdx.x;
    double v = x[i] / 3.0;
    Pair p = {v, x[i] / 7.0};
    Pair q = split(scaled(v, (float)(x[i] / 9.0)), p);
    out[2 * i] = q.a;
    out[2 * i + 1] = q.b;
}

__global__ void functions(const double *x, const double *y, double *out, int n)
{
    int i = threadIdx.x;
    double v = x[i] / 3.0, w = y[i] / 7.0, s, c;
    sincos(v, &s, &c);
    out[0 * n + i] = s;
    out[1 * n + i] = c;
    out[2 * n + i] = pow(v, w);
    out[3 * n + i] = erfc(v);
    out[4 * n + i] = tgamma(v);
    out[5 * n + i] = fmod(v * 20.0, w);
    out[6 * n + i] = ldexp(v, i % 9 - 4);
    out[7 * n + i] = cbrt(v);
    out[8 * n + i] = atan2(v, w);
    out[9 * n + i] = hypot(v, w);
    out[10 * n + i] = tanh(v);
}

// Horner's scheme, a norm and a quotient in single precision.
__global__ void single(const float *x, const float *y, float *out, int n)
{
    int i = threadIdx.x;
    float a = x[i], b = y[i], p = 0.1f;
    for (int k = 1; k < 8; ++k)
        p = p * a + (float)k / b;
    out[i] = p;
    out[n + i] = sqrtf(a * a + b * b) / (1.0f + expf(-a));
    out[2 * n + i] = __fdividef(a, b) + __expf(a);
    out[3 * n + i] = fminf(a, b) + fmaxf(a, b) * fabsf(a - 2.0f * b);
}

// A conversion to float carries the exact value along: near the root the branch may be wrong.
__global__ void flip(const double *x, double *out)
{
    int i = threadIdx.x;
    float f = (float)x[i];
    if (f * f - 2.0f < 0.0f) // LINE OF THE FLIPS
        out[i] = f / 3.0;
    else
        out[i] = f / -5.0;
}
