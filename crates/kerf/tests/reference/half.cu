// Half precision through NVIDIA's headers, whose halves are integers inside.
#include <cuda_fp16.h>

__global__ void halves(const __half *x, const __half *y, __half *out, int n)
{
    int i = threadIdx.x;
    __half sum = __float2half(0.0f);
    for (int k = 0; k < 16; ++k)
        sum = __hadd(sum, __hmul(x[(i + k) % n], y[(i + 3 * k) % n]));
    out[i] = sum;
    out[n + i] = __hfma(x[i], y[i], __hdiv(x[i], y[i]));
    out[2 * n + i] = __float2half(__half2float(x[i]) / 3.0f + 1.0f);
}

// Pairs: two halves in one word.
__global__ void pairs(const __half2 *x, const __half2 *y, __half2 *out, int n)
{
    int i = threadIdx.x;
    __half2 v = __hmul2(x[i], y[i]);
    for (int k = 0; k < 4; ++k)
        v = __hfma2(v, y[i], x[(i + k) % n]);
    out[i] = __hadd2(v, __lowhigh2highlow(v));
}

// Equal bits, different values, between threads.
__global__ void half_shuffle(const float *small, __half *out)
{
    __half v = __float2half(1.0f + small[threadIdx.x]);
    for (int offset = 16; offset > 0; offset /= 2)
        v = __hadd(v, __shfl_down_sync(0xffffffffu, v, offset));
    if (threadIdx.x % 32 == 0)
        out[threadIdx.x / 32] = v;
}
