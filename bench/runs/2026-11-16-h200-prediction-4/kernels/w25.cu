// Wave equation with a 25-point star, eighth order in space: two time levels, the new one written over the old.
__constant__ double c[5] = {-2.8472222, 1.6, -0.2, 0.025396825, -0.0017857143};
__global__ void wave25(const double *__restrict__ u, double *__restrict__ v, int nx, int ny, int nz, double k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 4 || y < 4 || z < 4 || x >= nx - 4 || y >= ny - 4 || z >= nz - 4) return;
  size_t sy = nx, sz = (size_t)nx * ny, i = z * sz + y * sy + x;
  double s = 3.0 * c[0] * u[i];
  for (int r = 1; r <= 4; r++)
    s += c[r] * (u[i - r] + u[i + r] + u[i - r * sy] + u[i + r * sy] + u[i - r * sz] + u[i + r * sz]);
  v[i] = 2.0 * u[i] - v[i] + k * s;
}
