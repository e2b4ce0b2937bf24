// Attention's middle: rows of scores by a dot product with gathered keys, softmax over a block by shared memory, weighted sum.
#ifndef REAL
#define REAL float
#endif
#define T 256
#define D 32

__global__ void attend(const REAL *query, const REAL *key, const REAL *values, const int *page, REAL *out, int length)
{
    __shared__ REAL part[T];
    __shared__ REAL q[D];
    const int row = blockIdx.x, t = threadIdx.x;
    if (t < D)
        q[t] = query[row * D + t];
    __syncthreads();
    REAL most = -1e30f, sum = 0, acc[4] = {0, 0, 0, 0};
    for (int j = t; j < length; j += T) {
        const int at = page[(row & 15) * length + j] * D;
        REAL s = 0;
        for (int d = 0; d < D; ++d)
            s += q[d] * key[at + d];
        s *= 0.17677669f;
        const REAL larger = fmaxf(most, s), old = expf(most - larger), now = expf(s - larger);
        sum = sum * old + now;
        for (int d = 0; d < 4; ++d)
            acc[d] = acc[d] * old + now * values[at / 8 + d];
        most = larger;
    }
    part[t] = most;
    __syncthreads();
    for (int h = T / 2; h > 0; h /= 2) {
        if (t < h)
            part[t] = fmaxf(part[t], part[t + h]);
        __syncthreads();
    }
    const REAL scale = expf(most - part[0]);
    __syncthreads();
    for (int d = -1; d < 4; ++d) {
        part[t] = scale * (d < 0 ? sum : acc[d]);
        __syncthreads();
        for (int h = T / 2; h > 0; h /= 2) {
            if (t < h)
                part[t] += part[t + h];
            __syncthreads();
        }
        if (t == 0)
            out[row * 5 + d + 1] = part[0];
        __syncthreads();
    }
}
