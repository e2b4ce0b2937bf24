// Two filters against noise: a weighted mean of the window around each pixel, with weights by how alike
// the pixels are (nearest in colour, `knn`) or how alike their surroundings are (`nlm`, non-local means).
//
//   knn:  w(p, q) = exp(-|in(p) - in(q)|^2 / h^2 - |p - q|^2 / s^2)
//   nlm:  w(p, q) = exp(-D(p, q) / h^2 - |p - q|^2 / s^2),   D = mean over a patch of |in(p+d) - in(q+d)|^2
//   out = (1 - mix) mean + mix in,   mix = mix0 (1 - mean weight): where little is alike, keep the pixel
//
// `knn` works on colours and reads the image from global memory; `nlm` works on brightness (`luminance`)
// and keeps the tile of the block with its halo in dynamic shared memory.
//
// Build: nvcc -O2 -arch=native image_denoising.cu -o image_denoising    (-DREAL=double for double)
// Run:   ./image_denoising [-width n] [-height n]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define WINDOW 3 // radius
#define PATCH 1  // radius
#define HALO (WINDOW + PATCH)

struct __align__(16) Pixel {
    REAL r, g, b, a;
};

struct Filter {
    REAL noise;  // 1 / h^2
    REAL spread; // 1 / s^2
    REAL mix;
};

__device__ inline int clamp_to(int v, int n) { return min(max(v, 0), n - 1); }

__device__ inline REAL blend(REAL from, REAL to, REAL part) { return from + (to - from) * part; }

__global__ void knn(const Pixel *in, Pixel *out, int width, int height, Filter f)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    const Pixel p = in[y * width + x];
    Pixel t = {0, 0, 0, p.a};
    REAL sum = 0;
    for (int dy = -WINDOW; dy <= WINDOW; ++dy)
        for (int dx = -WINDOW; dx <= WINDOW; ++dx) {
            const Pixel q = in[clamp_to(y + dy, height) * width + clamp_to(x + dx, width)];
            const REAL r = q.r - p.r, g = q.g - p.g, b = q.b - p.b;
            const REAL w = exp(-((r * r + g * g + b * b) * f.noise
                + REAL(dx * dx + dy * dy) * f.spread));
            t.r += q.r * w;
            t.g += q.g * w;
            t.b += q.b * w;
            sum += w;
        }
    const REAL inv = REAL(1) / sum;
    const REAL mix = f.mix * (REAL(1) - sum * REAL(1.0 / ((2 * WINDOW + 1) * (2 * WINDOW + 1))));
    t.r = blend(t.r * inv, p.r, mix);
    t.g = blend(t.g * inv, p.g, mix);
    t.b = blend(t.b * inv, p.b, mix);
    out[y * width + x] = t;
}

__global__ void luminance(const Pixel *in, REAL *grey, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        grey[i] = REAL(0.2126) * in[i].r + REAL(0.7152) * in[i].g + REAL(0.0722) * in[i].b;
}

