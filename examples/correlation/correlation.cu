// Correlation matrix of m variables from n observations.
//
//   mean_j = sum_i x_ij / n,   sd_j = sqrt(sum_i (x_ij - mean_j)^2 / n)
//   y_ij = (x_ij - mean_j) / (sqrt(n) sd_j),   r_jk = sum_i y_ij y_ik
//
// `means` and `deviations` have a thread for each variable, `standardise` one for each number;
// `correlate` multiplies by tiles in shared memory.
//
// Build: nvcc -O2 -arch=native correlation.cu -o correlation            (-DREAL=float for single)
// Run:   ./correlation [-n observations] [-m variables]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

#define TILE 16

__global__ void means(const REAL *x, REAL *mean, int n, int m)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m)
        return;
    REAL sum = 0;
    for (int i = 0; i < n; ++i)
        sum += x[i * m + j];
    mean[j] = sum / REAL(n);
}

__global__ void deviations(const REAL *x, const REAL *mean, REAL *sd, int n, int m)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m)
        return;
    const REAL centre = mean[j];
    REAL sum = 0;
    for (int i = 0; i < n; ++i) {
        const REAL d = x[i * m + j] - centre;
        sum += d * d;
    }
    const REAL s = sqrt(sum / REAL(n));
    sd[j] = s > REAL(1e-6) ? s : REAL(1); // a constant is correlated with nothing
}

__global__ void standardise(const REAL *x, const REAL *mean, const REAL *sd, REAL *y, int n, int m)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m)
        y[i * m + j] = (x[i * m + j] - mean[j]) / (sqrt(REAL(n)) * sd[j]);
}

__global__ void correlate(const REAL *y, REAL *r, int n, int m)
{
    __shared__ REAL left[TILE][TILE];
    __shared__ REAL right[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int column = blockIdx.x * TILE + tx;
    const int mine = blockIdx.y * TILE + tx; // the column of y that this thread brings for `left`

    REAL sum = 0;
    for (int i0 = 0; i0 < n; i0 += TILE) {
        const int i = i0 + ty;
        left[ty][tx] = i < n && mine < m ? y[i * m + mine] : REAL(0);
        right[ty][tx] = i < n && column < m ? y[i * m + column] : REAL(0);
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += left[k][ty] * right[k][tx];
        __syncthreads();
    }
    if (row < m && column < m)
        r[row * m + column] = row == column ? REAL(1) : sum;
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int n = options("n", 512), m = options("m", 256);
    options.done("[-n observations] [-m variables]");

    Array<REAL> x(size_t(n) * m), y(size_t(n) * m), mean(m), sd(m), r(size_t(m) * m);
    Random random;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            x[size_t(i) * m + j] = REAL(5.0 + std::sin(0.1 * i + 0.05 * j) + random.normal(0.0, 0.5));
    x.up();

    const dim3 tile(TILE, TILE);
    const dim3 numbers(ceil_div(m, TILE), ceil_div(n, TILE)),
        pairs(ceil_div(m, TILE), ceil_div(m, TILE));
    Timer timer;
    means<<<ceil_div(m, 64), 64>>>(x.device, mean.device, n, m);
    deviations<<<ceil_div(m, 64), 64>>>(x.device, mean.device, sd.device, n, m);
    standardise<<<numbers, tile>>>(x.device, mean.device, sd.device, y.device, n, m);
    correlate<<<pairs, tile>>>(y.device, r.device, n, m);
    const float ms = timer.stop();
    r.down();

    // On the host by sums of products, for some of the pairs.
    Worst worst(1.0);
    for (int p = 0; p < 200; ++p) {
        const int j = p * 7 % m, k = p * 13 % m;
        double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
        for (int i = 0; i < n; ++i) {
            const double u = x[size_t(i) * m + j] - 5.0, v = x[size_t(i) * m + k] - 5.0;
            a += u, b += v, aa += u * u, bb += v * v, ab += u * v;
        }
        const double want = (n * ab - a * b) / std::sqrt((n * aa - a * a) * (n * bb - b * b));
        worst.add(r[size_t(j) * m + k], j == k ? 1.0 : want);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-12 : 1e-4);
}
