struct Box { double lx, ly, lz, cut2; };
__device__ __forceinline__ double pbc(double d, double l) { return d - l * rint(d / l); }
extern "C" __global__ __launch_bounds__(128) void lj_forces(const double4 *__restrict__ pos, double4 *__restrict__ frc,
     const int *__restrict__ nbr, const int *__restrict__ nn, int n, int maxn, Box b, double eps, double sig6) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double4 p = pos[i];
  double fx = 0, fy = 0, fz = 0, e = 0;
  for (int k = 0; k < nn[i]; ++k) {
    int j = nbr[k * n + i];
    double4 q = pos[j];
    double dx = pbc(p.x - q.x, b.lx), dy = pbc(p.y - q.y, b.ly), dz = pbc(p.z - q.z, b.lz);
    double r2 = dx * dx + dy * dy + dz * dz;
    if (r2 < b.cut2 && r2 > 1e-4) {
      double ir2 = 1.0 / r2, ir6 = ir2 * ir2 * ir2 * sig6;
      double ff = 48.0 * eps * ir6 * (ir6 - 0.5) * ir2;
      fx += ff * dx; fy += ff * dy; fz += ff * dz;
      e += 4.0 * eps * ir6 * (ir6 - 1.0);
    }
  }
  frc[i] = make_double4(fx, fy, fz, e);
}
