// CSR matrix times vector, a warp a row; rows are of very different lengths.
__global__ void spmv(const int *__restrict__ start, const int *__restrict__ column, const double *__restrict__ value,
                     const double *__restrict__ x, double *__restrict__ y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  double s = 0;
  for (int i = start[row] + lane; i < start[row + 1]; i += 32) s += value[i] * x[column[i]];
  for (int o = 16; o > 0; o /= 2) s += __shfl_down_sync(0xffffffff, s, o);
  if (lane == 0) y[row] = s;
}
