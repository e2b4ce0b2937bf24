// Jacobi's iteration on a sparse matrix by rows, a warp a row, sums by shuffles.
#ifndef REAL
#define REAL double
#endif

__global__ void iterate(const int *first, const int *column, const REAL *value, const REAL *diagonal, const REAL *right, const REAL *x, REAL *to, int n)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n)
        return;
    REAL sum = 0;
    for (int k = first[row] + lane; k < first[row + 1]; k += 32)
        sum += value[k] * x[column[k]];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        to[row] = (right[row] - sum) / diagonal[row];
}
