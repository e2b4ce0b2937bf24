// Sums of exponentials of a softmax in double precision: arguments from -7 to 0.

__global__ void sums(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double sum = 0.0;
    for (int k = 1; k <= 32; k++)
        sum += exp(x[i] * (1.0 / k));
    out[i] = sum;
}
