__kernel void axpy(__global const float *x, __global const float *y, __global float *out, float a, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = fma(a, x[i], y[i]);
}
