// Call options under Heston's model: paths with a random variance, Box-Muller normals, a thread some paths.
#ifndef REAL
#define REAL double
#endif

__device__ unsigned next(unsigned &s)
{
    s = s * 1664525u + 1013904223u;
    unsigned h = s ^ (s >> 16);
    h *= 0x7feb352du;
    return h ^ (h >> 15);
}

__global__ void heston(REAL *price, REAL spot, REAL strike, REAL rate, REAL kappa, REAL theta, REAL xi, REAL rho, int steps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = i * 2654435761u + 12345u;
    const REAL dt = REAL(1) / steps, root = sqrt(dt);
    REAL x = log(spot), v = theta;
    for (int t = 0; t < steps; ++t) {
        const REAL u1 = (next(s) + REAL(0.5)) * REAL(2.3283064365386963e-10), u2 = next(s) * REAL(2.3283064365386963e-10);
        const REAL r = sqrt(-2 * log(u1)), z1 = r * cospi(2 * u2), z2 = rho * z1 + sqrt(1 - rho * rho) * (r * sinpi(2 * u2));
        const REAL w = sqrt(v > 0 ? v : REAL(0));
        x += (rate - v / 2) * dt + w * root * z1;
        v += kappa * (theta - v) * dt + xi * w * root * z2;
    }
    const REAL end = exp(x);
    price[i] = exp(-rate) * (end > strike ? end - strike : REAL(0));
}
