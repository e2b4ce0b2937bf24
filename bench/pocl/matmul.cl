// C = A B for n x n matrices, tiles of 16 x 16 in local memory. Bound by arithmetic on local memory,
// two barriers for every 16 multiply-adds, f64.
// Floor: 2 n^3 flops; 24 n^2 bytes.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define T 16

__kernel void matmul(__global const double *a, __global const double *b, __global double *c,
                     __local double *ta, __local double *tb, int n)
{
    int col = (int)get_global_id(0), row = (int)get_global_id(1);
    int lx = (int)get_local_id(0), ly = (int)get_local_id(1);
    double sum = 0.0;
    for (int first = 0; first < n; first += T) {
        ta[ly * T + lx] = a[row * n + first + lx];
        tb[ly * T + lx] = b[(first + ly) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < T; ++k)
            sum += ta[ly * T + k] * tb[k * T + lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
