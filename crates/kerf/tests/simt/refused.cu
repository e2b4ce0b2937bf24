// What the CPU executor cannot run, each refused by name before anything runs.
#include <cooperative_groups.h>
#include <mma.h>

__global__ void uses_texture(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }

__global__ void uses_4_bits(const int* a, const int* b, int* c) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 8, 8, 32, experimental::precision::s4, row_major> fa;
    fragment<matrix_b, 8, 8, 32, experimental::precision::s4, col_major> fb;
    fragment<accumulator, 8, 8, 32, int> fc;
    fill_fragment(fc, 0);
    load_matrix_sync(fa, a, 32);
    load_matrix_sync(fb, b, 32);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 8, mem_row_major);
}

__global__ void syncs_grid(int* out) {
    cooperative_groups::this_grid().sync();
    out[threadIdx.x] = 1;
}

__global__ void unknown_ptx(int* out) {
    int v;
    asm volatile("wobble.u32 %0, 3;" : "=r"(v));
    out[threadIdx.x] = v;
}

__device__ int elsewhere(int);
__global__ void calls_undefined(int* out) { out[0] = elsewhere(3); }

// Fine: a file may hold kernels that cannot run beside ones that can.
__global__ void runs(int* out) { out[threadIdx.x] = threadIdx.x + 1; }
