// A block a row; a barrier is missing between the rounds.
extern "C" __global__ void row_sums(const float *x, float *sums, int rows, int cols) {
  __shared__ float part[64];
  int r = blockIdx.x, t = threadIdx.x;
  float s = 0.0f;
  for (int c = t; c < cols; c += 64) s += x[r * cols + c];
  part[t] = s;
  __syncthreads();
  for (int step = 32; step > 0; step /= 2)
    if (t < step) part[t] += part[t + step];
  if (t == 0) sums[r] = part[0];
}
