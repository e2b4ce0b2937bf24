// Bilateral filter of a colour image: a mean over a window in which near and similar pixels count most.
//
//   out(p) = sum_q w(p, q) in(q) / sum_q w(p, q)
//   w(p, q) = exp(-|p - q|^2 / (2 s^2)) exp(-|in(p) - in(q)|^2 / (2 d^2))
//
// spatial_weights makes the table of the first factor, which goes to constant memory; `bilateral` has a
// thread for each pixel and may be applied several times. At the border the nearest pixel counts.
//
// Build: nvcc -O2 -arch=native bilateral_filter.cu -o bilateral_filter  (-DREAL=double for double)
// Run:   ./bilateral_filter [-width n] [-height n] [-radius n] [-times n]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define MOST_RADIUS 15

struct __align__(16) Pixel {
    REAL r, g, b, a;
};

__constant__ REAL spatial[2 * MOST_RADIUS + 1];

__global__ void spatial_weights(REAL *table, int radius, REAL sigma)
{
    const int i = threadIdx.x;
    if (i > 2 * radius)
        return;
    const REAL d = REAL(i - radius);
    table[i] = exp(-(d * d) / (REAL(2) * sigma * sigma));
}

__device__ inline REAL colour_distance2(Pixel p, Pixel q)
{
    const REAL r = p.r - q.r, g = p.g - q.g, b = p.b - q.b;
    return r * r + g * g + b * b;
}

__global__ void bilateral(const Pixel *in, Pixel *out, int width, int height, int radius, REAL delta)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    const REAL inv = REAL(-0.5) / (delta * delta);
    const Pixel centre = in[y * width + x];
    REAL sum = 0;
    Pixel t = {0, 0, 0, centre.a};
    for (int dy = -radius; dy <= radius; ++dy) {
        const int row = min(max(y + dy, 0), height - 1) * width;
        for (int dx = -radius; dx <= radius; ++dx) {
            const Pixel p = in[row + min(max(x + dx, 0), width - 1)];
            const REAL w = spatial[dy + radius] * spatial[dx + radius]
                * exp(inv * colour_distance2(p, centre));
            sum += w;
            t.r += w * p.r;
            t.g += w * p.g;
            t.b += w * p.b;
        }
    }
    t.r /= sum;
    t.g /= sum;
    t.b /= sum;
    out[y * width + x] = t;
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int width = options("width", 640), height = options("height", 480);
    const int radius = options("radius", 5, MOST_RADIUS), times = options("times", 1);
    options.done("[-width n] [-height n] [-radius n] [-times n]");

    const REAL sigma = REAL(4), delta = REAL(0.1);
    Array<Pixel> in(size_t(width) * height), out(size_t(width) * height);
    Array<REAL> table(2 * radius + 1);
    Random random;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const double base = 0.45 + 0.2 * std::sin(0.11 * x) * std::cos(0.07 * y)
                + ((x / 24 + y / 24) % 2 ? 0.12 : -0.12);
            in[size_t(y) * width + x] = {REAL(base + random.uniform(-0.05, 0.05)),
                REAL(base + random.uniform(-0.05, 0.05)), REAL(base + random.uniform(-0.05, 0.05)),
                REAL(1)};
        }
    in.up();

    const dim3 threads(16, 8), grid(ceil_div(width, 16), ceil_div(height, 8));
    Timer timer;
    spatial_weights<<<1, 32>>>(table.device, radius, sigma);
    CUDA_CHECK(cudaMemcpyToSymbol(spatial, table.device, (2 * radius + 1) * sizeof(REAL), 0,
        cudaMemcpyDeviceToDevice));
    for (int t = 0; t < times; ++t) {
        if (t > 0)
            in.swap(out);
        bilateral<<<grid, threads>>>(in.device, out.device, width, height, radius, delta);
    }
    const float ms = timer.stop();
    out.down();
    if (times > 1)
        in.down(); // what the last application started from

    Worst worst(0.01);
    for (int i = 0; i < width * height; i += 7) {
        const int x = i % width, y = i / width;
        double sum = 0, r = 0, b = 0;
        for (int v = y - radius; v <= y + radius; ++v)
            for (int u = x - radius; u <= x + radius; ++u) {
                const Pixel &c = in[i], &p = in[size_t(v < 0 ? 0 : v >= height ? height - 1 : v) * width
                    + (u < 0 ? 0 : u >= width ? width - 1 : u)];
                const double d2 = std::pow(double(p.r) - c.r, 2) + std::pow(double(p.g) - c.g, 2)
                    + std::pow(double(p.b) - c.b, 2);
                const double w = std::exp(-((v - y) * (v - y) + (u - x) * (u - x))
                    / (2.0 * sigma * sigma) - d2 / (2.0 * delta * delta));
                sum += w, r += w * p.r, b += w * p.b;
            }
        worst.add(out[i].r, r / sum);
        worst.add(out[i].b, b / sum);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-12 : 1e-4);
}
