// Prices of European calls and puts by the Black-Scholes formula.
//
//   d1 = (ln(S/K) + (r + v^2/2) T) / (v sqrt(T)),   d2 = d1 - v sqrt(T)
//   call = S N(d1) - K exp(-r T) N(d2)
//   put  = K exp(-r T) N(-d2) - S N(-d1)
//
// Build: nvcc -O2 -arch=native black_scholes.cu -o black_scholes        (-DREAL=float for single)
// Run:   ./black_scholes [-n options] [-b threads] [-r repeats]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#ifndef REAL
#define REAL double
#endif

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

// Standard normal distribution function. erfc keeps full relative accuracy in the lower tail,
// where 0.5 * (1 + erf(..)) would cancel.
__device__ inline REAL normal_cdf(REAL d)
{
    return REAL(0.5) * erfc(-d * REAL(0.70710678118654752440));
}

struct Price {
    REAL call;
    REAL put;
};

__device__ Price price_option(REAL s, REAL k, REAL t, REAL rate, REAL vol)
{
    REAL sd = vol * sqrt(t);
    REAL d1 = (log(s / k) + (rate + REAL(0.5) * vol * vol) * t) / sd;
    REAL d2 = d1 - sd;
    REAL discounted = k * exp(-rate * t);

    Price p;
    p.call = s * normal_cdf(d1) - discounted * normal_cdf(d2);
    p.put = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
    return p;
}

__global__ void black_scholes(const REAL *spot, const REAL *strike, const REAL *years, REAL *call,
                              REAL *put, REAL rate, REAL vol, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        Price p = price_option(spot[i], strike[i], years[i], rate, vol);
        call[i] = p.call;
        put[i] = p.put;
    }
}

static double host_cdf(double d) { return 0.5 * std::erfc(-d * 0.70710678118654752440); }

int main(int argc, char **argv)
{
    int n = 1 << 20;
    int threads = 256;
    int repeats = 10;
    for (int a = 1; a < argc; ++a) {
        if (!std::strcmp(argv[a], "-n") && a + 1 < argc) n = std::atoi(argv[++a]);
        else if (!std::strcmp(argv[a], "-b") && a + 1 < argc) threads = std::atoi(argv[++a]);
        else if (!std::strcmp(argv[a], "-r") && a + 1 < argc) repeats = std::atoi(argv[++a]);
        else {
            std::fprintf(stderr, "usage: %s [-n options] [-b threads] [-r repeats]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (n < 1 || threads < 1 || threads > 1024 || repeats < 1) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    const REAL rate = REAL(0.02);
    const REAL vol = REAL(0.30);

    std::mt19937 gen(1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::vector<REAL> spot(n), strike(n), years(n), call(n), put(n);
    for (int i = 0; i < n; ++i) {
        spot[i] = REAL(25.0 + 10.0 * unit(gen));
        strike[i] = REAL(20.0 + 20.0 * unit(gen));
        years[i] = REAL(0.25 + 1.75 * unit(gen));
    }

    const size_t bytes = size_t(n) * sizeof(REAL);
    REAL *d_spot, *d_strike, *d_years, *d_call, *d_put;
    CUDA_CHECK(cudaMalloc(&d_spot, bytes));
    CUDA_CHECK(cudaMalloc(&d_strike, bytes));
    CUDA_CHECK(cudaMalloc(&d_years, bytes));
    CUDA_CHECK(cudaMalloc(&d_call, bytes));
    CUDA_CHECK(cudaMalloc(&d_put, bytes));
    CUDA_CHECK(cudaMemcpy(d_spot, spot.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_strike, strike.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_years, years.data(), bytes, cudaMemcpyHostToDevice));

    const int blocks = (n + threads - 1) / threads;
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));

    black_scholes<<<blocks, threads>>>(d_spot, d_strike, d_years, d_call, d_put, rate, vol, n);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(start));
    for (int r = 0; r < repeats; ++r)
        black_scholes<<<blocks, threads>>>(d_spot, d_strike, d_years, d_call, d_put, rate, vol, n);
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));

    CUDA_CHECK(cudaMemcpy(call.data(), d_call, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(put.data(), d_put, bytes, cudaMemcpyDeviceToHost));

    double worst = 0.0;
    for (int i = 0; i < n; ++i) {
        double s = spot[i], k = strike[i], t = years[i], r = rate, v = vol;
        double sd = v * std::sqrt(t);
        double d1 = (std::log(s / k) + (r + 0.5 * v * v) * t) / sd;
        double d2 = d1 - sd;
        double disc = k * std::exp(-r * t);
        double c = s * host_cdf(d1) - disc * host_cdf(d2);
        double p = disc * host_cdf(-d2) - s * host_cdf(-d1);
        worst = std::fmax(worst, std::fabs(double(call[i]) - c));
        worst = std::fmax(worst, std::fabs(double(put[i]) - p));
    }
    const double limit = sizeof(REAL) == 8 ? 1e-12 : 1e-4;
    std::printf("%d options, %.4f ms per launch\n", n, ms / repeats);
    std::printf("largest absolute error %.3e (limit %.0e): %s\n", worst, limit,
                worst <= limit ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_spot));
    CUDA_CHECK(cudaFree(d_strike));
    CUDA_CHECK(cudaFree(d_years));
    CUDA_CHECK(cudaFree(d_call));
    CUDA_CHECK(cudaFree(d_put));
    return worst <= limit ? EXIT_SUCCESS : EXIT_FAILURE;
}
