// Kernels whose expressions have cheaper forms.

// The pull of n bodies on each of them, as one writes it down.
__global__ void force(const double4 *bodies, double4 *pull, double eps2, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double4 at = bodies[i];
    double ax = 0.0, ay = 0.0, az = 0.0;
    for (int k = 0; k < n; ++k) {
        double4 body = bodies[k];
        double dx = body.x - at.x, dy = body.y - at.y, dz = body.z - at.z;
        double d2 = dx * dx + dy * dy + dz * dz + eps2;
        double s = body.w / (sqrt(d2) * d2);
        ax += s * dx;
        ay += s * dy;
        az += s * dz;
    }
    pull[i] = make_double4(ax, ay, az, 0.0);
}

// A length that does not overflow; one that is written out does.
__global__ void lengths(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double sum = 0.0;
    for (int k = 1; k < 200; ++k)
        sum += hypot(k * x[i], x[i + n]);
    out[i] = sum;
}

// The quotient decides how often the loop runs, and where it reads.
__global__ void steps(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double left = x[i] * 8.0, sum = 0.0;
    while (left > 1.0) {
        left = left / 3.0;
        sum += x[(int)left];
    }
    out[i] = sum;
}
