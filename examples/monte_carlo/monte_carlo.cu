// Prices of European calls by Monte Carlo integration, one block for each option.
//
//   payoff = max(S exp((r - v^2/2) T + v sqrt(T) z) - K, 0),   z normal
//   price = exp(-r T) mean(payoff),   half width of the 95 % interval = exp(-r T) 1.96 sd / sqrt(n)
//
// All options use the same normal numbers. The sums go through a tree in dynamic shared memory.
//
// Build: nvcc -O2 -arch=native monte_carlo.cu -o monte_carlo            (-DREAL=double for double)
// Run:   ./monte_carlo [-options n] [-paths n] [-b threads, a power of two]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

struct Contract {
    REAL spot, strike, years;
};

struct Estimate {
    REAL price, half_width;
};

struct Sums {
    REAL first, second; // of the payoffs and of their squares
};

__device__ inline REAL end_payoff(REAL spot, REAL strike, REAL drift, REAL spread, REAL z)
{
    const REAL payoff = spot * exp(drift + spread * z) - strike;
    return payoff > REAL(0) ? payoff : REAL(0);
}

__global__ void price_options(const Contract *contracts, const REAL *normals, Estimate *estimates,
                              REAL rate, REAL vol, int paths)
{
    extern __shared__ Sums sums[];

    const Contract c = contracts[blockIdx.x];
    const REAL drift = (rate - REAL(0.5) * vol * vol) * c.years;
    const REAL spread = vol * sqrt(c.years);

    Sums s = {0, 0};
    for (int i = threadIdx.x; i < paths; i += blockDim.x) {
        const REAL payoff = end_payoff(c.spot, c.strike, drift, spread, __ldg(normals + i));
        s.first += payoff;
        s.second += payoff * payoff;
    }
    sums[threadIdx.x] = s;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x].first += sums[threadIdx.x + half].first;
            sums[threadIdx.x].second += sums[threadIdx.x + half].second;
        }
        __syncthreads();
    }

    if (threadIdx.x == 0) {
        const REAL n = REAL(paths);
        const REAL mean = sums[0].first / n;
        const REAL variance = (sums[0].second - sums[0].first * mean) / (n - REAL(1));
        const REAL discount = exp(-rate * c.years);
        estimates[blockIdx.x].price = discount * mean;
        estimates[blockIdx.x].half_width = discount * REAL(1.96) * sqrt(variance / n);
    }
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int count = options("options", 256), paths = options("paths", 1 << 16);
    const int threads = options("b", 256, 1024);
    options.done("[-options n] [-paths n] [-b threads]");
    if (threads & (threads - 1) || paths < 2) {
        std::fprintf(stderr, "threads have to be a power of two, paths 2 or more\n");
        return EXIT_FAILURE;
    }

    const REAL rate = REAL(0.06), vol = REAL(0.10);
    Array<Contract> contracts(count);
    Array<REAL> normals(paths);
    Array<Estimate> estimates(count);
    Random random;
    for (int i = 0; i < count; ++i)
        contracts[i] = {REAL(random.uniform(20, 50)), REAL(random.uniform(20, 40)),
            REAL(random.uniform(1, 3))};
    for (int i = 0; i < paths; ++i)
        normals[i] = REAL(random.normal(0.0, 1.0));
    contracts.up();
    normals.up();

    Timer timer;
    const size_t shared = threads * sizeof(Sums);
    price_options<<<count, threads, shared>>>(contracts.device, normals.device, estimates.device, rate,
        vol, paths);
    const float ms = timer.stop();
    estimates.down();

    Worst worst(0.1);
    for (int o = 0; o < count; ++o) {
        const double s = contracts[o].spot, k = contracts[o].strike, t = contracts[o].years;
        const double r = rate, v = vol;
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < paths; ++i) {
            const double end = s * std::exp((r - 0.5 * v * v) * t + v * std::sqrt(t) * normals[i]);
            sum += std::fmax(end - k, 0.0);
            squares += std::pow(std::fmax(end - k, 0.0), 2);
        }
        const double variance = (squares - sum * sum / paths) / (paths - 1.0);
        worst.add(estimates[o].price, std::exp(-r * t) * sum / paths);
        worst.add(estimates[o].half_width, std::exp(-r * t) * 1.96 * std::sqrt(variance / paths));
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-3);
}
