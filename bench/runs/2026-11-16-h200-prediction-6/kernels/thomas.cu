// Tridiagonal systems by Thomas's algorithm, a thread a system, unknowns side by side.
#ifndef REAL
#define REAL double
#endif

__global__ void solve(const REAL *lower, const REAL *middle, const REAL *upper, REAL *right, REAL *work, int systems, int n)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems)
        return;
    REAL c = upper[s] / middle[s], d = right[s] / middle[s];
    work[s] = c;
    right[s] = d;
    for (int i = 1; i < n; ++i) {
        const int k = i * systems + s;
        const REAL a = lower[k], m = 1 / (middle[k] - a * c);
        c = upper[k] * m;
        d = (right[k] - a * d) * m;
        work[k] = c;
        right[k] = d;
    }
    for (int i = n - 2; i >= 0; --i) {
        const int k = i * systems + s;
        d = right[k] - work[k] * d;
        right[k] = d;
    }
}
