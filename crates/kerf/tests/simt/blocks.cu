// Grids, blocks, shared memory and barriers.

// Each thread writes where it is and how large block and grid are.
__global__ void where_1d(unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (blockIdx.x << 16) | (threadIdx.x << 4) | (gridDim.x & 15);
}

__global__ void where_2d(int* out, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < nx && y < ny) out[y * nx + x] = 1000 * y + x;
}

__global__ void where_3d(uint4* out) {
    unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned n = blockDim.x * blockDim.y * blockDim.z;
    out[b * n + t] = make_uint4(threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16,
                                blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16,
                                blockDim.x | blockDim.y << 8 | blockDim.z << 16,
                                gridDim.x | gridDim.y << 8 | gridDim.z << 16);
}

// Fewer threads than elements: each takes every (grid * block)-th.
__global__ void grid_stride(const int* in, int* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 3 * in[i] - i;
}

__global__ void transpose(const int* in, int* out, int n) {
    __shared__ int tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x;
    for (int j = threadIdx.y; j < 16; j += blockDim.y) tile[j][threadIdx.x] = in[(blockIdx.y * 16 + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    for (int j = threadIdx.y; j < 16; j += blockDim.y) out[(blockIdx.x * 16 + j) * n + x] = tile[threadIdx.x][j];
}

// One dynamic array carved into doubles, ints and bytes, beside a static one.
__global__ void carve(const int* in, double* out) {
    extern __shared__ __align__(16) unsigned char raw[];
    __shared__ int first;
    int n = blockDim.x;
    double* d = (double*)raw;
    int* k = (int*)(d + n);
    unsigned char* c = (unsigned char*)(k + n);
    int t = threadIdx.x;
    if (t == n / 2) first = in[blockIdx.x * n];
    d[t] = 0.5 * in[blockIdx.x * n + t];
    k[t] = 7 * t;
    c[t] = (unsigned char)(3 * t);
    __syncthreads();
    int r = n - 1 - t;
    out[blockIdx.x * n + t] = d[r] + k[r] + c[r] + 4096.0 * first;
}

// Inclusive prefix sum with two barriers a step.
__global__ void scan(const int* in, int* out) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = s[t];
}

// A tree of sums, then the last warp without a test of the thread number inside the barrier.
__global__ void tree_sum(const double* in, double* out) {
    __shared__ double s[128];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * blockDim.x + t];
    for (int d = blockDim.x / 2; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// Threads past the end return before the barriers that the others meet.
__global__ void early_exit(const int* in, int* out, int n) {
    __shared__ int s[96];
    int t = threadIdx.x;
    if (t >= n) return;
    s[t] = in[t];
    __syncthreads();
    int v = s[(t + 1) % n];
    __syncthreads();
    if (t % 3 == 0) {
        out[t] = -v;
        return;
    }
    s[t] = 2 * v;
    __syncthreads();
    out[t] = s[t % 3 == 1 ? t + (t + 1 < n) : t - 1];
}

__global__ void counts(const int* in, int* out) {
    int v = in[threadIdx.x];
    int c = __syncthreads_count(v > 10);
    int a = __syncthreads_and(v > 0);
    int b = __syncthreads_and(v > 1);
    int o = __syncthreads_or(v > 1000);
    int p = __syncthreads_or(v == 5);
    out[threadIdx.x] = c * 16 + (a != 0) + 2 * (b != 0) + 4 * (o != 0) + 8 * (p != 0);
}

__device__ __forceinline__ void bar(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }

// Two halves of a block, each with a barrier of its own and its own number of rounds.
__global__ void named(int* out) {
    __shared__ int s[128];
    int group = threadIdx.x / 64, t = threadIdx.x % 64;
    int* mine = s + 64 * group;
    mine[t] = t + 1;
    int rounds = group ? 9 : 4;
    for (int r = 0; r < rounds; r++) {
        bar(1 + group, 64);
        int v = mine[(t + 1) % 64];
        bar(1 + group, 64);
        mine[t] = v;
    }
    out[threadIdx.x] = mine[t];
    asm volatile("barrier.sync 0;" ::: "memory");
    out[128 + threadIdx.x] = s[127 - threadIdx.x];
}

// Loops of different length between barriers, and a barrier under a condition that all share.
__global__ void uneven(int* out, int rounds) {
    __shared__ int total;
    int t = threadIdx.x, sum = 0;
    if (t == 0) total = 0;
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < (t * 7 + r) % 13; k++) sum += k * r;
        if (r % 2 == blockIdx.x % 2) {
            __syncthreads();
            if (t == r) total += sum;
            __syncthreads();
        }
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + t] = total + t;
}

__global__ void histogram(const int* in, unsigned* out, int n) {
    __shared__ unsigned bins[32];
    if (threadIdx.x < 32) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] & 31], 1u);
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// A barrier inside a function that is not inlined, called in a loop.
__device__ __noinline__ int rotate(volatile int* s, int t, int n) {
    __syncthreads();
    int v = s[(t + 5) % n];
    __syncthreads();
    s[t] = v;
    return v;
}
__global__ void barrier_in_call(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    s[t] = t * t;
    for (int k = 0; k < 3; k++) sum = 10 * sum + rotate(s, t, blockDim.x);
    out[t] = sum;
}

// 1024 threads, and shared memory that the next block finds in any state.
__global__ void full_block(unsigned long long* out) {
    __shared__ unsigned long long s[1024];
    int t = threadIdx.x + 32 * (threadIdx.y + 4 * threadIdx.z);
    s[t] = (unsigned long long)t * (blockIdx.x + 1);
    __syncthreads();
    if (t % 32 == 0) {
        unsigned long long sum = 0;
        for (int k = 0; k < 32; k++) sum += s[t + k];
        out[blockIdx.x * 32 + t / 32] = sum;
    }
}

// The block that finishes last adds up what all wrote.
__device__ unsigned finished = 0;
__global__ void last_block(const int* in, int* partial, int* out) {
    __shared__ bool last;
    int t = threadIdx.x, b = blockIdx.x;
    int any = 0;
    for (int k = 0; k < 4; k++) any += in[(b * blockDim.x + t) * 4 + k];
    partial[b * blockDim.x + t] = any;
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int k = t; k < gridDim.x * blockDim.x; k += blockDim.x) sum += ((volatile int*)partial)[k];
        out[t] = sum;
    }
}
