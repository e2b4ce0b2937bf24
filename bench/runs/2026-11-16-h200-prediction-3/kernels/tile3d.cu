// Waves in three dimensions, fourth order in space: planes go through shared memory, the axis through registers.
#ifndef REAL
#define REAL double
#endif
#define BX 32
#define BY 8
#define R 2

__global__ void wave(const REAL *u, const REAL *before, const REAL *speed, REAL *after, REAL c0, REAL c1, REAL c2,
                     int nx, int ny, int nz)
{
    __shared__ REAL plane[BY + 2 * R][BX + 2 * R];
    const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
    const int tx = threadIdx.x + R, ty = threadIdx.y + R;
    const int wide = nx + 2 * R;
    const int layer = wide * (ny + 2 * R);
    int at = (y + R) * wide + x + R;
    REAL back2 = u[at], back1 = u[at + layer], here = u[at + 2 * layer], front1 = u[at + 3 * layer];
    for (int z = 0; z < nz; ++z) {
        const int k = at + (z + R) * layer;
        const REAL front2 = u[k + 2 * layer];
        __syncthreads();
        plane[ty][tx] = here;
        if (threadIdx.x < R) {
            plane[ty][threadIdx.x] = u[k - R];
            plane[ty][tx + BX] = u[k + BX];
        }
        if (threadIdx.y < R) {
            plane[threadIdx.y][tx] = u[k - R * wide];
            plane[ty + BY][tx] = u[k + BY * wide];
        }
        __syncthreads();
        const REAL near = plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] + back1 + front1;
        const REAL far = plane[ty][tx - 2] + plane[ty][tx + 2] + plane[ty - 2][tx] + plane[ty + 2][tx] + back2 + front2;
        const REAL laplacian = c0 * here + c1 * near + c2 * far;
        after[k] = 2 * here - before[k] + speed[k] * laplacian;
        back2 = back1;
        back1 = here;
        here = front1;
        front1 = front2;
    }
}
