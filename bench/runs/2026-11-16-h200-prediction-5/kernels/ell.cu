// Sparse matrix by vector in ELL format, a thread a row, columns of the matrix one after the other; then a step of conjugate gradients' kind.
#ifndef REAL
#define REAL double
#endif

__global__ void multiply(const int *column, const REAL *value, const REAL *x, REAL *y, int n, int each)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    REAL sum = 0;
    for (int k = 0; k < each; ++k) {
        const int c = column[k * n + row];
        if (c >= 0)
            sum += value[k * n + row] * x[c];
    }
    y[row] = sum;
}

__global__ void relax(const REAL *y, const REAL *b, REAL *x, REAL damping, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += damping * (b[i] - y[i]);
}
