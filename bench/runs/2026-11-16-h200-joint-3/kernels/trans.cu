// Transposition through a tile that is as large as the block: dynamic shared memory, sized by the launch.
extern __shared__ float tile[];
__global__ void transpose(const float *__restrict__ in, float *__restrict__ out, int rows, int cols) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < cols && y < rows) tile[threadIdx.y * (blockDim.x + 1) + threadIdx.x] = in[(size_t)y * cols + x];
  __syncthreads();
  // The tile is written by columns: each thread takes another element.
  int t = threadIdx.y * blockDim.x + threadIdx.x;
  int tx = t / blockDim.y, ty = t % blockDim.y;
  int ox = blockIdx.y * blockDim.y + ty, oy = blockIdx.x * blockDim.x + tx;
  if (ox < rows && oy < cols) out[(size_t)oy * rows + ox] = tile[ty * (blockDim.x + 1) + tx];
}
