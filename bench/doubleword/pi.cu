// pi = 4 * integral of 1 / (1 + x^2) over [0, 1] by the midpoint rule: the operations that NVIDIA's CCCL times its pairs of float with.
__global__ void pi(double *out, int terms)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double width = 1.0 / ((double)gridDim.x * blockDim.x * terms);
    double sum = 0;
    for (int j = 0; j < terms; ++j) {
        double x = ((double)(i * terms + j) + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    out[i] = sum * width;
}
