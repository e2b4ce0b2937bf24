// Damped update in place of positions and velocities.
__global__ void damp(double *__restrict__ x, double *__restrict__ v, int n, double dt, double damping) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double w = v[i] * (1.0 - damping * dt) - dt * x[i];
  v[i] = w;
  x[i] += dt * w;
}