__global__ void nlm(const REAL *in, REAL *out, int width, int height, Filter f)
{
    extern __shared__ REAL tile[]; // (blockDim.x + 2 HALO) x (blockDim.y + 2 HALO)

    const int x0 = blockIdx.x * blockDim.x, y0 = blockIdx.y * blockDim.y;
    const int pitch = blockDim.x + 2 * HALO;
    for (int v = threadIdx.y; v < blockDim.y + 2 * HALO; v += blockDim.y)
        for (int u = threadIdx.x; u < pitch; u += blockDim.x)
            tile[v * pitch + u] = in[clamp_to(y0 + v - HALO, height) * width
                + clamp_to(x0 + u - HALO, width)];
    __syncthreads();

    const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const REAL *here = tile + (threadIdx.y + HALO) * pitch + threadIdx.x + HALO;
    REAL total = 0, sum = 0;
    for (int dy = -WINDOW; dy <= WINDOW; ++dy)
        for (int dx = -WINDOW; dx <= WINDOW; ++dx) {
            const REAL *there = here + dy * pitch + dx;
            REAL distance = 0;
            for (int v = -PATCH; v <= PATCH; ++v)
                for (int u = -PATCH; u <= PATCH; ++u) {
                    const REAL d = here[v * pitch + u] - there[v * pitch + u];
                    distance += d * d;
                }
            distance *= REAL(1.0 / ((2 * PATCH + 1) * (2 * PATCH + 1)));
            const REAL w = exp(-(distance * f.noise + REAL(dx * dx + dy * dy) * f.spread));
            total += w * there[0];
            sum += w;
        }
    const REAL mix = f.mix * (REAL(1) - sum * REAL(1.0 / ((2 * WINDOW + 1) * (2 * WINDOW + 1))));
    out[y * width + x] = blend(total / sum, here[0], mix);
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int width = options("width", 640), height = options("height", 480);
    options.done("[-width n] [-height n]");

    const int n = width * height;
    const Filter f = {REAL(40), REAL(0.02), REAL(0.2)};
    Array<Pixel> in(n), out(n);
    Array<REAL> grey(n), smooth(n);
    Random random;
    for (int i = 0; i < n; ++i) {
        const int x = i % width, y = i / width;
        const double base = 0.5 + 0.2 * std::sin(0.09 * x) * std::cos(0.06 * y)
            + (std::hypot(x - 0.4 * width, y - 0.5 * height) < 0.25 * height ? 0.2 : -0.1);
        in[i] = {REAL(base + random.normal(0, 0.05)), REAL(0.9 * base + random.normal(0, 0.05)),
            REAL(0.8 * base + random.normal(0, 0.05)), REAL(1)};
    }
    in.up();

    const dim3 threads(16, 8), grid(ceil_div(width, 16), ceil_div(height, 8));
    const size_t shared = (16 + 2 * HALO) * (8 + 2 * HALO) * sizeof(REAL);
    Timer timer;
    knn<<<grid, threads>>>(in.device, out.device, width, height, f);
    luminance<<<ceil_div(n, 128), 128>>>(in.device, grey.device, n);
    nlm<<<grid, threads, shared>>>(grey.device, smooth.device, width, height, f);
    const float ms = timer.stop();
    out.down();
    smooth.down();

    Worst worst(0.01);
    const double noise = f.noise, spread = f.spread, keep = f.mix;
    auto at = [&](int x, int y) -> const Pixel & {
        return in[size_t(y < 0 ? 0 : y >= height ? height - 1 : y) * width
            + (x < 0 ? 0 : x >= width ? width - 1 : x)];
    };
    auto light = [&](int x, int y) { return 0.2126 * at(x, y).r + 0.7152 * at(x, y).g
        + 0.0722 * at(x, y).b; };
    for (int i = 0; i < n; i += 11) {
        const int x = i % width, y = i / width;
        double green = 0, colour_sum = 0, bright = 0, bright_sum = 0;
        for (int v = y - 3; v <= y + 3; ++v)
            for (int u = x - 3; u <= x + 3; ++u) {
                const double off = ((u - x) * (u - x) + (v - y) * (v - y)) * spread;
                const double c2 = std::pow(double(at(u, v).r) - at(x, y).r, 2)
                    + std::pow(double(at(u, v).g) - at(x, y).g, 2)
                    + std::pow(double(at(u, v).b) - at(x, y).b, 2);
                double patch = 0;
                for (int d = 0; d < 9; ++d)
                    patch += std::pow(light(x + d % 3 - 1, y + d / 3 - 1)
                        - light(u + d % 3 - 1, v + d / 3 - 1), 2) / 9;
                green += std::exp(-c2 * noise - off) * at(u, v).g;
                colour_sum += std::exp(-c2 * noise - off);
                bright += std::exp(-patch * noise - off) * light(u, v);
                bright_sum += std::exp(-patch * noise - off);
            }
        const double a = keep * (1 - colour_sum / 49), b = keep * (1 - bright_sum / 49);
        worst.add(out[i].g, (1 - a) * green / colour_sum + a * at(x, y).g);
        worst.add(smooth[i], (1 - b) * bright / bright_sum + b * light(x, y));
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-12 : 1e-4);
}
