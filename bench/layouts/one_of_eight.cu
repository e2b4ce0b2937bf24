// Particles with eight fields, of which a kernel reads one and another two.
struct Particle {
    float x, y, z, vx, vy, vz, mass, charge;
};

extern "C" __global__ void potential(const Particle *all, float *out, float field, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = all[i].charge * field;
}

extern "C" __global__ void drift(Particle *all, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    all[i].x += dt * all[i].vx;
}
