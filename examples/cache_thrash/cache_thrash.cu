// Weighted moving mean and volatility of many channels, laid out so that caches thrash: a study object
// for block sizes, not a model.
//
//   m += a (x - m),   v = (1 - a) (v + a (x - m)^2),   score = |x - m| / (sqrt(v) + eps)
//
// A channel is contiguous and has one thread, so every load of a warp touches 32 lines, each of which is
// wanted again by the next samples. With few threads on a multiprocessor the lines are still in its
// cache then; with many they are not. `score` keeps the largest of the channel.
//
// Build: nvcc -O2 -arch=native cache_thrash.cu -o cache_thrash          (-DREAL=float for single)
// Run:   ./cache_thrash [-channels n] [-samples n] [-b threads]

#include "../common.cuh"

#ifndef REAL
#define REAL double
#endif

struct Moments {
    REAL mean, volatility, score;
};

__global__ void moving_moments(const REAL *x, Moments *moments, int channels, int samples, REAL a)
{
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels)
        return;
    const REAL *row = x + c * samples;
    REAL mean = row[0], variance = 0, score = 0;
    for (int t = 1; t < samples; ++t) {
        const REAL d = row[t] - mean;
        score = fmax(score, fabs(d) / (sqrt(variance) + REAL(1)));
        mean += a * d;
        variance = (REAL(1) - a) * (variance + a * d * d);
    }
    moments[c] = {mean, sqrt(variance), score};
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int channels = options("channels", 1 << 15), samples = options("samples", 256);
    const int threads = options("b", 128, 1024);
    options.done("[-channels n] [-samples n] [-b threads]");

    Array<REAL> x(size_t(channels) * samples);
    Array<Moments> moments(channels);
    Random random;
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = REAL(random.normal(20.0, 0.5));
    x.up();

    const REAL a = REAL(0.06);
    Timer timer;
    const int blocks = ceil_div(channels, threads);
    moving_moments<<<blocks, threads>>>(x.device, moments.device, channels, samples, a);
    const float ms = timer.stop();
    moments.down();

    // The mean on the host as a sum with the weights written out.
    Worst worst(0.1);
    for (int c = 0; c < channels; c += 5) {
        double m = x[size_t(c) * samples], v = 0, mean = m * std::pow(1.0 - a, samples - 1);
        for (int t = 1; t < samples; ++t) {
            const double at = x[size_t(c) * samples + t], d = at - m;
            mean += a * std::pow(1.0 - a, samples - 1 - t) * at;
            m += a * d;
            v = (1.0 - a) * v + a * (1.0 - a) * d * d;
        }
        worst.add(moments[c].mean, mean);
        worst.add(moments[c].volatility, std::sqrt(v));
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-4);
}
