// Upwind advection in three dimensions; at most 256 threads by its launch bounds.
__global__ void __launch_bounds__(256, 2) advect(const float *__restrict__ q, float *__restrict__ out, int nx, int ny, int nz, float c) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  size_t at = ((size_t)z * ny + y) * nx + x;
  float v = q[at];
  float l = x > 0 ? q[at - 1] : v, s = y > 0 ? q[at - nx] : v, b = z > 0 ? q[at - (size_t)nx * ny] : v;
  out[at] = v - c * ((v - l) + (v - s) + (v - b));
}
