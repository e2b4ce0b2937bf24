// Many small systems: LU without pivots of 16 by 16 in shared memory, 16 by 16 threads a matrix, then both triangles.
#ifndef REAL
#define REAL double
#endif
#define N 16

__global__ void solve(const REAL *matrix, const REAL *right, REAL *solution)
{
    __shared__ REAL a[N][N];
    __shared__ REAL b[N];
    const int x = threadIdx.x, y = threadIdx.y, m = blockIdx.x;
    a[y][x] = matrix[(m * N + y) * N + x];
    if (y == 0)
        b[x] = right[m * N + x];
    __syncthreads();
    for (int k = 0; k < N - 1; ++k) {
        if (x == 0 && y > k)
            a[y][k] /= a[k][k];
        __syncthreads();
        if (y > k && x > k)
            a[y][x] -= a[y][k] * a[k][x];
        __syncthreads();
    }
    for (int k = 0; k < N; ++k) {
        if (y == 0 && x > k)
            b[x] -= a[x][k] * b[k];
        __syncthreads();
    }
    for (int k = N - 1; k >= 0; --k) {
        if (y == 0 && x == k)
            b[k] /= a[k][k];
        __syncthreads();
        if (y == 0 && x < k)
            b[x] -= a[x][k] * b[k];
        __syncthreads();
    }
    if (y == 0)
        solution[m * N + x] = b[x];
}
