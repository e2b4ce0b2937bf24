extern "C" __global__ void row_sums(const float *x, float *sums, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int c = 0; c < cols; ++c) s += x[r * cols + c];
  sums[r] = s;
}
