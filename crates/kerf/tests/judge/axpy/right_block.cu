// Another block shape, by a workload file of its own.
extern "C" __global__ void __launch_bounds__(64) axpy(const float *x, const float *y, float *out, float a, int n) {
  int i = (blockIdx.y * gridDim.x + blockIdx.x) * 64 + threadIdx.y * 32 + threadIdx.x;
  if (i < n) out[i] = __fadd_rn(__fmul_rn(a, x[i]), y[i]);
}
