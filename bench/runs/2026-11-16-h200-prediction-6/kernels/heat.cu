// Heat in three dimensions, seven points, a conductivity that depends on the temperature, a thread a point.
#ifndef REAL
#define REAL double
#endif

__device__ REAL conductivity(REAL t)
{
    return exp(REAL(-0.5) * t) + REAL(0.1) * t;
}

__global__ void heat(const REAL *from, REAL *to, REAL dt, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z + 1;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    const int plane = nx * ny, i = z * plane + y * nx + x;
    const REAL c = from[i];
    const REAL w = from[i - 1], e = from[i + 1], n = from[i - nx], s = from[i + nx], b = from[i - plane], t = from[i + plane];
    const REAL kx = conductivity((w + e) / 2), ky = conductivity((n + s) / 2), kz = conductivity((b + t) / 2);
    to[i] = c + dt * (kx * (w - 2 * c + e) + ky * (n - 2 * c + s) + kz * (b - 2 * c + t));
}
