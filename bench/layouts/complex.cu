// Interleaved complex numbers, indexed as an array of floats: a product, and the sum of squares of the parts by a loop over them.
extern "C" __global__ void multiply(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float ar = a[2 * i], ai = a[2 * i + 1], br = b[2 * i], bi = b[2 * i + 1];
    c[2 * i] = ar * br - ai * bi;
    c[2 * i + 1] = ar * bi + ai * br;
}

extern "C" __global__ void power(const float *c, float *p, int n, int parts) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < parts; k++) sum += c[2 * i + k] * c[2 * i + k];
    p[i] = sum;
}
