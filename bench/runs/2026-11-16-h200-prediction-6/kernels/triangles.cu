// Stiffness of quadratic triangles by six points of quadrature with a coefficient, gathered corners, a thread an element.
#ifndef REAL
#define REAL double
#endif

__constant__ REAL point[6][3] = {{0.108103018168070, 0.445948490915965, 0.223381589678011}, {0.445948490915965, 0.445948490915965, 0.223381589678011},
    {0.445948490915965, 0.108103018168070, 0.223381589678011}, {0.816847572980459, 0.091576213509771, 0.109951743655322},
    {0.091576213509771, 0.091576213509771, 0.109951743655322}, {0.091576213509771, 0.816847572980459, 0.109951743655322}};

__global__ void stiffness(const REAL *x, const REAL *y, const int *corner, REAL *out, int elements)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements)
        return;
    const int a = corner[e], b = corner[elements + e], c = corner[2 * elements + e];
    const REAL xa = x[a], ya = y[a], xb = x[b] - xa, yb = y[b] - ya, xc = x[c] - xa, yc = y[c] - ya;
    const REAL det = xb * yc - xc * yb, inverse = 1 / det;
    const REAL rx = yc * inverse, ry = -xc * inverse, sx = -yb * inverse, sy = xb * inverse;
    REAL sum[21];
#pragma unroll
    for (int k = 0; k < 21; ++k)
        sum[k] = 0;
    for (int q = 0; q < 6; ++q) {
        const REAL r = point[q][0], s = point[q][1], t = 1 - r - s;
        const REAL px = xa + r * xb + s * xc, py = ya + r * yb + s * yc;
        const REAL w = point[q][2] * det / 2 * (1 + sqrt(px * px + py * py));
        const REAL dr[6] = {1 - 4 * t, 4 * r - 1, 0, 4 * (t - r), 4 * s, -4 * s}, ds[6] = {1 - 4 * t, 0, 4 * s - 1, -4 * r, 4 * r, 4 * (t - s)};
        REAL gx[6], gy[6];
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            gx[k] = dr[k] * rx + ds[k] * sx;
            gy[k] = dr[k] * ry + ds[k] * sy;
        }
#pragma unroll
        for (int i = 0; i < 6; ++i)
#pragma unroll
            for (int j = 0; j <= i; ++j)
                sum[i * (i + 1) / 2 + j] += w * (gx[i] * gx[j] + gy[i] * gy[j]);
    }
#pragma unroll
    for (int k = 0; k < 21; ++k)
        out[k * elements + e] = sum[k];
}
