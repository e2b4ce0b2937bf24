// Through shared memory, so that both accesses are to neighbours.
extern "C" __global__ void transpose(const double *in, double *out, int rows, int cols) {
  __shared__ double tile[16][17];
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
  __syncthreads();
  c = blockIdx.x * 16 + threadIdx.y;
  r = blockIdx.y * 16 + threadIdx.x;
  if (r < rows && c < cols) out[c * rows + r] = tile[threadIdx.x][threadIdx.y];
}
