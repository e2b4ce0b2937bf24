// Lennard-Jones forces over lists of neighbours, a thread an atom; then a step in time.
#ifndef REAL
#define REAL double
#endif

__global__ void forces(const REAL *x, const REAL *y, const REAL *z, const int *list, REAL *fx, REAL *fy, REAL *fz,
                       REAL cut, int each, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const REAL px = x[i], py = y[i], pz = z[i];
    REAL ax = 0, ay = 0, az = 0;
    for (int k = 0; k < each; ++k) {
        const int j = list[k * n + i];
        const REAL dx = px - x[j], dy = py - y[j], dz = pz - z[j];
        const REAL r2 = dx * dx + dy * dy + dz * dz + REAL(0.5);
        if (r2 < cut) {
            const REAL inverse = 1 / r2;
            const REAL r6 = inverse * inverse * inverse;
            const REAL f = inverse * r6 * (48 * r6 - 24);
            ax += f * dx;
            ay += f * dy;
            az += f * dz;
        }
    }
    fx[i] = ax;
    fy[i] = ay;
    fz[i] = az;
}

__global__ void move(REAL *x, REAL *v, const REAL *f, REAL dt, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        v[i] += dt * f[i];
        x[i] += dt * v[i];
    }
}
