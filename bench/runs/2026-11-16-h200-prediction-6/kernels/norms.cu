// Layer normalization and softmax of rows, a warp a row, sums by shuffles.
#ifndef REAL
#define REAL float
#endif

__device__ REAL total(REAL v)
{
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

__global__ void norms(const REAL *in, const REAL *gain, REAL *out, int rows)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    REAL v[16];
    REAL sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        v[k] = in[row * 512 + k * 32 + lane];
        sum += v[k];
        squares += v[k] * v[k];
    }
    const REAL mean = total(sum) / 512, scale = rsqrtf(total(squares) / 512 - mean * mean + 1e-5f);
    REAL all = 0;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        v[k] = expf((v[k] - mean) * scale * gain[k * 32 + lane]);
        all += v[k];
    }
    const REAL inverse = 1 / total(all);
#pragma unroll
    for (int k = 0; k < 16; ++k)
        out[row * 512 + k * 32 + lane] = v[k] * inverse;
}
