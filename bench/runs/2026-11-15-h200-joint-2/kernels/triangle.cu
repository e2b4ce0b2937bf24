// Strictly lower triangle of a matrix times a vector: row i has i terms.
__global__ void tri_mv(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y, int n, int band) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0.0f;
  int terms = (int)((long long)i * band / n);
  for (int j = 0; j < terms; j++) s += a[(i + j) % n] * x[j];
  y[i] = s;
}
