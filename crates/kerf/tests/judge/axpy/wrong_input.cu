// Uses an input as scratch memory.
extern "C" __global__ void axpy(const float *x, float *y, float *out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float was = y[i];
  y[i] = a * x[i] + was;
  out[i] = y[i];
}
