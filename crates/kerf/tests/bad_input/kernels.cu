// Kernels that are right; the cases spoil what surrounds them.
struct Pair {
    double factor;
    int count;
};

__constant__ double table[4];

__global__ void scale(double *x, double factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * factor + table[i & 3];
}

__global__ void shift(double *x, Pair p)
{
    x[threadIdx.x] += p.factor * p.count;
}
