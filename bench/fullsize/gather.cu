// Forces on particles from lists of their neighbours: one thread a particle, one gather a neighbour.
extern "C" __global__ void gather(const double4 *position, const int *neighbours, double4 *force, int n, int width,
                                  double cutoff2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double4 p = position[i];
  double4 f = {0.0, 0.0, 0.0, 0.0};
  for (int k = 0; k < width; ++k) {
    // Lists are stored neighbour by neighbour, so that the threads of a warp read side by side.
    double4 q = position[neighbours[(long)k * n + i]];
    double dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z;
    double r2 = dx * dx + dy * dy + dz * dz;
    if (r2 < cutoff2 && r2 > 0.0) {
      double s = 1.0 / r2;
      double s3 = s * s * s;
      double w = s * s3 * (s3 - 0.5) * q.w;
      f.x += w * dx;
      f.y += w * dy;
      f.z += w * dz;
      f.w += s3 * (s3 - 1.0) * q.w;
    }
  }
  force[i] = f;
}
