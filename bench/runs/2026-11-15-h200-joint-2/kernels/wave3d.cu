// Acoustic wave, second order in time, fourth in space, a 3D grid of threads.
__global__ void wave3d(const float *__restrict__ now, const float *__restrict__ before, const float *__restrict__ speed,
                       float *__restrict__ next, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  size_t at = ((size_t)z * ny + y) * nx + x;
  if (x < 2 || y < 2 || z < 2 || x >= nx - 2 || y >= ny - 2 || z >= nz - 2) { next[at] = now[at]; return; }
  size_t sy = nx, sz = (size_t)nx * ny;
  float l = -7.5f * now[at];
  l += 1.3333333f * (now[at - 1] + now[at + 1] + now[at - sy] + now[at + sy] + now[at - sz] + now[at + sz]);
  l -= 0.083333333f * (now[at - 2] + now[at + 2] + now[at - 2 * sy] + now[at + 2 * sy] + now[at - 2 * sz] + now[at + 2 * sz]);
  next[at] = 2.0f * now[at] - before[at] + speed[at] * l;
}
