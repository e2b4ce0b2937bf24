// Many systems of six unknowns: Cholesky and both triangles in registers, a thread a system, entries side by side.
#ifndef REAL
#define REAL double
#endif
#define N 6

__global__ void solve(const REAL *matrix, const REAL *right, REAL *solution, int systems)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems)
        return;
    REAL a[N][N], b[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        b[i] = right[i * systems + s];
#pragma unroll
        for (int j = 0; j <= i; ++j)
            a[i][j] = matrix[(i * (i + 1) / 2 + j) * systems + s];
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
        REAL d = a[j][j];
#pragma unroll
        for (int k = 0; k < j; ++k)
            d -= a[j][k] * a[j][k];
        d = sqrt(d);
        a[j][j] = d;
#pragma unroll
        for (int i = j + 1; i < N; ++i) {
            REAL v = a[i][j];
#pragma unroll
            for (int k = 0; k < j; ++k)
                v -= a[i][k] * a[j][k];
            a[i][j] = v / d;
        }
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
#pragma unroll
        for (int k = 0; k < i; ++k)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
#pragma unroll
    for (int i = N - 1; i >= 0; --i) {
#pragma unroll
        for (int k = i + 1; k < N; ++k)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
        solution[i * systems + s] = b[i];
    }
}
