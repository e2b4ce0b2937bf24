// Price of an Asian option, which pays by the mean price of a share, from simulated paths.
//
//   S(t + dt) = S(t) exp((r - v^2/2) dt + v sqrt(dt) z),   z normal
//   price = exp(-r T) E[max(mean_t S(t) - K, 0)]
//
// generate_paths has a thread for each path, average_payoff forms the payoffs and their sums by blocks,
// price adds these up in one block.
//
// Build: nvcc -O2 -arch=native asian_paths.cu -o asian_paths            (-DREAL=double for double)
// Run:   ./asian_paths [-n paths] [-steps n]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define THREADS 128 // of the kernels that reduce; a power of two

struct Contract {
    REAL spot, strike, rate, vol, years;
};

// Element t * n + p of `normals` and `paths` is step t of path p.
__global__ void generate_paths(const REAL *normals, REAL *paths, Contract c, int n, int steps)
{
    const REAL dt = c.years / REAL(steps);
    const REAL drift = (c.rate - REAL(0.5) * c.vol * c.vol) * dt;
    const REAL diffusion = c.vol * sqrt(dt);

    const int stride = gridDim.x * blockDim.x;
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n; p += stride) {
        REAL s = c.spot;
        for (int t = 0; t < steps; ++t) {
            s *= exp(drift + diffusion * normals[t * n + p]);
            paths[t * n + p] = s;
        }
    }
}

// The sum of `value` over the block, for thread 0.
__device__ REAL block_sum(REAL value)
{
    __shared__ REAL part[THREADS];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

__global__ void average_payoff(const REAL *paths, REAL *payoffs, REAL *sums, Contract c, int n,
                               int steps)
{
    const int p = blockIdx.x * THREADS + threadIdx.x;
    REAL payoff = 0;
    if (p < n) {
        REAL sum = 0;
        for (int t = 0; t < steps; ++t)
            sum += paths[t * n + p];
        payoff = fmax(sum / REAL(steps) - c.strike, REAL(0));
        payoffs[p] = payoff;
    }
    const REAL total = block_sum(payoff);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}

// One block.
__global__ void price(const REAL *sums, REAL *value, Contract c, int n, int blocks)
{
    REAL sum = 0;
    for (int b = threadIdx.x; b < blocks; b += THREADS)
        sum += sums[b];
    const REAL total = block_sum(sum);
    if (threadIdx.x == 0)
        value[0] = exp(-c.rate * c.years) * (total / REAL(n));
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int n = options("n", 1 << 17), steps = options("steps", 87);
    options.done("[-n paths] [-steps n]");

    const Contract c = {REAL(40), REAL(40), REAL(0.03), REAL(0.2), REAL(1.0 / 3.0)};
    Array<REAL> normals(size_t(n) * steps), paths(size_t(n) * steps), payoffs(n), value(1);
    Random random;
    for (size_t i = 0; i < normals.size(); ++i)
        normals[i] = REAL(random.normal(0.0, 1.0));
    normals.up();
    const int blocks = ceil_div(n, THREADS);
    Array<REAL> sums(blocks);

    Timer timer;
    generate_paths<<<blocks, THREADS>>>(normals.device, paths.device, c, n, steps);
    average_payoff<<<blocks, THREADS>>>(paths.device, payoffs.device, sums.device, c, n, steps);
    price<<<1, THREADS>>>(sums.device, value.device, c, n, blocks);
    const float ms = timer.stop();
    payoffs.down();
    value.down();

    // On the host a path is the exponential of a sum, not a product of exponentials.
    Worst worst(1.0);
    const double rate = c.rate, vol = c.vol, dt = double(c.years) / steps;
    double total = 0.0;
    for (int p = 0; p < n; ++p) {
        double log_s = 0.0, sum = 0.0;
        for (int t = 0; t < steps; ++t) {
            log_s += (rate - 0.5 * vol * vol) * dt + vol * std::sqrt(dt) * normals[size_t(t) * n + p];
            sum += double(c.spot) * std::exp(log_s);
        }
        const double payoff = std::fmax(sum / steps - double(c.strike), 0.0);
        worst.add(payoffs[p], payoff);
        total += payoff;
    }
    worst.add(value[0], std::exp(-rate * double(c.years)) * total / n);
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-3);
}
