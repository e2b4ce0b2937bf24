// One step of a damped wave on an nx x ny grid.
__global__ void wave(const double *u, const double *before, const double *speed, double *next, int nx, int ny, double dt) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int i = y * nx + x;
  double lap = u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] - 4.0 * u[i];
  double c = speed[i] * dt;
  next[i] = 2.0 * u[i] - before[i] + c * c * lap - 0.01 * dt * (u[i] - before[i]);
}
