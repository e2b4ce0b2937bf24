// Data races. One defect in each kernel; both accesses are marked.

// RUN transpose_tile<<<(4, 4), (4, 4)>>>(in, out)
__global__ void transpose_tile(const float* in, float* out) {
    __shared__ float tile[4][5];
    int x = blockIdx.x * 4 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * 16 + x]; // FAULT race
    int tx = blockIdx.y * 4 + threadIdx.x, ty = blockIdx.x * 4 + threadIdx.y;
    out[ty * 16 + tx] = tile[threadIdx.x][threadIdx.y]; // FAULT race
}

// RUN matmul_tiles<<<(4, 4), (4, 4)>>>(in, out)
__global__ void matmul_tiles(const float* in, float* out) {
    __shared__ float a[4][4];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * 4 + tx, row = blockIdx.y * 4 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < 16; k0 += 4) {
        a[ty][tx] = in[row * 16 + k0 + tx]; // FAULT race
        __syncthreads();
        for (int k = 0; k < 4; k++)
            sum += a[ty][k] * in[(k0 + k) * 16 + col]; // FAULT race
        // A barrier is missing here.
    }
    out[row * 16 + col] = sum;
}

// RUN double_buffer<<<1, 64>>>(in, out)
__global__ void double_buffer(const float* in, float* out) {
    __shared__ float buffer[2][64];
    int t = threadIdx.x;
    buffer[0][t] = in[t];
    __syncthreads();
    float sum = 0.0f;
    for (int step = 0; step < 3; step++) {
        int now = step & 1;
        buffer[1 - now][t] = in[64 * (step + 1) + t]; // FAULT race
        sum += buffer[now][63 - t]; // FAULT race
        // The barrier of the step is missing.
    }
    out[t] = sum;
}

// RUN warp_reduce<<<2, 32>>>(in, out)
__global__ void warp_reduce(const float* in, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 32 + t];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d]; // FAULT race
        // __syncwarp is missing.
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// RUN histogram<<<2, 64>>>(iin, iout, n)
__global__ void histogram(const int* iin, int* iout, int n) {
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16) bins[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x)
        bins[iin[i] % 16]++; // FAULT race
    __syncthreads();
    if (t < 16) atomicAdd(&iout[t], bins[t]);
}

// RUN hillis_steele<<<1, 64>>>(in, out)
__global__ void hillis_steele(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        float v = t >= d ? s[t - d] : 0.0f; // FAULT race
        // Nobody waits for those who still read.
        s[t] += v; // FAULT race
        __syncthreads();
    }
    out[t] = s[t];
}

// RUN broadcast_total<<<4, 64>>>(in, out, n)
__global__ void broadcast_total(const float* in, float* out, int n) {
    __shared__ float total;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        total = in[blockIdx.x] + in[blockIdx.x + 4]; // FAULT race
    out[i] = in[i] / total; // FAULT race
}

// RUN overlapping_blocks<<<4, 64>>>(in, out, n)
__global__ void overlapping_blocks(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i]; // FAULT race
    // The first of the next block belongs to that block.
    if (threadIdx.x == 63 && i + 1 < n) out[i + 1] = 0.5f * in[i]; // FAULT race
}

// RUN nibbles<<<2, 64>>>(iin, bout)
__global__ void nibbles(const int* iin, unsigned char* bout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char mine = (iin[i] & 7 | 8) << 4 * (i & 1);
    bout[i / 2] |= mine; // FAULT race
}
