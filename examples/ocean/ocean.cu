// The surface of a windy sea, as a sum of waves with a given spectrum.
//
//   h0(k) = (a + i b) sqrt(P(k) / 2),   P(k) = A exp(-1 / (k L)^2) / k^4 (k . w / k)^2,   L = V^2 / g
//   h(k, t) = h0(k) exp(i w t) + conj(h0(-k)) exp(-i w t),   w = sqrt(g k)
//   height(x, t) = sum_k h(k, t) exp(i k . x)
//
// initial_spectrum is run once, generate_spectrum for each frame; fft_lines transforms the rows, then the
// columns, of the n x n spectrum, a line for each block; surface takes heights and slopes from it.
//
// Build: nvcc -O2 -arch=native ocean.cu -o ocean                        (-DREAL=double for double)
// Run:   ./ocean [-log_n n] [-b threads]

#include <complex>

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define GRAVITY REAL(9.81)
#define TWO_PI REAL(6.28318530717958647693)

struct Complex {
    REAL re, im;
};

struct Sea {
    REAL patch;     // edge of the square, metres
    REAL wind;      // speed, metres per second, along x
    REAL amplitude; // A
};

// Wave number of index i: -n/2 .. n/2 - 1 times 2 pi / patch.
__device__ inline REAL wave_number(int i, int n, REAL patch)
{
    return TWO_PI * REAL(i - n / 2) / patch;
}

__global__ void initial_spectrum(const Complex *random, Complex *h0, Sea sea, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;

    const REAL kx = wave_number(x, n, sea.patch);
    const REAL ky = wave_number(y, n, sea.patch);
    const REAL k2 = kx * kx + ky * ky;
    REAL root = 0;
    if (x != n / 2 || y != n / 2) {
        const REAL longest = sea.wind * sea.wind / GRAVITY;
        const REAL along = kx * kx / k2;
        REAL p = sea.amplitude * exp(REAL(-1) / (k2 * longest * longest)) / (k2 * k2) * along;
        if (kx < REAL(0))
            p *= REAL(0.07); // waves against the wind
        root = sqrt(REAL(0.5) * p);
    }
    const Complex r = random[y * n + x];
    h0[y * n + x] = {root * r.re, root * r.im};
}

__global__ void generate_spectrum(const Complex *h0, Complex *h, Sea sea, int n, REAL t)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;

    const REAL kx = wave_number(x, n, sea.patch);
    const REAL ky = wave_number(y, n, sea.patch);
    const REAL w = sqrt(GRAVITY * sqrt(kx * kx + ky * ky));
    const REAL c = cos(w * t);
    const REAL s = sin(w * t);

    const Complex a = h0[y * n + x];
    const Complex b = h0[(n - y) % n * n + (n - x) % n]; // -k
    h[y * n + x] = {(a.re + b.re) * c - (a.im + b.im) * s, (a.im - b.im) * c + (a.re - b.re) * s};
}

