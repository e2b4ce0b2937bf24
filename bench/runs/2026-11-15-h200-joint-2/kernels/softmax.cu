// One block for each row.
template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) softmax_rows(const float *__restrict__ in, float *__restrict__ out, int cols) {
  __shared__ float part[BLOCK / 32];
  const float *row = in + (size_t)blockIdx.x * cols;
  float m = -3.4e38f;
  for (int c = threadIdx.x; c < cols; c += BLOCK) m = fmaxf(m, row[c]);
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = m;
  __syncthreads();
  m = part[0];
  for (int w = 1; w < BLOCK / 32; w++) m = fmaxf(m, part[w]);
  __syncthreads();
  float s = 0.0f;
  for (int c = threadIdx.x; c < cols; c += BLOCK) s += __expf(row[c] - m);
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  s = 0.0f;
  for (int w = 0; w < BLOCK / 32; w++) s += part[w];
  for (int c = threadIdx.x; c < cols; c += BLOCK) out[(size_t)blockIdx.x * cols + c] = __expf(row[c] - m) / s;
}
template __global__ void softmax_rows<256>(const float *, float *, int);
