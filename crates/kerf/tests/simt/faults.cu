// Kernels that fail, each in one known place.
#include <cassert>
#include <cstdio>

__global__ void fails_assert(const int* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i != 37 || in[i] > 1000);
}
__global__ void traps(int* out) {
    if (blockIdx.y == 1 && threadIdx.x == 3 && threadIdx.y == 2) __trap();
    out[0] = 1;
}
__global__ void traps_after_barrier(int* out) {
    __syncthreads();
    if (threadIdx.x == 45) __trap();
    __syncthreads();
    out[threadIdx.x] = 1;
}
// Two halves of the block wait for different barriers.
__global__ void split_barriers(int* out) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1;" ::: "memory");
    else
        asm volatile("bar.sync 2;" ::: "memory");
    out[threadIdx.x] = 1;
}
// One lane does not come to the shuffle of all.
__global__ void absent_lane(int* out) {
    int v = threadIdx.x;
    if (threadIdx.x == 5)
        __syncthreads();
    else
        v = __shfl_sync(0xffffffffu, v, 0);
    out[threadIdx.x] = v;
}
__global__ void endless(volatile int* out) {
    while (out[0] == 0) out[1] += 1;
}
__global__ void far_away(int* out, long long offset) { out[offset] = 1; }
__global__ void null_after_barrier(int* out, long long address) {
    int* p = (int*)address;
    __syncthreads();
    out[threadIdx.x] = threadIdx.x == 37 ? __shfl_sync(__activemask(), p[2], 5) : 1;
}
__device__ __noinline__ int deeper(int* out, int n) {
    volatile int here[16];
    here[n & 15] = n;
    return n < 0 ? 0 : deeper(out, n + 1 - out[0]) + here[n & 15];
}
__global__ void recurses(int* out) { out[1] = deeper(out, out[0] + 1); }

__global__ void read_past_end(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + in[i + 1];
}
__global__ void write_before_start(float* out, int shift) {
    int i = threadIdx.x;
    out[i - shift] = 2.0f * i;
}
__global__ void own_overrun(float* out, int shift) {
    int i = threadIdx.x;
    float t[4];
    for (int k = 0; k < 4; k++) t[(k + i) & 3] = out[k] + i;
    out[i] = t[(i + shift) & 7];
}
__global__ void table_overrun(float* out, int shift) {
    const float weights[5] = {1, 4, 6, 4, 1};
    int i = threadIdx.x;
    out[i] = weights[i + shift];
}
__global__ void shared_overrun(int* out) {
    __shared__ int s[32];
    s[threadIdx.x * 2] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
__global__ void dynamic_overrun(int* out) {
    extern __shared__ int d[];
    d[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = d[31 - threadIdx.x];
}
__global__ void misaligned(const char* in, double* out, int shift) { out[threadIdx.x] = *(const double*)(in + shift + 8 * threadIdx.x); }
struct Wide {
    int v[20];
};
__global__ void struct_copy(const Wide* in, Wide* out, int n) { out[threadIdx.x] = in[threadIdx.x + n]; }
__global__ void atomic_outside(int* count, int bin) { atomicAdd(&count[bin + threadIdx.x], 1); }
struct Pointers {
    int* a;
    int n;
};
__global__ void through_struct(Pointers p) { p.a[p.n * threadIdx.x] = 1; }
__global__ void heap_overrun(int* out, int n) {
    int* a = (int*)malloc(40);
    for (int k = 0; k < n; k++) a[k] = out[k];
    out[threadIdx.x] = a[3];
    free(a);
}
__device__ int lookup[10];
__global__ void variable_overrun(int* out, int k) { out[threadIdx.x] = lookup[k + threadIdx.x]; }
