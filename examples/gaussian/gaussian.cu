// Solution of A x = b by Gaussian elimination without pivoting.
//
// Step t forms the multipliers m(r,t) = a(r,t) / a(t,t) of the rows below the pivot and subtracts
// m(r,t) times row t from them, the right-hand side included. The triangular system that is left is
// solved on the host. Column t is not touched in step t: what would become zero is not computed, and
// the entries of `a` below the diagonal keep the values that the multipliers were formed from.
//
// Build: nvcc -O2 -arch=native gaussian.cu -o gaussian                  (-DREAL=float for single)
// Run:   ./gaussian [-n unknowns] [-s seed]

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

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void multipliers(const REAL *a, REAL *m, int n, int t)
{
    int row = t + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n)
        m[row * n + t] = a[row * n + t] / a[t * n + t];
}

// Columns t+1 .. n-1 of the matrix; column n stands for the right-hand side.
__global__ void eliminate(REAL *a, REAL *b, const REAL *m, int n, int t)
{
    int col = t + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    int row = t + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col > n)
        return;
    REAL factor = m[row * n + t];
    if (col < n)
        a[row * n + col] -= factor * a[t * n + col];
    else
        b[row] -= factor * b[t];
}

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

static void back_substitute(const std::vector<REAL> &a, const std::vector<REAL> &b,
                            std::vector<REAL> &x, int n)
{
    for (int r = n - 1; r >= 0; --r) {
        REAL s = b[r];
        for (int c = r + 1; c < n; ++c)
            s -= a[size_t(r) * n + c] * x[c];
        x[r] = s / a[size_t(r) * n + r];
    }
}

int main(int argc, char **argv)
{
    int n = 512;
    unsigned seed = 1;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-n") && i + 1 < argc) n = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-s") && i + 1 < argc) seed = unsigned(std::atoi(argv[++i]));
        else {
            std::fprintf(stderr, "usage: %s [-n unknowns] [-s seed]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (n < 1 || n > 16384) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    // A diagonally dominant matrix and a right-hand side with a known solution.
    std::mt19937 gen(seed);
    std::uniform_real_distribution<double> entry(0.5, 1.0), unknown(-1.0, 1.0);
    std::vector<REAL> a(size_t(n) * n), b(n), x(n);
    std::vector<double> truth(n);
    for (int c = 0; c < n; ++c)
        truth[c] = unknown(gen);
    for (int r = 0; r < n; ++r) {
        double s = 0.0;
        for (int c = 0; c < n; ++c) {
            REAL v = REAL(entry(gen) + (r == c ? n : 0));
            a[size_t(r) * n + c] = v;
            s += double(v) * truth[c];
        }
        b[r] = REAL(s);
    }

    REAL *d_a, *d_b, *d_m;
    const size_t matrix_bytes = size_t(n) * n * sizeof(REAL);
    CUDA_CHECK(cudaMalloc(&d_a, matrix_bytes));
    CUDA_CHECK(cudaMalloc(&d_m, matrix_bytes));
    CUDA_CHECK(cudaMalloc(&d_b, n * sizeof(REAL)));
    CUDA_CHECK(cudaMemcpy(d_a, a.data(), matrix_bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_b, b.data(), n * sizeof(REAL), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(d_m, 0, matrix_bytes));

    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    const int line = 256;
    const dim3 tile(16, 16);
    for (int t = 0; t < n - 1; ++t) {
        multipliers<<<ceil_div(n - 1 - t, line), line>>>(d_a, d_m, n, t);
        dim3 grid(ceil_div(n - t, tile.x), ceil_div(n - 1 - t, tile.y));
        eliminate<<<grid, tile>>>(d_a, d_b, d_m, n, t);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

    CUDA_CHECK(cudaMemcpy(a.data(), d_a, matrix_bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(b.data(), d_b, n * sizeof(REAL), cudaMemcpyDeviceToHost));
    back_substitute(a, b, x, n);

    double worst = 0.0;
    for (int i = 0; i < n; ++i)
        worst = std::fmax(worst, std::fabs(double(x[i]) - truth[i]));
    const double limit = sizeof(REAL) == 8 ? 1e-12 : 1e-4;
    std::printf("%d unknowns, elimination %.3f ms\n", n, ms);
    std::printf("largest error of x %.3e (limit %.0e): %s\n", worst, limit,
                worst <= limit ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_a));
    CUDA_CHECK(cudaFree(d_b));
    CUDA_CHECK(cudaFree(d_m));
    return worst <= limit ? EXIT_SUCCESS : EXIT_FAILURE;
}
