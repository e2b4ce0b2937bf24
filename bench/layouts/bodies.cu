// All pairs of bodies in records of four doubles: every thread reads the same record at a time.
extern "C" __global__ void forces(const double4 *bodies, double4 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double4 me = bodies[i];
    double x = 0.0, y = 0.0, z = 0.0;
    for (int j = 0; j < n; j++) {
        double4 b = bodies[j];
        double dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
        double d2 = dx * dx + dy * dy + dz * dz + 1e-3;
        double s = b.w / (d2 * sqrt(d2));
        x += dx * s;
        y += dy * s;
        z += dz * s;
    }
    out[i] = make_double4(x, y, z, me.w);
}