// In place, line `blockIdx.x`: elements blockIdx.x * next + i * step for i < n = 2^log_n. Decimation in
// time; dynamic shared memory holds the line.
__global__ void fft_lines(Complex *data, int log_n, int next, int step)
{
    extern __shared__ Complex line[];

    const int n = 1 << log_n;
    Complex *base = data + blockIdx.x * next;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        line[__brev(i) >> (32 - log_n)] = base[i * step];
    __syncthreads();

    for (int half = 1; half < n; half *= 2) {
        for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
            const int j = i % half;
            const int low = 2 * (i - j) + j;
            const REAL angle = TWO_PI * REAL(j) / REAL(2 * half);
            const REAL c = cos(angle), s = sin(angle);
            const Complex u = line[low], v = line[low + half];
            const Complex turned = {v.re * c - v.im * s, v.re * s + v.im * c};
            line[low] = {u.re + turned.re, u.im + turned.im};
            line[low + half] = {u.re - turned.re, u.im - turned.im};
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        base[i * step] = line[i];
}

// The spectrum starts at -n/2, which gives alternating signs.
__device__ inline REAL height_at(const Complex *h, int x, int y, int n)
{
    const REAL v = h[y * n + x].re;
    return (x + y) % 2 ? -v : v;
}

__global__ void surface(const Complex *h, REAL *heights, Complex *slopes, Sea sea, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    const REAL scale = REAL(n) / (REAL(2) * sea.patch);
    heights[y * n + x] = height_at(h, x, y, n);
    slopes[y * n + x] = {
        scale * (height_at(h, (x + 1) % n, y, n) - height_at(h, (x + n - 1) % n, y, n)),
        scale * (height_at(h, x, (y + 1) % n, n) - height_at(h, x, (y + n - 1) % n, n))};
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int log_n = options("log_n", 9, 11), threads = options("b", 128, 1024);
    options.done("[-log_n n] [-b threads]");

    const int n = 1 << log_n;
    const Sea sea = {REAL(200), REAL(12), REAL(2e-6)};
    const REAL t = REAL(2.5);
    Array<Complex> random(size_t(n) * n), h0(size_t(n) * n), h(size_t(n) * n), slopes(size_t(n) * n);
    Array<REAL> heights(size_t(n) * n);
    Random generator;
    for (int i = 0; i < n * n; ++i)
        random[i] = {REAL(generator.normal(0, 1)), REAL(generator.normal(0, 1))};
    random.up();

    const dim3 block(16, 16), grid(ceil_div(n, 16), ceil_div(n, 16));
    Timer timer;
    initial_spectrum<<<grid, block>>>(random.device, h0.device, sea, n);
    generate_spectrum<<<grid, block>>>(h0.device, h.device, sea, n, t);
    fft_lines<<<n, threads, n * sizeof(Complex)>>>(h.device, log_n, n, 1);
    fft_lines<<<n, threads, n * sizeof(Complex)>>>(h.device, log_n, 1, n);
    surface<<<grid, block>>>(h.device, heights.device, slopes.device, sea, n);
    const float ms = timer.stop();
    heights.down();

    // On the host from the formulas, for a few points: twice the real part of the sum over h0.
    typedef std::complex<double> C;
    const double two_pi = 6.283185307179586, g = 9.81, longest = std::pow(double(sea.wind), 2) / g;
    std::vector<C> spectrum(size_t(n) * n);
    for (int i = 0; i < n * n; ++i) {
        const int x = i % n - n / 2, y = i / n - n / 2;
        const double kx = two_pi * x / double(sea.patch), ky = two_pi * y / double(sea.patch),
            k2 = kx * kx + ky * ky;
        if (k2 > 0) {
            const double p = double(sea.amplitude) * std::exp(-1 / (k2 * longest * longest)) / (k2 * k2)
                * (kx * kx / k2) * (kx < 0 ? 0.07 : 1.0);
            spectrum[i] = C(random[i].re, random[i].im) * std::sqrt(p / 2)
                * std::exp(C(0, std::sqrt(g * std::sqrt(k2)) * double(t)));
        }
    }
    Worst worst(0.1);
    for (int at = 0; at < n * n; at += 1 + n * n / 50) {
        double sum = 0.0;
        for (int i = 0; i < n * n; ++i) {
            const int x = i % n - n / 2, y = i / n - n / 2;
            // -k of the lowest wave numbers is themselves, with alternating sign: as the transform has it.
            const double phase = two_pi * ((double(x) * (at % n) + double(y) * (at / n)) / n);
            const double minus = two_pi * ((double(x == -n / 2 ? x : -x) * (at % n)
                + double(y == -n / 2 ? y : -y) * (at / n)) / n);
            sum += (spectrum[i] * std::exp(C(0, phase))
                + std::conj(spectrum[i]) * std::exp(C(0, minus))).real();
        }
        worst.add(heights[at], sum);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-10 : 1e-3);
}
