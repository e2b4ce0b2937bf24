// A 17 x 17 filter over an image that is padded by its own border; block_x, block_y, tile_x, tile_y and padded are given by the compiler.
#define W 17
#define R (W / 2)
extern "C" __global__ void filter(const float *image, const float *weights, float *out, int width, int height) {
  __shared__ float part[block_y * tile_y + W - 1][block_x * tile_x + W - 1 + padded];
  int x0 = blockIdx.x * block_x * tile_x, y0 = blockIdx.y * block_y * tile_y;
  int stride = width + W - 1;
  for (int j = threadIdx.y; j < block_y * tile_y + W - 1; j += block_y)
    for (int i = threadIdx.x; i < block_x * tile_x + W - 1; i += block_x)
      if (x0 + i < width + W - 1 && y0 + j < height + W - 1) part[j][i] = image[(y0 + j) * stride + x0 + i];
  __syncthreads();
  float sum[tile_y][tile_x] = {};
  for (int j = 0; j < W; j++)
    for (int i = 0; i < W; i++) {
      float w = weights[j * W + i];
#pragma unroll
      for (int y = 0; y < tile_y; y++)
#pragma unroll
        for (int x = 0; x < tile_x; x++) sum[y][x] += w * part[threadIdx.y + y * block_y + j][threadIdx.x + x * block_x + i];
    }
  for (int y = 0; y < tile_y; y++)
    for (int x = 0; x < tile_x; x++) {
      int col = x0 + threadIdx.x + x * block_x, row = y0 + threadIdx.y + y * block_y;
      if (col < width && row < height) out[row * width + col] = sum[y][x];
    }
}
