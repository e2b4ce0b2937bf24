#include <stdio.h>
#define TILE_WIDTH 16

__global__ void matrixMul(const double *A, const double *B, double *C, int width) {
  __shared__ double sA[TILE_WIDTH][TILE_WIDTH];
  __shared__ double sB[TILE_WIDTH][TILE_WIDTH];
  int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
  int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
  double value = 0;
  for (int m = 0; m < (width + TILE_WIDTH - 1) / TILE_WIDTH; ++m) {
    sA[threadIdx.y][threadIdx.x] = (row < width && m * TILE_WIDTH + threadIdx.x < width) ? A[row * width + m * TILE_WIDTH + threadIdx.x] : 0.0;
    sB[threadIdx.y][threadIdx.x] = (col < width && m * TILE_WIDTH + threadIdx.y < width) ? B[(m * TILE_WIDTH + threadIdx.y) * width + col] : 0.0;
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k) value += sA[threadIdx.y][k] * sB[k][threadIdx.x];
    __syncthreads();
  }
  if (row < width && col < width) C[row * width + col] = value;
}
int main() { return 0; }
