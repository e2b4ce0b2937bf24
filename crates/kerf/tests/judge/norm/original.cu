extern "C" __global__ void squares(const double *x, double *squared, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) squared[i] = x[i] * x[i];
}
extern "C" __global__ void lengths(const double *squared, double *length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 3) length[i] = sqrt(squared[3 * i] + squared[3 * i + 1] + squared[3 * i + 2]);
}
