// Ewald's sum: the near part with erfc over tiles in shared memory, the far part over wave vectors in constant order.
#ifndef REAL
#define REAL double
#endif
#define T 128

struct Charge {
    REAL x, y, z, q;
};

__global__ void near_part(const Charge *all, REAL *potential, REAL alpha, REAL cutoff, int n)
{
    __shared__ Charge tile[T];
    const int i = blockIdx.x * T + threadIdx.x;
    const Charge me = all[i];
    REAL sum = 0;
    for (int first = 0; first < n; first += T) {
        tile[threadIdx.x] = all[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            REAL dx = me.x - tile[k].x, dy = me.y - tile[k].y, dz = me.z - tile[k].z;
            dx -= rint(dx);
            dy -= rint(dy);
            dz -= rint(dz);
            const REAL r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < cutoff * cutoff && r2 > 0) {
                const REAL r = sqrt(r2);
                sum += tile[k].q * erfc(alpha * r) / r;
            }
        }
        __syncthreads();
    }
    potential[i] = sum;
}

__global__ void far_part(const Charge *all, const REAL *wave, REAL *potential, int n, int waves)
{
    const int i = blockIdx.x * T + threadIdx.x;
    const Charge me = all[i];
    REAL sum = 0;
    for (int k = 0; k < waves; ++k) {
        const REAL phase = wave[5 * k] * me.x + wave[5 * k + 1] * me.y + wave[5 * k + 2] * me.z;
        sum += wave[5 * k + 3] * cospi(2 * phase) + wave[5 * k + 4] * sinpi(2 * phase);
    }
    potential[i] += sum;
}
