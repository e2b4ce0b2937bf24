// What has to survive a barrier: everything that a thread holds, whatever the way around it.

// A local array, a struct and a pointer, all live across barriers.
struct Pair {
    int a;
    double b;
};
__global__ void held(const int* in, int* out, int n) {
    __shared__ int s[96];
    int t = threadIdx.x;
    int mine[5];
    for (int k = 0; k < 5; k++) mine[k] = in[t + k];
    Pair p = {in[t], in[t] * 0.5};
    const int* q = in + (t % 2 ? 7 : 3);
    s[t] = mine[t % 5];
    __syncthreads();
    mine[s[(t + 1) % n] & 3] += s[(t + 1) % n];
    int sum = 0;
    __syncthreads();
    s[t] = mine[(t + 1) % 5];
    p.b += s[t];
    __syncthreads();
    for (int k = 0; k < 5; k++) sum = sum * 3 + mine[k];
    out[t] = sum + p.a + (int)p.b + q[t] + s[(t + n - 1) % n];
}

// The block leaves a loop together, by a flag in shared memory.
__global__ void until_done(const int* in, int* out) {
    __shared__ int done;
    __shared__ int total;
    int t = threadIdx.x, rounds = 0;
    if (t == 0) done = 0, total = 0;
    __syncthreads();
    while (true) {
        if (in[(t + rounds) % 64] == 17) atomicAdd(&total, t + 1);
        __syncthreads();
        if (t == 0 && total > 100) done = 1;
        __syncthreads();
        rounds++;
        if (done) break;
        if (rounds % 2) continue;
        __syncthreads();
    }
    out[t] = rounds * 1000 + total;
}

// Barriers in cases of a switch, in nested loops, and at both ends of the kernel.
__global__ void nested(int* out, int mode) {
    __syncthreads();
    __shared__ int s[64];
    int t = threadIdx.x, n = blockDim.x;
    s[t] = t;
    switch (mode) {
        case 0:
            __syncthreads();
            s[t] = s[t] + 1;
            break;
        case 1: {
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j <= i; j++) {
                    __syncthreads();
                    int v = s[(t + j + 1) % n];
                    __syncthreads();
                    s[t] = v + i;
                }
                if (t % 3 == i) s[t] *= 2;
            }
            break;
        }
        default: {
            int i = 0;
            do {
                __syncthreads();
                int v = s[n - 1 - t];
                __syncthreads();
                s[t] = v - 1;
            } while (++i < mode);
        }
    }
    __syncthreads();
    out[mode * n + t] = s[(t + 1) % n];
    __syncthreads();
}

// Threads return at different barriers; the others go on.
__global__ void leaving(int* out, int n) {
    __shared__ int left;
    int t = threadIdx.x;
    if (t == n - 1) left = n;
    for (int r = 0; r < n; r++) {
        __syncthreads();
        if (t == r && t != n - 1) {
            left -= 1;
            out[t] = left;
            return;
        }
    }
    __syncthreads();
    out[t] = 1000 + left;
}

// Lookups that depend on lanes, blocks of three dimensions, and votes between barriers.
__global__ void mixed(const int* in, int* out) {
    __shared__ int s[2][60];
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int b = blockIdx.x + gridDim.x * blockIdx.y;
    s[0][t] = in[b * 60 + t];
    __syncthreads();
    int most = __syncthreads_count(s[0][(t + 1) % 60] > s[0][t]);
    unsigned vote = t < 32 ? __ballot_sync(0xffffffffu, s[0][t] > 30) : 0;
    s[1][t] = (int)(vote & 0xffff) + most;
    __syncthreads();
    out[b * 60 + t] = s[1][59 - t] + (__syncthreads_or(s[1][t] == most + 1) ? 1 : 0);
}

// A pipeline of two halves: one arrives, the other waits.
__global__ void handover(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        s[t] = 3 * t + 1;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[t - 64] = s[127 - t];
    }
}
