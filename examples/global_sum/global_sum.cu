// The sum of an array in several orders, each by its own kernel: strided serial sums, a tree in shared
// memory, warp shuffles, atomic additions, and Kahan's compensated sum. All give the same up to
// rounding; how far they differ shows what an order costs.
//
// Build: nvcc -O2 -arch=native global_sum.cu -o global_sum              (-DREAL=float for single)
// Run:   ./global_sum [-n values] [-g blocks]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#ifndef REAL
#define REAL double
#endif

#define BLOCK 256
#define WARP 32

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

struct Compensated {
    REAL sum;
    REAL lost; // what rounding added too much
};

__device__ inline void kahan_add(Compensated &c, REAL value)
{
    REAL y = value - c.lost;
    REAL t = c.sum + y;
    c.lost = (t - c.sum) - y;
    c.sum = t;
}

__device__ inline REAL thread_sum(const REAL *x, int n)
{
    REAL sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    return sum;
}

// One value for each thread.
__global__ void sum_strided(const REAL *x, REAL *partial, int n)
{
    partial[blockIdx.x * blockDim.x + threadIdx.x] = thread_sum(x, n);
}

// One value for each block of SIZE threads, a power of two.
template <int SIZE> __global__ void sum_tree(const REAL *x, REAL *partial, int n)
{
    __shared__ REAL s[SIZE];
    const int tid = threadIdx.x;
    s[tid] = thread_sum(x, n);
    __syncthreads();
#pragma unroll
    for (int half = SIZE / 2; half > 0; half /= 2) {
        if (tid < half)
            s[tid] += s[tid + half];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = s[0];
}

__device__ inline REAL warp_sum(REAL v)
{
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

// One value for each block; blockDim.x a multiple of 32.
__global__ void sum_warp(const REAL *x, REAL *partial, int n)
{
    __shared__ REAL s[WARP];
    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;

    REAL v = warp_sum(thread_sum(x, n));
    if (lane == 0)
        s[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < blockDim.x / WARP ? s[lane] : REAL(0);
        v = warp_sum(v);
        if (lane == 0)
            partial[blockIdx.x] = v;
    }
}

// One value; the order of the additions is not defined.
__global__ void sum_atomic(const REAL *x, REAL *total, int n)
{
    atomicAdd(total, thread_sum(x, n));
}

// One compensated value for each thread.
__global__ void sum_kahan(const REAL *x, Compensated *partial, int n)
{
    Compensated c = {0, 0};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        kahan_add(c, x[i]);
    partial[blockIdx.x * blockDim.x + threadIdx.x] = c;
}

// One thread adds up what the kernels above have left.
__global__ void finish(const REAL *partial, REAL *total, int count)
{
    REAL sum = 0;
    for (int i = 0; i < count; ++i)
        sum += partial[i];
    *total = sum;
}

__global__ void finish_kahan(const Compensated *partial, REAL *total, int count)
{
    Compensated c = {0, 0};
    for (int i = 0; i < count; ++i) {
        kahan_add(c, partial[i].sum);
        kahan_add(c, -partial[i].lost);
    }
    *total = c.sum;
}

enum Order { STRIDED, TREE, WARPS, ATOMIC, KAHAN, ORDERS };

int main(int argc, char **argv)
{
    int n = 1 << 22, blocks = 64;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-n") && i + 1 < argc) n = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-g") && i + 1 < argc) blocks = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "usage: %s [-n values] [-g blocks]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (n < 1 || n > (1 << 30) || blocks < 1 || blocks > 65536) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    // Positive values of six orders of magnitude.
    std::mt19937 gen(1);
    std::uniform_real_distribution<double> exponent(-4.0, 2.0);
    std::vector<REAL> x(n);
    long double exact = 0.0L;
    for (REAL &v : x) {
        v = REAL(std::pow(10.0, exponent(gen)));
        exact += v;
    }

    const int threads = blocks * BLOCK;
    REAL *d_x, *d_partial, *d_totals;
    Compensated *d_pairs;
    CUDA_CHECK(cudaMalloc(&d_x, n * sizeof(REAL)));
    CUDA_CHECK(cudaMalloc(&d_partial, threads * sizeof(REAL)));
    CUDA_CHECK(cudaMalloc(&d_pairs, threads * sizeof(Compensated)));
    CUDA_CHECK(cudaMalloc(&d_totals, ORDERS * sizeof(REAL)));
    CUDA_CHECK(cudaMemcpy(d_x, x.data(), n * sizeof(REAL), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(d_totals, 0, ORDERS * sizeof(REAL)));

    const char *names[ORDERS] = {"strided", "tree", "warp", "atomic", "kahan"};
    float ms[ORDERS];
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    for (int order = 0; order < ORDERS; ++order) {
        REAL *total = d_totals + order;
        CUDA_CHECK(cudaEventRecord(start));
        switch (order) {
        case STRIDED:
            sum_strided<<<blocks, BLOCK>>>(d_x, d_partial, n);
            finish<<<1, 1>>>(d_partial, total, threads);
            break;
        case TREE:
            sum_tree<BLOCK><<<blocks, BLOCK>>>(d_x, d_partial, n);
            finish<<<1, 1>>>(d_partial, total, blocks);
            break;
        case WARPS:
            sum_warp<<<blocks, BLOCK>>>(d_x, d_partial, n);
            finish<<<1, 1>>>(d_partial, total, blocks);
            break;
        case ATOMIC:
            sum_atomic<<<blocks, BLOCK>>>(d_x, total, n);
            break;
        case KAHAN:
            sum_kahan<<<blocks, BLOCK>>>(d_x, d_pairs, n);
            finish_kahan<<<1, 1>>>(d_pairs, total, threads);
            break;
        }
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(stop));
        CUDA_CHECK(cudaEventSynchronize(stop));
        CUDA_CHECK(cudaEventElapsedTime(&ms[order], start, stop));
    }

    REAL totals[ORDERS];
    CUDA_CHECK(cudaMemcpy(totals, d_totals, sizeof(totals), cudaMemcpyDeviceToHost));
    const double limit = sizeof(REAL) == 8 ? 1e-12 : 1e-4;
    bool ok = true;
    std::printf("%d values, sum %.17Lg\n", n, exact);
    for (int order = 0; order < ORDERS; ++order) {
        const double err = double(std::fabs((totals[order] - exact) / exact));
        ok = ok && err <= limit;
        std::printf("%-8s %.17g  relative error %.2e  %.3f ms\n", names[order],
                    double(totals[order]), err, ms[order]);
    }
    std::printf("limit %.0e: %s\n", limit, ok ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_x));
    CUDA_CHECK(cudaFree(d_partial));
    CUDA_CHECK(cudaFree(d_pairs));
    CUDA_CHECK(cudaFree(d_totals));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
