// Product of two matrices by tiles in shared memory, with blocks of any shape.
//
//   c_ij = sum_k a_ik b_kj
//
// A block of bx x by threads has as many elements of c; it takes DEPTH columns of a and rows of b at a time.
//
// Build: nvcc -O2 -arch=native matmul.cu -o matmul                      (-DREAL=float for single)
// Run:   ./matmul [-m rows] [-n columns] [-k depth] [-bx n] [-by n]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

#define DEPTH 16

// c is m x n, a is m x k, b is k x n. Dynamic shared memory: DEPTH elements for each row and column.
__global__ void matmul(const REAL *a, const REAL *b, REAL *c, int m, int n, int k)
{
    extern __shared__ REAL tiles[];
    REAL *left = tiles;                       // [blockDim.y][DEPTH]
    REAL *right = tiles + DEPTH * blockDim.y; // [DEPTH][blockDim.x]

    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    REAL sum = 0;
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        for (int t = threadIdx.x; t < DEPTH; t += blockDim.x)
            left[threadIdx.y * DEPTH + t] = row < m && k0 + t < k ? a[row * k + k0 + t] : REAL(0);
        for (int t = threadIdx.y; t < DEPTH; t += blockDim.y)
            right[t * blockDim.x + threadIdx.x] = column < n && k0 + t < k ? b[(k0 + t) * n + column]
                : REAL(0);
        __syncthreads();
        for (int t = 0; t < DEPTH; ++t)
            sum += left[threadIdx.y * DEPTH + t] * right[t * blockDim.x + threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int m = options("m", 512), n = options("n", 512), k = options("k", 512);
    const int bx = options("bx", 16, 1024), by = options("by", 16, 1024);
    options.done("[-m rows] [-n columns] [-k depth] [-bx n] [-by n]");

    Array<REAL> a(size_t(m) * k), b(size_t(k) * n), c(size_t(m) * n);
    Random random;
    for (size_t i = 0; i < a.size(); ++i)
        a[i] = REAL(random.normal(0, 1));
    for (size_t i = 0; i < b.size(); ++i)
        b[i] = REAL(random.normal(0, 1));
    a.up();
    b.up();

    const dim3 threads(bx, by), grid(ceil_div(n, bx), ceil_div(m, by));
    const size_t shared = size_t(DEPTH) * (bx + by) * sizeof(REAL);
    Timer timer;
    matmul<<<grid, threads, shared>>>(a.device, b.device, c.device, m, n, k);
    const float ms = timer.stop();
    c.down();

    Worst worst(std::sqrt(double(k)));
    for (int i = 0; i < m; i += 3)
        for (int j = 0; j < n; j += 5) {
            double sum = 0.0;
            for (int t = 0; t < k; ++t)
                sum += double(a[size_t(i) * k + t]) * b[size_t(t) * n + j];
            worst.add(c[size_t(i) * n + j], sum);
        }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-12 : 1e-4);
}
