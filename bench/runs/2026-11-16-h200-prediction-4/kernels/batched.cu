// Small matrices multiplied, one to a block: C_b = A_b B_b, 16 x 16, in shared memory.
__global__ void batched(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ c) {
  __shared__ double s[16][17], t[16][17];
  size_t at = (size_t)blockIdx.x * 256 + threadIdx.y * 16 + threadIdx.x;
  s[threadIdx.y][threadIdx.x] = a[at];
  t[threadIdx.y][threadIdx.x] = b[at];
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < 16; k++) sum += s[threadIdx.y][k] * t[k][threadIdx.x];
  c[at] = sum;
}
