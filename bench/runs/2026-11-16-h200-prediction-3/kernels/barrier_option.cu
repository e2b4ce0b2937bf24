// Down-and-out calls by Monte Carlo: every thread walks its paths with a generator of its own.
#ifndef REAL
#define REAL double
#endif

__device__ unsigned draw(unsigned &s)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

__global__ void walk(REAL *payoff, REAL spot, REAL strike, REAL barrier, REAL rate, REAL volatility, REAL years,
                     int steps, int paths, int threads)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= threads)
        return;
    unsigned state = 747796405u * (i + 1) + 2891336453u;
    const REAL dt = years / steps;
    const REAL drift = (rate - REAL(0.5) * volatility * volatility) * dt;
    const REAL width = volatility * sqrt(dt);
    REAL sum = 0;
    for (int p = 0; p < paths; ++p) {
        REAL level = 0;
        REAL lowest = 0;
        for (int t = 0; t < steps; t += 2) {
            const REAL u = (draw(state) + REAL(0.5)) * REAL(2.3283064365386963e-10);
            const REAL v = draw(state) * REAL(2.3283064365386963e-10);
            const REAL r = sqrt(-2 * log(u));
            const REAL a = cos(REAL(6.283185307179586) * v), b = sin(REAL(6.283185307179586) * v);
            level += drift + width * r * a;
            lowest = level < lowest ? level : lowest;
            level += drift + width * r * b;
            lowest = level < lowest ? level : lowest;
        }
        const REAL end = spot * exp(level) - strike;
        sum += spot * exp(lowest) > barrier && end > 0 ? end : 0;
    }
    payoff[i] = exp(-rate * years) * sum / paths;
}
