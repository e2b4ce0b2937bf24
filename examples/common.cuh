// What the host parts of the examples share: arrays on both sides, options, random numbers, a timer and
// the verdict. Kernels use nothing of it.

#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

static inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

// An array on the host and its twin on the device, both zero at first.
template <class T> class Array {
  public:
    explicit Array(size_t n) : device(nullptr), host(n)
    {
        CUDA_CHECK(cudaMalloc(&device, n * sizeof(T)));
        CUDA_CHECK(cudaMemset(device, 0, n * sizeof(T)));
    }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array() { cudaFree(device); }

    T &operator[](size_t i) { return host[i]; }
    const T &operator[](size_t i) const { return host[i]; }
    size_t size() const { return host.size(); }
    void up() { CUDA_CHECK(cudaMemcpy(device, host.data(), bytes(), cudaMemcpyHostToDevice)); }
    void down() { CUDA_CHECK(cudaMemcpy(host.data(), device, bytes(), cudaMemcpyDeviceToHost)); }
    void swap(Array &other) { std::swap(device, other.device); }

    T *device;

  private:
    size_t bytes() const { return host.size() * sizeof(T); }
    std::vector<T> host;
};

// Options are pairs `-name value` of positive integers.
class Options {
  public:
    Options(int argc, char **argv) : argc(argc), argv(argv) {}

    int operator()(const char *name, int value, int most = 1 << 30)
    {
        for (int a = 1; a + 1 < argc; a += 2)
            if (argv[a][0] == '-' && !std::strcmp(argv[a] + 1, name)) {
                value = std::atoi(argv[a + 1]);
                ++used;
            }
        if (value < 1 || value > most) {
            std::fprintf(stderr, "-%s has to be 1 to %d\n", name, most);
            std::exit(EXIT_FAILURE);
        }
        return value;
    }
    // After the last of them: nothing may be left over.
    void done(const char *usage) const
    {
        if (2 * used + 1 != argc) {
            std::fprintf(stderr, "usage: %s %s\n", argv[0], usage);
            std::exit(EXIT_FAILURE);
        }
    }

  private:
    int argc;
    char **argv;
    int used = 0;
};

class Random {
  public:
    double uniform(double a, double b) { return a + (b - a) * unit(gen); }
    double normal(double mean, double sd) { return mean + sd * gauss(gen); }

  private:
    std::mt19937 gen{1};
    std::uniform_real_distribution<double> unit{0.0, 1.0};
    std::normal_distribution<double> gauss{0.0, 1.0};
};

// Milliseconds on the device from its creation to `stop`.
class Timer {
  public:
    Timer()
    {
        CUDA_CHECK(cudaEventCreate(&begin));
        CUDA_CHECK(cudaEventCreate(&end));
        CUDA_CHECK(cudaEventRecord(begin));
    }
    Timer(const Timer &) = delete;
    Timer &operator=(const Timer &) = delete;
    ~Timer()
    {
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
    }
    float stop()
    {
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaEventRecord(end));
        CUDA_CHECK(cudaEventSynchronize(end));
        float ms = 0.0f;
        CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms;
    }

  private:
    cudaEvent_t begin, end;
};

// The largest error of a comparison, relative to at least `floor`.
class Worst {
  public:
    explicit Worst(double floor) : floor(floor) {}
    void add(double got, double want)
    {
        const double e = std::fabs(got - want) / std::fmax(std::fabs(want), floor);
        if (!(e <= worst))
            worst = e; // a NaN stays
    }
    // Prints the verdict and returns the exit status.
    int report(float ms, double limit) const
    {
        const bool ok = worst <= limit;
        std::printf("%.3f ms, largest relative error %.3e (limit %.0e): %s\n", ms, worst, limit,
                    ok ? "PASSED" : "FAILED");
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
    }

  private:
    double floor;
    double worst = 0.0;
};
