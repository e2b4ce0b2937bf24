// Vectors of CUDA's, operators on them, a function for two kinds of callers, and a launch by dim3.
#include <cuda_runtime.h>

__device__ inline double2 operator*(double2 a, double2 b) { return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

__device__ double bend(double v)
{
    return 1.0 + v * (0.5 + v * (0.25 + v * exp(-v)));
}

__global__ void turn(const double *x, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double2 z = make_double2(x[i], 0.5), w = z;
        for (int k = 0; k < 6; k++)
            w = w * z;
        double fine = bend(x[i]);
        double rough = bend(x[n - 1 - i] * 3.0) + w.x;
        out[i] = fine + 1e-9 * rough;
    }
}

void run(const double *x, double *out, int n)
{
    double *d_x, *d_out;
    cudaMalloc(&d_x, n * sizeof(double));
    cudaMalloc(&d_out, n * sizeof(double));
    cudaMemcpy(d_x, x, n * sizeof(double), cudaMemcpyHostToDevice);
    dim3 block(64);
    dim3 grid((n + block.x - 1) / block.x);
    turn<<<grid, block>>>(d_x, d_out, n);
    cudaMemcpy(out, d_out, n * sizeof(double), cudaMemcpyDeviceToHost);
    cudaFree(d_x);
    cudaFree(d_out);
}
