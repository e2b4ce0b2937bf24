// Elasticity on tetrahedra, a thread an element: gradients of shape functions, strain, stress, nodal forces, all in registers.
#ifndef REAL
#define REAL double
#endif

__global__ void element_forces(const REAL *node, const REAL *move, const int *corner, REAL *force, REAL lambda, REAL mu, int n)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n)
        return;
    REAL x[4][3], u[4][3];
    for (int a = 0; a < 4; ++a) {
        const int c = corner[a * n + e];
        for (int d = 0; d < 3; ++d) {
            x[a][d] = node[3 * c + d];
            u[a][d] = move[3 * c + d];
        }
    }
    REAL j[3][3], h[3][3];
    for (int a = 0; a < 3; ++a)
        for (int d = 0; d < 3; ++d) {
            j[a][d] = x[a + 1][d] - x[0][d];
            h[a][d] = u[a + 1][d] - u[0][d];
        }
    REAL c[3][3];
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            const int a1 = (a + 1) % 3, a2 = (a + 2) % 3, b1 = (b + 1) % 3, b2 = (b + 2) % 3;
            c[b][a] = j[a1][b1] * j[a2][b2] - j[a1][b2] * j[a2][b1];
        }
    const REAL det = j[0][0] * c[0][0] + j[0][1] * c[1][0] + j[0][2] * c[2][0];
    const REAL inverse = 1 / det;
    REAL g[3][3];
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            REAL s = 0;
            for (int k = 0; k < 3; ++k)
                s += c[a][k] * h[k][b];
            g[a][b] = s * inverse;
        }
    REAL strain[3][3], trace = 0;
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            REAL s = g[a][b] + g[b][a];
            for (int k = 0; k < 3; ++k)
                s += g[a][k] * g[b][k];
            strain[a][b] = s / 2;
        }
    for (int a = 0; a < 3; ++a)
        trace += strain[a][a];
    REAL stress[3][3];
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
            stress[a][b] = 2 * mu * strain[a][b] + (a == b ? lambda * trace : REAL(0));
    const REAL volume = sqrt(det * det) / 6;
    for (int k = 0; k < 3; ++k)
        for (int d = 0; d < 3; ++d) {
            REAL s = 0;
            for (int b = 0; b < 3; ++b)
                s += c[b][k] * stress[b][d];
            force[(3 * k + d) * n + e] = s * inverse * volume;
        }
}
