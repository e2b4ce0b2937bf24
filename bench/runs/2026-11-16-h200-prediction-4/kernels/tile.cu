// Transposition through a padded 32 x 32 tile, four rows to a thread.
__global__ __launch_bounds__(256) void tile(const float *__restrict__ in, float *__restrict__ out, int n) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int r = 0; r < 32; r += 8) t[threadIdx.y + r][threadIdx.x] = in[(size_t)(y + r) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int r = 0; r < 32; r += 8) out[(size_t)(y + r) * n + x] = t[threadIdx.x][threadIdx.y + r];
}
