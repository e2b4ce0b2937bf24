// Dynamic time warping of every query with every reference: series are first brought to mean 0 and deviation 1, then
// a block fills the table of one pair along its anti-diagonals, three of which it holds in shared memory.
#ifndef LENGTH
#define LENGTH 128
#endif

// Sum over a block of LENGTH threads.
__device__ float block_sum(float v, float *scratch)
{
    const int t = threadIdx.x;
    scratch[t] = v;
    __syncthreads();
    for (int half = LENGTH / 2; half > 0; half /= 2) {
        if (t < half)
            scratch[t] += scratch[t + half];
        __syncthreads();
    }
    const float sum = scratch[0];
    __syncthreads();
    return sum;
}

__global__ void normalise(const float *__restrict__ raw, float *__restrict__ series)
{
    __shared__ float scratch[LENGTH];
    const int at = blockIdx.x * LENGTH + threadIdx.x;
    const float v = raw[at];
    const float mean = block_sum(v, scratch) / LENGTH;
    const float variance = block_sum((v - mean) * (v - mean), scratch) / LENGTH;
    series[at] = (v - mean) * rsqrtf(variance + 1.0e-6f);
}

// Thread t has element t of the query; on diagonal d it meets element d - t of the reference.
__global__ void warp_distance(const float *__restrict__ queries, const float *__restrict__ references,
                              float *__restrict__ distances, int band)
{
    __shared__ float reference[LENGTH];
    __shared__ float diagonal[3][LENGTH + 1];
    const float infinity = 3.0e4f;
    const int t = threadIdx.x;
    const float q = queries[blockIdx.y * LENGTH + t];
    reference[t] = references[blockIdx.x * LENGTH + t];
    for (int k = 0; k < 3; k++) {
        diagonal[k][t + 1] = infinity;
        if (t == 0)
            diagonal[k][0] = infinity;
    }
    __syncthreads();

    // diagonal[.][t + 1] is the cost of the best path to the cell of thread t on that diagonal.
    int now = 0, before = 1, second = 2;
    for (int d = 0; d < 2 * LENGTH - 1; d++) {
        const int r = d - t;
        float cost = infinity;
        if (r >= 0 && r < LENGTH && abs(r - t) <= band) {
            const float difference = q - reference[r];
            float best = fminf(diagonal[before][t + 1], diagonal[before][t]);
            best = fminf(best, diagonal[second][t]);
            if (d == 0)
                best = 0.0f;
            cost = best + difference * difference;
        }
        diagonal[now][t + 1] = cost;
        __syncthreads();
        const int free = second;
        second = before;
        before = now;
        now = free;
    }
    if (t == LENGTH - 1)
        distances[blockIdx.y * gridDim.x + blockIdx.x] = sqrtf(diagonal[before][LENGTH]);
}
