// Both kernels in one; what was between them is not needed.
extern "C" __global__ void norms(const double *x, double *length, int points) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < points) length[i] = sqrt(fma(x[3 * i], x[3 * i], fma(x[3 * i + 1], x[3 * i + 1], x[3 * i + 2] * x[3 * i + 2])));
}
