// Accesses outside of what they belong to.

// RUN one_past_the_end<<<4, 64>>>(in, out, n)
__global__ void one_past_the_end(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) out[0] = 0.0f;
    if (i <= n - 1) out[i + 1] = in[i]; // FAULT bounds
}

// RUN before_the_start<<<4, 64>>>(in, out, n)
__global__ void before_the_start(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] - in[i - 1]; // FAULT bounds
}

// RUN tile_halo<<<(2, 2), (8, 8)>>>(in, out)
__global__ void tile_halo(const float* in, float* out) {
    __shared__ float tile[10][9];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
    for (int k = ty * 8 + tx; k < 90; k += 64) tile[k / 9][k % 9] = 1.0f;
    __syncthreads();
    float v = in[y * 16 + x] + tile[ty + 1][tx] + tile[ty][tx + 1];
    v += tile[ty + 2][tx + 1];
    // The last row has no element behind it.
    out[y * 16 + x] = v + (&tile[ty + 2][tx])[2]; // FAULT bounds
}

// RUN dynamic_too_short<<<2, 64, 128>>>(in, out)
extern __shared__ float pool[];
__global__ void dynamic_too_short(const float* in, float* out) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    pool[t] = in[i]; // FAULT bounds
    __syncthreads();
    out[i] = pool[63 - t];
}

// RUN local_array<<<2, 64>>>(in, out)
__global__ void local_array(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w[4];
    for (int k = 0; k <= 4; k++)
        w[k] = in[i] * k; // FAULT bounds
    out[i] = w[i & 3];
}

// RUN rows_unguarded<<<(2, 3), (8, 8)>>>(in, out)
__global__ void rows_unguarded(const float* in, float* out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= 16) return;
    out[y * 16 + x] = // FAULT bounds
        1.0f;
}

// RUN gather_next<<<4, 64>>>(perm, in, out)
__global__ void gather_next(const int* perm, const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[perm[i] + 1]; // FAULT bounds
}

// RUN shared_bins<<<1, 64>>>(iin, iout)
__global__ void shared_bins(const int* iin, int* iout) {
    __shared__ unsigned bins[16], before[16];
    int t = threadIdx.x;
    if (t < 16) bins[t] = before[t] = 0;
    __syncthreads();
    // The last thread counts in a bin that the array does not have.
    atomicAdd(&bins[t == 63 ? 16 : iin[t] / 16], 1u); // FAULT bounds
    __syncthreads();
    if (t < 16) iout[t] = bins[t] + before[t];
}
