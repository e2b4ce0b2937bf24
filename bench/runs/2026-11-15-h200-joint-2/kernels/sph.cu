#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>
typedef double real;
struct Particle { real x, y, z, m; };
__device__ __forceinline__ real w(real r, real h) {
    real q = r / h;
    if (q >= 2.0) return 0.0;
    real t = 1.0 - 0.5 * q;
    real t2 = t * t;
    return 21.0 / (16.0 * M_PI * h * h * h) * t2 * t2 * (2.0 * q + 1.0);
}
__global__ void density(const Particle* __restrict__ p, const int* __restrict__ start, const int* __restrict__ list,
                        real* __restrict__ rho, int n, real h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle a = p[i];
    real s = 0;
    for (int k = start[i]; k < start[i + 1]; ++k) {
        Particle b = p[list[k]];
        real dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
        s += b.m * w(sqrt(dx * dx + dy * dy + dz * dz), h);
    }
    rho[i] = s;
}
