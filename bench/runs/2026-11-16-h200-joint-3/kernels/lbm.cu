// Lattice Boltzmann, D2Q9: collide, then stream; two grids of threads that do not divide the domain.
__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ double w[9] = {4.0 / 9, 1.0 / 9, 1.0 / 9, 1.0 / 9, 1.0 / 9, 1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};
__global__ void collide(double *__restrict__ f, int nx, int ny, double omega) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int n = nx * ny, at = y * nx + x;
  double rho = 0, ux = 0, uy = 0, g[9];
  for (int k = 0; k < 9; k++) { g[k] = f[k * n + at]; rho += g[k]; ux += cx[k] * g[k]; uy += cy[k] * g[k]; }
  ux /= rho; uy /= rho;
  double u2 = 1.5 * (ux * ux + uy * uy);
  for (int k = 0; k < 9; k++) {
    double cu = 3.0 * (cx[k] * ux + cy[k] * uy);
    f[k * n + at] = g[k] - omega * (g[k] - w[k] * rho * (1.0 + cu + 0.5 * cu * cu - u2));
  }
}
__global__ void stream(const double *__restrict__ f, double *__restrict__ to, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int n = nx * ny;
  for (int k = 0; k < 9; k++) {
    int sx = (x - cx[k] + nx) % nx, sy = (y - cy[k] + ny) % ny;
    to[k * n + y * nx + x] = f[k * n + sy * nx + sx];
  }
}
