// a[i] = b[i] + s c[i]. Memory-bound, no barrier, f64.
// Floor: 2 flops and 24 bytes for each element.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void triad(__global double *a, __global const double *b, __global const double *c, double s,
                    int n)
{
    int i = (int)get_global_id(0);
    if (i < n)
        a[i] = b[i] + s * c[i];
}
