// Advection in three dimensions, second-order upwind with van Leer's limiter, a thread a column of z.
#ifndef REAL
#define REAL double
#endif

__device__ REAL slope(REAL a, REAL b)
{
    return a * b > 0 ? 2 * a * b / (a + b) : REAL(0);
}

__device__ REAL flux(REAL ll, REAL l, REAL r, REAL rr, REAL v, REAL c)
{
    return v > 0 ? v * (l + (1 - c) / 2 * slope(l - ll, r - l)) : v * (r - (1 + c) / 2 * slope(r - l, rr - r));
}

__global__ void advance(const REAL *q, const REAL *u, const REAL *v, const REAL *w, REAL *to, REAL dt, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || x >= nx - 2 || y < 2 || y >= ny - 2)
        return;
    const int plane = nx * ny;
    for (int z = 2; z < nz - 2; ++z) {
        const int i = z * plane + y * nx + x;
        const REAL c = q[i];
        const REAL ul = u[i], ur = u[i + 1], vl = v[i], vr = v[i + nx], wl = w[i], wr = w[i + plane];
        REAL sum = flux(q[i - 2], q[i - 1], c, q[i + 1], ul, ul * dt) - flux(q[i - 1], c, q[i + 1], q[i + 2], ur, ur * dt);
        sum += flux(q[i - 2 * nx], q[i - nx], c, q[i + nx], vl, vl * dt) - flux(q[i - nx], c, q[i + nx], q[i + 2 * nx], vr, vr * dt);
        sum += flux(q[i - 2 * plane], q[i - plane], c, q[i + plane], wl, wl * dt) - flux(q[i - plane], c, q[i + plane], q[i + 2 * plane], wr, wr * dt);
        to[i] = c + dt * sum;
    }
}
