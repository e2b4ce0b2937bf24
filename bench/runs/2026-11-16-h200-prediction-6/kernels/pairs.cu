// Charged Lennard-Jones particles, all pairs within a cutoff, tiles in shared memory.
#ifndef REAL
#define REAL float
#endif
#define T 128

struct Particle {
    REAL x, y, z, q;
};

__global__ void forces(const Particle *all, REAL *fx, REAL *fy, REAL *fz, REAL cutoff, int n)
{
    __shared__ Particle tile[T];
    const int i = blockIdx.x * T + threadIdx.x;
    const Particle me = all[i];
    REAL x = 0, y = 0, z = 0;
    for (int first = 0; first < n; first += T) {
        __syncthreads();
        tile[threadIdx.x] = all[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            const REAL dx = me.x - tile[k].x, dy = me.y - tile[k].y, dz = me.z - tile[k].z;
            const REAL r2 = dx * dx + dy * dy + dz * dz;
            const REAL inverse = rsqrtf(r2 + REAL(1e-3)), i2 = inverse * inverse, i6 = i2 * i2 * i2;
            const REAL f = (me.q * tile[k].q * inverse + REAL(1e-6) * i6 * (2 * i6 - 1)) * i2;
            const REAL g = r2 < cutoff ? f : REAL(0);
            x += g * dx;
            y += g * dy;
            z += g * dz;
        }
    }
    fx[i] = x;
    fy[i] = y;
    fz[i] = z;
}
