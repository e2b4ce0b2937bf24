// Lattice Boltzmann in two dimensions, nine directions: pull, collide (BGK), store; one array a direction.
#ifndef REAL
#define REAL float
#endif

__global__ void step(const REAL *from, REAL *to, REAL omega, int nx, int ny)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const REAL w[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
    REAL f[9], rho = 0, ux = 0, uy = 0;
    for (int d = 0; d < 9; ++d) {
        const int sx = (x - dx[d] + nx) % nx, sy = (y - dy[d] + ny) % ny;
        f[d] = from[(d * ny + sy) * nx + sx];
        rho += f[d];
        ux += f[d] * dx[d];
        uy += f[d] * dy[d];
    }
    ux /= rho;
    uy /= rho;
    const REAL square = 1.5f * (ux * ux + uy * uy);
    for (int d = 0; d < 9; ++d) {
        const REAL c = 3 * (dx[d] * ux + dy[d] * uy);
        const REAL equal = w[d] * rho * (1 + c + c * c / 2 - square);
        to[(d * ny + y) * nx + x] = f[d] + omega * (equal - f[d]);
    }
}
