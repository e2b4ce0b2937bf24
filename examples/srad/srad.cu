// Speckle reducing anisotropic diffusion of an ultrasound or radar image (Yu and Acton, 2002).
//
//   q0^2 = variance / mean^2 over a region without structure
//   q^2 = (G/2 - L^2/16) / (1 + L/4)^2,   G = |gradient I|^2 / I^2,   L = laplacian I / I
//   c = 1 / (1 + (q^2 - q0^2) / (q0^2 (1 + q0^2))),   I += lambda/4 div(c gradient I)
//
// The image (0 to 255) is taken out of and put back into its logarithmic scale by `extract` and
// `compress`. Each step: `region_sums` and `region_statistic` give q0^2, `coefficients` the differences to
// the four neighbours and c, `diffuse` the new image. The border is reflected.
//
// Build: nvcc -O2 -arch=native srad.cu -o srad                          (-DREAL=double for double)
// Run:   ./srad [-rows n] [-columns n] [-steps n]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define THREADS 128 // of the kernels that reduce; a power of two

struct Differences {
    REAL north, south, west, east;
};

__global__ void extract(REAL *image, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        image[i] = exp(image[i] / REAL(255));
}

__global__ void compress(REAL *image, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        image[i] = log(image[i]) * REAL(255);
}

// Sums of the values and of their squares over the block, for all its threads.
__device__ void block_sums(REAL &first, REAL &second)
{
    __shared__ REAL a[THREADS];
    __shared__ REAL b[THREADS];
    a[threadIdx.x] = first;
    b[threadIdx.x] = second;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            a[threadIdx.x] += a[threadIdx.x + half];
            b[threadIdx.x] += b[threadIdx.x + half];
        }
        __syncthreads();
    }
    first = a[0];
    second = b[0];
}

// The region is the first `region_rows` x `region_columns` pixels; a row for each block.
__global__ void region_sums(const REAL *image, REAL *sums, int columns, int region_columns)
{
    REAL first = 0, second = 0;
    for (int x = threadIdx.x; x < region_columns; x += THREADS) {
        const REAL v = image[blockIdx.x * columns + x];
        first += v;
        second += v * v;
    }
    block_sums(first, second);
    if (threadIdx.x == 0) {
        sums[2 * blockIdx.x] = first;
        sums[2 * blockIdx.x + 1] = second;
    }
}

// One block.
__global__ void region_statistic(const REAL *sums, REAL *q0_squared, int region_rows,
                                 int region_columns)
{
    REAL first = 0, second = 0;
    for (int y = threadIdx.x; y < region_rows; y += THREADS) {
        first += sums[2 * y];
        second += sums[2 * y + 1];
    }
    block_sums(first, second);
    if (threadIdx.x == 0) {
        const REAL count = REAL(region_rows) * REAL(region_columns);
        const REAL mean = first / count;
        const REAL variance = second / count - mean * mean;
        q0_squared[0] = variance / (mean * mean);
    }
}

__global__ void coefficients(const REAL *image, const REAL *q0_squared, Differences *differences,
                             REAL *c, int rows, int columns)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows)
        return;

    const int i = y * columns + x;
    const REAL v = image[i];
    Differences d;
    d.north = image[max(y - 1, 0) * columns + x] - v;
    d.south = image[min(y + 1, rows - 1) * columns + x] - v;
    d.west = image[y * columns + max(x - 1, 0)] - v;
    d.east = image[y * columns + min(x + 1, columns - 1)] - v;

    const REAL g = (d.north * d.north + d.south * d.south + d.west * d.west + d.east * d.east)
        / (v * v);
    const REAL l = (d.north + d.south + d.west + d.east) / v;
    const REAL numerator = REAL(0.5) * g - REAL(1.0 / 16.0) * (l * l);
    const REAL denominator = REAL(1) + REAL(0.25) * l;
    const REAL q_squared = numerator / (denominator * denominator);
    const REAL q0 = q0_squared[0];
    const REAL k = REAL(1) / (REAL(1) + (q_squared - q0) / (q0 * (REAL(1) + q0)));

    differences[i] = d;
    c[i] = fmin(fmax(k, REAL(0)), REAL(1));
}

__global__ void diffuse(REAL *image, const Differences *differences, const REAL *c, int rows,
                        int columns, REAL lambda)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows)
        return;

    const int i = y * columns + x;
    const REAL here = c[i];
    const REAL south = c[min(y + 1, rows - 1) * columns + x];
    const REAL east = c[y * columns + min(x + 1, columns - 1)];
    const Differences d = differences[i];
    image[i] += REAL(0.25) * lambda * (here * (d.north + d.west) + south * d.south + east * d.east);
}

