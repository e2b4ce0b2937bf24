// Convolution of an image with a square filter.
//
//   out(x,y) = sum over |i|, |j| <= R of  w(i,j) in(x+i, y+j)
//
// The filter is in constant memory; a block of any shape keeps its tile with a halo of R in dynamic shared
// memory. At the border the nearest pixel counts. `make_filter` is a Gaussian less a wider one.
//
// Build: nvcc -O2 -arch=native conv2d.cu -o conv2d                      (-DREAL=float for single)
// Run:   ./conv2d [-width n] [-height n] [-bx n] [-by n]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

#define R 4
#define SIDE (2 * R + 1)

__constant__ REAL filter[SIDE * SIDE];

__global__ void make_filter(REAL *w, REAL narrow, REAL wide)
{
    const int i = threadIdx.x;
    if (i >= SIDE * SIDE)
        return;
    const int x = i % SIDE - R, y = i / SIDE - R;
    const REAL d2 = REAL(x * x + y * y);
    const REAL a = REAL(1) / (narrow * narrow), b = REAL(1) / (wide * wide);
    w[i] = REAL(0.15915494309189535)
        * (a * exp(REAL(-0.5) * d2 * a) - REAL(0.5) * b * exp(REAL(-0.5) * d2 * b));
}

__global__ void convolve(const REAL *in, REAL *out, int width, int height)
{
    extern __shared__ REAL tile[];

    const int x0 = blockIdx.x * blockDim.x, y0 = blockIdx.y * blockDim.y;
    const int pitch = blockDim.x + 2 * R, lines = blockDim.y + 2 * R;
    for (int v = threadIdx.y; v < lines; v += blockDim.y)
        for (int u = threadIdx.x; u < pitch; u += blockDim.x) {
            const int x = min(max(x0 + u - R, 0), width - 1);
            const int y = min(max(y0 + v - R, 0), height - 1);
            tile[v * pitch + u] = in[y * width + x];
        }
    __syncthreads();

    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height)
        return;
    REAL sum = 0;
#pragma unroll
    for (int j = 0; j < SIDE; ++j)
#pragma unroll
        for (int i = 0; i < SIDE; ++i)
            sum += filter[j * SIDE + i] * tile[(threadIdx.y + j) * pitch + threadIdx.x + i];
    out[y * width + x] = sum;
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int width = options("width", 1920), height = options("height", 1080);
    const int bx = options("bx", 32, 1024), by = options("by", 8, 1024);
    options.done("[-width n] [-height n] [-bx n] [-by n]");

    Array<REAL> in(size_t(width) * height), out(size_t(width) * height), w(SIDE * SIDE);
    Random random;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            in[size_t(y) * width + x] = REAL(0.5 + 0.3 * std::sin(0.1 * x) * std::cos(0.07 * y)
                + random.uniform(-0.05, 0.05));
    in.up();

    const dim3 threads(bx, by), grid(ceil_div(width, bx), ceil_div(height, by));
    const size_t shared = size_t(bx + 2 * R) * (by + 2 * R) * sizeof(REAL);
    Timer timer;
    make_filter<<<1, 96>>>(w.device, REAL(1.2), REAL(2.4));
    CUDA_CHECK(cudaMemcpyToSymbol(filter, w.device, SIDE * SIDE * sizeof(REAL), 0,
        cudaMemcpyDeviceToDevice));
    convolve<<<grid, threads, shared>>>(in.device, out.device, width, height);
    const float ms = timer.stop();
    out.down();

    Worst worst(0.01);
    for (int i = 0; i < width * height; i += 5) {
        double sum = 0.0;
        for (int v = -R; v <= R; ++v)
            for (int u = -R; u <= R; ++u) {
                const int x = i % width + u, y = i / width + v;
                const double d2 = u * u + v * v, s = REAL(1.2), t = REAL(2.4);
                const double weight = (std::exp(-d2 / (2 * s * s)) / (s * s)
                    - 0.5 * std::exp(-d2 / (2 * t * t)) / (t * t)) / 6.283185307179586;
                sum += weight * in[size_t(y < 0 ? 0 : y >= height ? height - 1 : y) * width
                    + (x < 0 ? 0 : x >= width ? width - 1 : x)];
            }
        worst.add(out[i], sum);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-4);
}
