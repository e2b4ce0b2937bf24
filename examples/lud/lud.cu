// LU decomposition in place, A = L U with unit lower triangular L, by square tiles.
//
// For every tile row k: the diagonal tile is factored; the tiles right of it become U by solving with
// L(k,k) and the tiles below it become L by solving with U(k,k); the remaining square is updated with
// the product of the two panels.
//
// Build: nvcc -O2 -arch=native lud.cu -o lud                            (-DREAL=float for single)
// Run:   ./lud [-n size] [-s seed]          (size a multiple of TILE)

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

#ifndef TILE
#define TILE 16
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

// First element of tile (bi, bj) of a row-major n x n matrix.
__device__ inline REAL *tile_at(REAL *a, int n, int bi, int bj)
{
    return a + (bi * n + bj) * TILE;
}

// One block of TILE x TILE threads, one thread for each entry.
__global__ void lud_diagonal(REAL *a, int n, int k)
{
    __shared__ REAL s[TILE][TILE + 1];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    REAL *tile = tile_at(a, n, k, k);

    s[ty][tx] = tile[ty * n + tx];
    __syncthreads();
    for (int p = 0; p < TILE - 1; ++p) {
        if (tx == p && ty > p)
            s[ty][p] /= s[p][p];
        __syncthreads();
        if (tx > p && ty > p)
            s[ty][tx] -= s[ty][p] * s[p][tx];
        __syncthreads();
    }
    tile[ty * n + tx] = s[ty][tx];
}

// blockIdx.x counts the tiles after the diagonal one; blockIdx.y is 0 for those to the right of it and
// 1 for those below. TILE threads: each owns a column (right) or a row (below) of the tile.
__global__ void lud_perimeter(REAL *a, int n, int k)
{
    __shared__ REAL d[TILE][TILE + 1];
    __shared__ REAL s[TILE][TILE + 1];
    int tx = threadIdx.x;
    int other = k + 1 + blockIdx.x;
    bool right = blockIdx.y == 0;
    const REAL *diagonal = tile_at(a, n, k, k);
    REAL *tile = right ? tile_at(a, n, k, other) : tile_at(a, n, other, k);

    for (int r = 0; r < TILE; ++r) {
        d[r][tx] = diagonal[r * n + tx];
        s[r][tx] = tile[r * n + tx];
    }
    __syncthreads();

    if (right) {
        for (int r = 1; r < TILE; ++r) {
            REAL v = s[r][tx];
            for (int p = 0; p < r; ++p)
                v -= d[r][p] * s[p][tx];
            s[r][tx] = v;
        }
    } else {
        for (int c = 0; c < TILE; ++c) {
            REAL v = s[tx][c];
            for (int p = 0; p < c; ++p)
                v -= s[tx][p] * d[p][c];
            s[tx][c] = v / d[c][c];
        }
    }
    __syncthreads();

    for (int r = 0; r < TILE; ++r)
        tile[r * n + tx] = s[r][tx];
}

// TILE x TILE threads, one for each entry of tile (k+1+blockIdx.y, k+1+blockIdx.x).
__global__ void lud_internal(REAL *a, int n, int k)
{
    __shared__ REAL left[TILE][TILE + 1];
    __shared__ REAL top[TILE][TILE + 1];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int bi = k + 1 + blockIdx.y;
    int bj = k + 1 + blockIdx.x;

    left[ty][tx] = tile_at(a, n, bi, k)[ty * n + tx];
    top[ty][tx] = tile_at(a, n, k, bj)[ty * n + tx];
    __syncthreads();

    REAL sum = 0;
    for (int p = 0; p < TILE; ++p)
        sum += left[ty][p] * top[p][tx];
    tile_at(a, n, bi, bj)[ty * n + tx] -= sum;
}

static void decompose(REAL *d_a, int n)
{
    const int tiles = n / TILE;
    const dim3 square(TILE, TILE);
    for (int k = 0; k < tiles; ++k) {
        const int rest = tiles - 1 - k;
        lud_diagonal<<<1, square>>>(d_a, n, k);
        if (rest > 0) {
            lud_perimeter<<<dim3(rest, 2), TILE>>>(d_a, n, k);
            lud_internal<<<dim3(rest, rest), square>>>(d_a, n, k);
        }
    }
    CUDA_CHECK(cudaGetLastError());
}

// Largest entry of |L U - A| divided by the largest entry of |A|.
static double residual(const std::vector<REAL> &lu, const std::vector<REAL> &a, int n)
{
    double worst = 0.0, size = 0.0;
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            double s = 0.0;
            for (int p = 0; p <= (r < c ? r : c); ++p) {
                double l = p == r ? 1.0 : double(lu[size_t(r) * n + p]);
                s += l * double(lu[size_t(p) * n + c]);
            }
            double ref = a[size_t(r) * n + c];
            worst = std::fmax(worst, std::fabs(s - ref));
            size = std::fmax(size, std::fabs(ref));
        }
    return worst / size;
}

int main(int argc, char **argv)
{
    int n = 512;
    unsigned seed = 1;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-n") && i + 1 < argc) n = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-s") && i + 1 < argc) seed = unsigned(std::atoi(argv[++i]));
        else {
            std::fprintf(stderr, "usage: %s [-n size] [-s seed]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (n < TILE || n > 16384 || n % TILE != 0) {
        std::fprintf(stderr, "the size must be a multiple of %d\n", TILE);
        return EXIT_FAILURE;
    }

    std::mt19937 gen(seed);
    std::uniform_real_distribution<double> entry(0.5, 1.0);
    std::vector<REAL> a(size_t(n) * n), lu(size_t(n) * n);
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            a[size_t(r) * n + c] = REAL(entry(gen) + (r == c ? n : 0));

    const size_t bytes = a.size() * sizeof(REAL);
    REAL *d_a;
    CUDA_CHECK(cudaMalloc(&d_a, bytes));
    CUDA_CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    decompose(d_a, n);
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_CHECK(cudaMemcpy(lu.data(), d_a, bytes, cudaMemcpyDeviceToHost));

    const double err = residual(lu, a, n);
    const double limit = sizeof(REAL) == 8 ? 1e-13 : 1e-5;
    std::printf("%d x %d, %.3f ms, %.2f Gflop/s\n", n, n, ms,
                2.0 / 3.0 * double(n) * n * n / (double(ms) * 1e6));
    std::printf("|LU - A| / |A| = %.3e (limit %.0e): %s\n", err, limit,
                err <= limit ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_a));
    return err <= limit ? EXIT_SUCCESS : EXIT_FAILURE;
}
