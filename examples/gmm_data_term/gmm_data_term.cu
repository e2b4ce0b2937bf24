// Data term of a segmentation by graph cut: how badly a pixel fits two mixtures of Gaussians, one of the
// colours of the foreground, one of those of the background.
//
//   D(p) = -ln sum_k w_k / sqrt(det S_k) exp(-(p - m_k)' S_k^-1 (p - m_k) / 2)
//
// prepare_components inverts the covariances S_k, a thread for each; `data_term` has a thread for each
// pixel and keeps the components in shared memory.
//
// Build: nvcc -O2 -arch=native gmm_data_term.cu -o gmm_data_term        (-DREAL=double for double)
// Run:   ./gmm_data_term [-width n] [-height n]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define COMPONENTS 4 // of a mixture
#define MIXTURES 2   // foreground, background

struct __align__(16) Pixel {
    REAL r, g, b, a;
};

struct Gaussian { // weight, mean, covariance (rr rg rb gg gb bb)
    REAL weight, mean[3], cov[6];
};

struct Component { // weight over the root of the determinant, mean, inverse covariance
    REAL factor, mean[3], inv[6];
};

__global__ void prepare_components(const Gaussian *gaussians, Component *components)
{
    const int k = threadIdx.x;
    if (k >= COMPONENTS * MIXTURES)
        return;
    const Gaussian s = gaussians[k];
    const REAL rr = s.cov[0], rg = s.cov[1], rb = s.cov[2], gg = s.cov[3], gb = s.cov[4], bb = s.cov[5];
    const REAL a = gg * bb - gb * gb;
    const REAL b = rb * gb - rg * bb;
    const REAL c = rg * gb - rb * gg;
    const REAL det = rr * a + rg * b + rb * c;

    Component out;
    out.factor = s.weight / sqrt(det);
    for (int i = 0; i < 3; ++i)
        out.mean[i] = s.mean[i];
    out.inv[0] = a / det;
    out.inv[1] = b / det;
    out.inv[2] = c / det;
    out.inv[3] = (rr * bb - rb * rb) / det;
    out.inv[4] = (rb * rg - rr * gb) / det;
    out.inv[5] = (rr * gg - rg * rg) / det;
    components[k] = out;
}

__device__ inline REAL density(const Component &c, Pixel p)
{
    const REAL r = p.r - c.mean[0], g = p.g - c.mean[1], b = p.b - c.mean[2];
    const REAL form = r * (c.inv[0] * r + REAL(2) * (c.inv[1] * g + c.inv[2] * b))
        + g * (c.inv[3] * g + REAL(2) * c.inv[4] * b) + c.inv[5] * b * b;
    return c.factor * exp(REAL(-0.5) * form);
}

__global__ void data_term(const Pixel *image, const Component *components, REAL *foreground,
                          REAL *background, int width, int height)
{
    __shared__ Component mixture[COMPONENTS * MIXTURES];
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    if (tid < COMPONENTS * MIXTURES)
        mixture[tid] = components[tid];
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const int i = y * width + x;
    const Pixel p = image[i];
    REAL sums[MIXTURES];
#pragma unroll
    for (int m = 0; m < MIXTURES; ++m) {
        sums[m] = REAL(1e-30); // far from all components; keeps the logarithm finite
        for (int k = 0; k < COMPONENTS; ++k)
            sums[m] += density(mixture[m * COMPONENTS + k], p);
    }
    foreground[i] = -log(sums[0]);
    background[i] = -log(sums[1]);
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int width = options("width", 640), height = options("height", 480);
    options.done("[-width n] [-height n]");

    const int n = width * height, count = COMPONENTS * MIXTURES;
    Array<Gaussian> gaussians(count);
    Array<Component> components(count);
    Array<Pixel> image(n);
    Array<REAL> foreground(n), background(n);
    Random random;
    for (int k = 0; k < count; ++k) {
        Gaussian &s = gaussians[k];
        s.weight = REAL(0.25);
        for (int i = 0; i < 3; ++i)
            s.mean[i] = REAL(random.uniform(k < COMPONENTS ? 0.4 : 0.1, k < COMPONENTS ? 0.9 : 0.6));
        for (int i = 0; i < 6; ++i)
            s.cov[i] = REAL(i == 0 || i == 3 || i == 5 ? random.uniform(0.01, 0.03)
                : random.uniform(-0.004, 0.004));
    }
    for (int i = 0; i < n; ++i) {
        const int x = i % width, y = i / width;
        const double base = (std::hypot(x - 0.5 * width, y - 0.5 * height) < 0.3 * height ? 0.65 : 0.35)
            + 0.1 * std::sin(0.05 * x);
        image[i] = {REAL(base + random.uniform(-0.05, 0.05)),
            REAL(0.9 * base + random.uniform(-0.05, 0.05)),
            REAL(0.8 * base + random.uniform(-0.05, 0.05)), REAL(1)};
    }
    gaussians.up();
    image.up();

    const dim3 threads(16, 8), grid(ceil_div(width, 16), ceil_div(height, 8));
    Timer timer;
    prepare_components<<<1, 32>>>(gaussians.device, components.device);
    data_term<<<grid, threads>>>(image.device, components.device, foreground.device, background.device,
        width, height);
    const float ms = timer.stop();
    foreground.down();
    background.down();

    // On the host by elimination: S = L L', the form is |L^-1 d|^2 and the determinant that of L squared.
    Worst worst(0.1);
    for (int i = 0; i < n; i += 3)
        for (int m = 0; m < MIXTURES; ++m) {
            double sum = 1e-30;
            for (int k = 0; k < COMPONENTS; ++k) {
                const Gaussian &s = gaussians[m * COMPONENTS + k];
                const double l00 = std::sqrt(double(s.cov[0])), l10 = s.cov[1] / l00,
                    l20 = s.cov[2] / l00;
                const double l11 = std::sqrt(s.cov[3] - l10 * l10), l21 = (s.cov[4] - l20 * l10) / l11;
                const double l22 = std::sqrt(s.cov[5] - l20 * l20 - l21 * l21);
                const double u = (double(image[i].r) - s.mean[0]) / l00,
                    v = (double(image[i].g) - s.mean[1] - l10 * u) / l11;
                const double w = (double(image[i].b) - s.mean[2] - l20 * u - l21 * v) / l22;
                sum += s.weight / (l00 * l11 * l22) * std::exp(-0.5 * (u * u + v * v + w * w));
            }
            worst.add(m ? background[i] : foreground[i], -std::log(sum));
        }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-3);
}
