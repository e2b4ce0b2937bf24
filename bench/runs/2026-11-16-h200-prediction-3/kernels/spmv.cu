// Sparse matrix by vector, rows compressed, a warp a row; then a damped step of Jacobi's method.
#ifndef REAL
#define REAL double
#endif

__global__ void multiply(const int *first, const int *column, const REAL *value, const REAL *x, REAL *y, int n)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= n)
        return;
    REAL sum = 0;
    for (int k = first[row] + lane; k < first[row + 1]; k += 32)
        sum += value[k] * x[column[k]];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0)
        y[row] = sum;
}

__global__ void step(const REAL *y, const REAL *b, const REAL *diagonal, REAL *x, REAL damping, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += damping * (b[i] - y[i]) / diagonal[i];
}
