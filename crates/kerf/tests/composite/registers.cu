// Kernels that keep everything in registers between a load and a store: on double words their results
// are correctly rounded, but for a tie here and there.
#ifndef REAL
#define REAL double
#endif

__device__ REAL step(REAL x, int k)
{
    return x / (REAL(1) + REAL(k)) + REAL(1) / (x + REAL(2));
}

// A serial sum, nested loops, a branch that depends on values.
__global__ void sums(const REAL *x, REAL *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    REAL sum = 0, product = 1;
    for (int j = 0; j < n; ++j) {
        REAL v = x[(i + j) % n];
        for (int k = 0; k < 3; ++k) {
            if (v > REAL(0.5))
                sum += step(v, k);
            else
                sum -= v * v;
        }
        product *= REAL(1) + v / REAL(n);
    }
    out[2 * i] = sum;
    out[2 * i + 1] = product;
}

// Every function that has a double-word algorithm.
__global__ void functions(const REAL *x, REAL *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    REAL v = x[i];
    REAL a = exp(v) * log(v + REAL(2));
    REAL b = sin(v * REAL(7)) + cos(v) * sqrt(v + REAL(1));
    REAL c = fmax(a, b) - fmin(a, b) * rsqrt(REAL(3) + v);
    REAL d = pow(v + REAL(1), REAL(2.5)) + exp2(v) + log2(v + REAL(3)) + log10(v + REAL(4)) + tan(v);
    out[3 * i] = a + b;
    out[3 * i + 1] = c / (REAL(1) + fabs(b));
    out[3 * i + 2] = d + REAL(int(d * REAL(100))) - REAL(i) / REAL(3);
}
