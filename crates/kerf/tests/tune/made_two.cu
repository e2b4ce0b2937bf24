// Points on spirals: functions of two arguments, and of two results.

__global__ void spirals(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double sum = 0.0;
    for (int k = 1; k <= 16; k++) {
        double angle = x[i] * (1.0 / k), sine, cosine;
        sincos(angle, &sine, &cosine);
        double radius = pow(angle, 0.5 + 0.0625 * k);
        sum += hypot(radius, sine) + pow(2.0 + cosine, 2.4);
        sum += atan2(radius, 2.0 + cosine);
    }
    out[i] = sum;
}
