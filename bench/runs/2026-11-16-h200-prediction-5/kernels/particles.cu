// Particle in cell: the field at a particle by interpolation from eight corners of its cell, then Boris' step in a magnetic field.
#ifndef REAL
#define REAL double
#endif

__global__ void push(REAL *px, REAL *py, REAL *pz, REAL *vx, REAL *vy, REAL *vz, const REAL *field, REAL q, REAL bz, REAL dt, int side, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const REAL x = px[i], y = py[i], z = pz[i];
    const int cx = int(x), cy = int(y), cz = int(z);
    const REAL fx = x - cx, fy = y - cy, fz = z - cz;
    REAL e[3] = {0, 0, 0};
    for (int c = 0; c < 8; ++c) {
        const int ix = (cx + (c & 1)) % side, iy = (cy + (c >> 1 & 1)) % side, iz = (cz + (c >> 2)) % side;
        const REAL w = (c & 1 ? fx : 1 - fx) * (c & 2 ? fy : 1 - fy) * (c & 4 ? fz : 1 - fz);
        const int at = 3 * ((iz * side + iy) * side + ix);
        for (int d = 0; d < 3; ++d)
            e[d] += w * field[at + d];
    }
    const REAL h = q * dt / 2;
    REAL ux = vx[i] + h * e[0], uy = vy[i] + h * e[1], uz = vz[i] + h * e[2];
    const REAL t = h * bz, s = 2 * t / (1 + t * t);
    const REAL wx = ux + uy * t, wy = uy - ux * t;
    ux += wy * s;
    uy -= wx * s;
    ux += h * e[0];
    uy += h * e[1];
    uz += h * e[2];
    vx[i] = ux;
    vy[i] = uy;
    vz[i] = uz;
    REAL nx = x + dt * ux, ny = y + dt * uy, nz = z + dt * uz;
    nx -= floor(nx / side) * side;
    ny -= floor(ny / side) * side;
    nz -= floor(nz / side) * side;
    px[i] = nx;
    py[i] = ny;
    pz[i] = nz;
}
