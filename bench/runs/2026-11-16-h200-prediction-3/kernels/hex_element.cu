// Laplace's operator on hexahedra with 8^3 nodes each: derivatives by a small matrix, metric terms, derivatives back.
#ifndef REAL
#define REAL double
#endif
#define P 8

__global__ void apply(const REAL *u, const REAL *metric, const REAL *derivative, REAL *w)
{
    __shared__ REAL d[P][P];
    __shared__ REAL s[P][P], fr[P][P], fs[P][P];
    const int i = threadIdx.x, j = threadIdx.y, e = blockIdx.x;
    d[j][i] = derivative[j * P + i];
    REAL column[P], out[P];
    for (int k = 0; k < P; ++k) {
        column[k] = u[e * P * P * P + k * P * P + j * P + i];
        out[k] = 0;
    }
    for (int k = 0; k < P; ++k) {
        __syncthreads();
        s[j][i] = column[k];
        __syncthreads();
        REAL ur = 0, us = 0, ut = 0;
        for (int m = 0; m < P; ++m) {
            ur += d[i][m] * s[j][m];
            us += d[j][m] * s[m][i];
            ut += d[k][m] * column[m];
        }
        const REAL *g = metric + (e * P * P * P + k * P * P + j * P + i) * 6;
        fr[j][i] = g[0] * ur + g[1] * us + g[2] * ut;
        fs[j][i] = g[1] * ur + g[3] * us + g[4] * ut;
        const REAL ft = g[2] * ur + g[4] * us + g[5] * ut;
        __syncthreads();
        REAL sum = 0;
        for (int m = 0; m < P; ++m) {
            sum += d[m][i] * fr[j][m] + d[m][j] * fs[m][i];
            out[m] += d[k][m] * ft;
        }
        out[k] += sum;
    }
    for (int k = 0; k < P; ++k)
        w[e * P * P * P + k * P * P + j * P + i] = out[k];
}
