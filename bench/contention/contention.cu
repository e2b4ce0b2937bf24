// What many warps do to each other's cache lines, after the micro-benchmark of Dao, "Performance Modeling,
// Performance Tuning and Quantization for GPU Programs" (2021), section 3.4.3: each thread reads a line's
// worth of neighbours, threads lie `stride` elements apart, so a warp holds `stride` lines for 32 turns.

extern "C" __global__ void contention(const float *in, float *out, int stride, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; ++k)
        sum += in[size_t(stride) * i + k];
    out[i] = sum;
}
