// Normal random numbers: uniform ones from a generator of each thread, then the Box-Muller transform.
//
//   r = sqrt(-2 ln u1),   z1 = r cos(2 pi u2),   z2 = r sin(2 pi u2)
//
// The generator is the combined Tausworthe generator of three components of L'Ecuyer (Maximally
// equidistributed combined Tausworthe generators, 1996). Uniform numbers have 24 bits and are not zero, so
// single precision holds them exactly.
//
// Build: nvcc -O2 -arch=native box_muller.cu -o box_muller              (-DREAL=double for double)
// Run:   ./box_muller [-streams n, even] [-each n]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

struct State {
    unsigned a, b, c; // at least 2, 8 and 16
};

__host__ __device__ inline unsigned next_word(State &s)
{
    s.a = ((s.a & ~1u) << 12) ^ (((s.a << 13) ^ s.a) >> 19);
    s.b = ((s.b & ~7u) << 4) ^ (((s.b << 2) ^ s.b) >> 25);
    s.c = ((s.c & ~15u) << 17) ^ (((s.c << 3) ^ s.c) >> 11);
    return s.a ^ s.b ^ s.c;
}

// Number k of stream i is element k * streams + i.
__global__ void uniforms(State *states, REAL *numbers, int streams, int each)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= streams)
        return;
    State s = states[i];
    for (int k = 0; k < each; ++k)
        numbers[k * streams + i] = REAL((next_word(s) >> 8) + 1) * REAL(1.0 / 16777216.0);
    states[i] = s;
}

__device__ inline void transform(REAL &u1, REAL &u2)
{
    const REAL r = sqrt(REAL(-2) * log(u1));
    const REAL angle = REAL(6.28318530717958647693) * u2;
    u1 = r * cos(angle);
    u2 = r * sin(angle);
}

// In place; element i goes with element i + half.
__global__ void box_muller(REAL *numbers, int half)
{
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < half; i += stride) {
        REAL u1 = numbers[i], u2 = numbers[i + half];
        transform(u1, u2);
        numbers[i] = u1;
        numbers[i + half] = u2;
    }
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int streams = options("streams", 1 << 15), each = options("each", 64);
    options.done("[-streams n] [-each n]");
    const int n = streams * each, half = n / 2, threads = 128;
    if (n % 2) {
        std::fprintf(stderr, "the numbers have to be even\n");
        return EXIT_FAILURE;
    }

    Array<State> states(streams);
    Array<REAL> numbers(n);
    Random random;
    for (int i = 0; i < streams; ++i)
        states[i] = {unsigned(random.uniform(128, 4294967295.0)),
            unsigned(random.uniform(128, 4294967295.0)), unsigned(random.uniform(128, 4294967295.0))};
    states.up();

    Timer timer;
    uniforms<<<ceil_div(streams, threads), threads>>>(states.device, numbers.device, streams, each);
    box_muller<<<ceil_div(half, 4 * threads), threads>>>(numbers.device, half);
    const float ms = timer.stop();
    numbers.down();

    std::vector<double> u(n);
    for (int i = 0; i < streams; ++i) {
        State s = states[i];
        for (int k = 0; k < each; ++k)
            u[size_t(k) * streams + i] = ((next_word(s) >> 8) + 1) / 16777216.0;
    }
    Worst worst(1.0);
    double mean = 0.0, squares = 0.0;
    for (int i = 0; i < half; ++i) {
        const double r = std::sqrt(-2.0 * std::log(u[i])), angle = 6.283185307179586 * u[i + half];
        worst.add(numbers[i], r * std::cos(angle));
        worst.add(numbers[i + half], r * std::sin(angle));
        mean += (numbers[i] + numbers[i + half]) / n;
        squares += (double(numbers[i]) * numbers[i] + double(numbers[i + half]) * numbers[i + half])
            / n;
    }
    std::printf("mean %.5f, variance %.5f\n", mean, squares - mean * mean);
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-13 : 1e-5);
}
