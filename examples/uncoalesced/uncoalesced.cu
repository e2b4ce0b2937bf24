// Rows of a matrix scaled to norm 1 and the matrix transposed, in the way that suits memory least: a study
// object for block shapes, not a model.
//
//   norm_i = sqrt(sum_j a_ij^2),   t_ji = a_ij / norm_i
//
// In row_norms neighbouring threads have neighbouring rows, so a warp reads 32 lines at a time. In
// transpose_scaled the reads are coalesced along x and the writes are not: a block that is narrow in x
// and tall in y writes in longer runs and reads in shorter ones.
//
// Build: nvcc -O2 -arch=native uncoalesced.cu -o uncoalesced            (-DREAL=float for single)
// Run:   ./uncoalesced [-rows n] [-columns n] [-bx n] [-by n]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

__global__ void row_norms(const REAL *a, REAL *norms, int rows, int columns)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    REAL sum = 0;
    for (int j = 0; j < columns; ++j) {
        const REAL v = a[i * columns + j];
        sum += v * v;
    }
    norms[i] = sqrt(sum);
}

__global__ void transpose_scaled(const REAL *a, const REAL *norms, REAL *t, int rows, int columns)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns)
        t[j * rows + i] = a[i * columns + j] / norms[i];
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int rows = options("rows", 2048), columns = options("columns", 2048);
    const int bx = options("bx", 32, 1024), by = options("by", 8, 1024);
    options.done("[-rows n] [-columns n] [-bx n] [-by n]");

    Array<REAL> a(size_t(rows) * columns), t(size_t(rows) * columns), norms(rows);
    Random random;
    for (size_t i = 0; i < a.size(); ++i)
        a[i] = REAL(random.uniform(-1, 1));
    a.up();

    const dim3 threads(bx, by), grid(ceil_div(columns, bx), ceil_div(rows, by));
    Timer timer;
    row_norms<<<ceil_div(rows, 128), 128>>>(a.device, norms.device, rows, columns);
    transpose_scaled<<<grid, threads>>>(a.device, norms.device, t.device, rows, columns);
    const float ms = timer.stop();
    t.down();

    Worst worst(1e-6);
    for (int i = 0; i < rows; ++i) {
        double norm = 0.0;
        for (int j = 0; j < columns; ++j)
            norm = std::hypot(norm, double(a[size_t(i) * columns + j]));
        for (int j = 0; j < columns; ++j)
            worst.add(t[size_t(j) * rows + i], a[size_t(i) * columns + j] / norm);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-4);
}
