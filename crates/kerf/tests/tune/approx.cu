// Double precision, whose approximate forms the CPU executor has bit by bit.

__global__ void roots(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double sum = 0.0;
    for (int k = 1; k <= 4; k++)
        sum += 1.0 / (x[i] + k);
    double root = sqrt(x[i]);
    out[i] = sum + root;
}