static void host_srad(std::vector<double> &v, int rows, int columns, int region_rows, int region_columns,
    int steps, double lambda)
{
    std::vector<double> c(v.size()), next(v.size());
    for (double &p : v)
        p = std::exp(p / 255.0);
    for (int t = 0; t < steps; ++t) {
        double mean = 0, variance = 0;
        for (int y = 0; y < region_rows; ++y)
            for (int x = 0; x < region_columns; ++x)
                mean += v[size_t(y) * columns + x] / (double(region_rows) * region_columns);
        for (int y = 0; y < region_rows; ++y)
            for (int x = 0; x < region_columns; ++x)
                variance += std::pow(v[size_t(y) * columns + x] - mean,
                    2) / (double(region_rows) * region_columns);
        const double q0 = variance / (mean * mean);
        auto at = [&](const std::vector<double> &a, int y, int x) {
            return a[size_t(y < 0 ? 0 : y >= rows ? rows - 1 : y) * columns
                + (x < 0 ? 0 : x >= columns ? columns - 1 : x)];
        };
        for (int y = 0; y < rows; ++y)
            for (int x = 0; x < columns; ++x) {
                const double p = at(v, y, x), n = at(v, y - 1, x) - p, s = at(v, y + 1, x) - p,
                    w = at(v, y, x - 1) - p, e = at(v, y, x + 1) - p;
                const double l = (n + s + w + e) / p, g = (n * n + s * s + w * w + e * e) / (p * p);
                const double q = (g / 2 - l * l / 16) / std::pow(1 + l / 4, 2);
                c[size_t(y) * columns + x] = std::fmin(std::fmax(1 / (1 + (q - q0) / (q0 * (1 + q0))),
                    0.0), 1.0);
            }
        for (int y = 0; y < rows; ++y)
            for (int x = 0; x < columns; ++x) {
                const double p = at(v, y, x), k = at(c, y, x);
                next[size_t(y) * columns + x] = p
                    + lambda / 4 * (k * (at(v, y - 1, x) - p) + k * (at(v, y, x - 1) - p)
                    + at(c, y + 1, x) * (at(v, y + 1, x) - p)
                    + at(c, y, x + 1) * (at(v, y, x + 1) - p));
            }
        v.swap(next);
    }
    for (double &p : v)
        p = std::log(p) * 255.0;
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int rows = options("rows", 502), columns = options("columns", 458),
        steps = options("steps", 10);
    options.done("[-rows n] [-columns n] [-steps n]");

    const int n = rows * columns, region_rows = (rows + 3) / 4, region_columns = (columns + 3) / 4;
    const REAL lambda = REAL(0.5);
    Array<REAL> image(n), c(n), sums(2 * size_t(region_rows)), q0_squared(1);
    Array<Differences> differences(n);
    Random random;
    for (int i = 0; i < n; ++i) {
        const int x = i % columns, y = i / columns;
        const double clean = 90 + 30 * std::sin(0.05 * x)
            + (std::hypot(x - 0.6 * columns, y - 0.6 * rows) < 0.2 * rows ? 60 : 0);
        image[i] = REAL(clean * random.uniform(0.8, 1.2));
    }
    std::vector<double> want(n);
    for (int i = 0; i < n; ++i)
        want[i] = image[i];
    image.up();

    const dim3 threads(16, 8), grid(ceil_div(columns, 16), ceil_div(rows, 8));
    Timer timer;
    extract<<<ceil_div(n, 128), 128>>>(image.device, n);
    for (int t = 0; t < steps; ++t) {
        region_sums<<<region_rows, THREADS>>>(image.device, sums.device, columns, region_columns);
        region_statistic<<<1, THREADS>>>(sums.device, q0_squared.device, region_rows, region_columns);
        coefficients<<<grid, threads>>>(image.device, q0_squared.device, differences.device, c.device,
            rows, columns);
        diffuse<<<grid, threads>>>(image.device, differences.device, c.device, rows, columns, lambda);
    }
    compress<<<ceil_div(n, 128), 128>>>(image.device, n);
    const float ms = timer.stop();
    image.down();

    host_srad(want, rows, columns, region_rows, region_columns, steps, lambda);
    Worst worst(1.0);
    for (int i = 0; i < n; ++i)
        worst.add(image[i], want[i]);
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-10 : 1e-2);
}
