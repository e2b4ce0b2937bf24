// Variables of the program in every form that can be held in a narrower format.
#ifndef REAL
#define REAL double
#endif

struct Point {
    REAL at, phase;
};

namespace wave {
__constant__ Point points[6];
}
__constant__ REAL weight[6];
__constant__ REAL table[4] = {REAL(0.1), REAL(-0.2), REAL(0.3), REAL(0.7)};
__device__ REAL scale = REAL(1.1);

// REAL is what is held; everything is computed in double.
extern "C" __global__ void waves(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double sum = 0.0;
    for (int k = 0; k < 6; ++k)
        sum += double(weight[k]) * cos(double(wave::points[k].at) * x[i] + double(wave::points[k].phase));
    out[i] = sum * double(scale) + double(table[i & 3]);
}

extern "C" __global__ void weights(const double *in, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * in[i];
}
