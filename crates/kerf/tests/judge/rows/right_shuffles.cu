// A warp a row.
extern "C" __global__ void row_sums(const float *x, float *sums, int rows, int cols) {
  int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  float s = 0.0f;
  if (r < rows)
    for (int c = lane; c < cols; c += 32) s += x[r * cols + c];
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (r < rows && lane == 0) sums[r] = s;
}
