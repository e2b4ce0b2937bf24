// Sums of 1024 numbers each: 4 for each work-item, then a tree in local memory. Memory-bound in the
// limit, nine barriers and diverging work-items for every 1024 numbers, f64.
// Floor: 1 flop and 8 bytes for each number.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void reduce(__global const double *x, __global double *sums, __local double *part, int n)
{
    int l = (int)get_local_id(0);
    int size = (int)get_local_size(0);
    int at = (int)get_group_id(0) * size * 4 + l;
    double s = 0.0;
    for (int k = 0; k < 4; ++k, at += size)
        if (at < n)
            s += x[at];
    part[l] = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int span = size / 2; span > 0; span /= 2) {
        if (l < span)
            part[l] += part[l + span];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        sums[get_group_id(0)] = part[0];
}
