// Poisson's equation on a square by Jacobi's method, 5 points.
//
//   u'(x,y) = (u(x-1,y) + u(x+1,y) + u(x,y-1) + u(x,y+1) + h^2 f(x,y)) / 4
//
// A thread for each point, straight from global memory; the border keeps its values; two buffers change
// places after every step. `residual` is what is left of the equation in the end.
//
// Build: nvcc -O2 -arch=native jacobi2d.cu -o jacobi2d                  (-DREAL=float for single)
// Run:   ./jacobi2d [-n points] [-steps n] [-bx n] [-by n]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

__global__ void jacobi(const REAL *u, const REAL *f, REAL *next, int n, REAL h2)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    const int i = y * n + x;
    next[i] = REAL(0.25) * (u[i - 1] + u[i + 1] + u[i - n] + u[i + n] + h2 * f[i]);
}

__global__ void residual(const REAL *u, const REAL *f, REAL *r, int n, REAL h2)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    const int i = y * n + x;
    r[i] = f[i] + (u[i - 1] + u[i + 1] + u[i - n] + u[i + n] - REAL(4) * u[i]) / h2;
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int n = options("n", 512, 16384), steps = options("steps", 100);
    const int bx = options("bx", 32, 1024), by = options("by", 8, 1024);
    options.done("[-n points] [-steps n] [-bx n] [-by n]");

    const REAL h2 = REAL(1.0 / (double(n) * n));
    Array<REAL> u(size_t(n) * n), next(size_t(n) * n), f(size_t(n) * n), r(size_t(n) * n);
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            f[size_t(y) * n + x] = REAL(20.0 * std::sin(3.0 * x / n) * std::cos(5.0 * y / n));
            u[size_t(y) * n + x] = next[size_t(y) * n + x] = REAL(double(x) / n);
        }
    u.up();
    next.up();
    f.up();
    std::vector<double> v(size_t(n) * n), w;
    for (size_t i = 0; i < v.size(); ++i)
        v[i] = u[i];

    const dim3 threads(bx, by), grid(ceil_div(n, bx), ceil_div(n, by));
    Timer timer;
    for (int t = 0; t < steps; ++t) {
        jacobi<<<grid, threads>>>(u.device, f.device, next.device, n, h2);
        u.swap(next);
    }
    residual<<<grid, threads>>>(u.device, f.device, r.device, n, h2);
    const float ms = timer.stop();
    u.down();

    for (int t = 0; t < steps; ++t) {
        w = v;
        for (int y = 1; y < n - 1; ++y)
            for (int x = 1; x < n - 1; ++x) {
                const size_t i = size_t(y) * n + x;
                v[i] = 0.25 * (w[i - 1] + w[i + 1] + w[i - n] + w[i + n] + double(h2) * f[i]);
            }
    }
    Worst worst(0.01);
    for (size_t i = 0; i < v.size(); ++i)
        worst.add(u[i], v[i]);
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-4);
}
