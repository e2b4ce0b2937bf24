#include "shared.h"
static __device__ int hidden = 5;
__global__ void apply(int n, double *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = scale * twice(x[i]) + hidden;
}
