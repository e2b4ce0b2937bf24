// Signed indices that overflow. The marked line is the operation that does.

// RUN row_times_pitch<<<4, 64>>>(in, out, n)
__global__ void row_times_pitch(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i * 1000, pitch = 65536;
    int at = row * pitch + 3; // FAULT overflow
    out[i] = in[(unsigned)at % n];
}

// RUN signed_hash<<<4, 64>>>(iin, in, out, n)
__global__ void signed_hash(const int* iin, const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int h = iin[i] + 17;
    h = h * 1103515245; // FAULT overflow
    out[i] = in[(h & 0x7fffffff) % n];
}

// RUN midpoint<<<1, 32>>>(in, out)
__global__ void midpoint(const float* in, float* out) {
    int lo = 1 << 30, hi = 2147483647 - threadIdx.x;
    int mid = (lo + hi) / 2; // FAULT overflow
    out[threadIdx.x] = in[mid & 255];
}

// RUN growing_offset<<<1, 64>>>(in, out, n)
__global__ void growing_offset(const float* in, float* out, int n) {
    int t = threadIdx.x, offset = t;
    float sum = 0.0f;
    for (int k = 0; k < 40; k++) {
        sum += in[offset & 255];
        offset += 67108864; // FAULT overflow
    }
    out[t] = sum;
}

// RUN widened_too_late<<<(2, 2), (8, 8)>>>(in, out, n)
__global__ void widened_too_late(const float* in, float* out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int planes = 300000, rows = 800;
    long long at = (long long)(y * planes * rows) + x; // FAULT overflow
    out[y * 16 + x] = in[(unsigned long long)at % n];
}

// RUN subtraction<<<1, 64>>>(in, out, n)
__device__ int distance_to(int a, int b) {
    return a - b; // FAULT overflow
}
__global__ void subtraction(const float* in, float* out, int n) {
    int t = threadIdx.x;
    int d = distance_to(-2000000000 - t, 147483600);
    out[t] = in[d & 127];
}

// RUN sixty_four_bits<<<1, 64>>>(in, out, n)
__global__ void sixty_four_bits(const float* in, float* out, int n) {
    long long t = threadIdx.x;
    long long key = t * 0x0400000000000001LL; // FAULT overflow
    out[t] = in[(key >> 3) & 63];
}
