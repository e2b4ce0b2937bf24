__global__ void waves(const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = expf(-x[i]) * sinf(x[i]);
        s /= 1.0f + x[i];
        out[i] = s;
    }
}
