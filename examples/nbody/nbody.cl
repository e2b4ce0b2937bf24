// Gravitation of n bodies, all pairs, with softening; see nbody.cu.
// The bodies pass through local memory in tiles as large as the work-group.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#ifndef REAL
#define REAL double
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define REAL4 JOIN(REAL, 4)

__kernel void body_forces(__global const REAL4 *bodies, __global REAL4 *accelerations,
                          __local REAL4 *tile, REAL eps2, int n)
{
    int i = (int)get_global_id(0);
    int lid = (int)get_local_id(0);
    int size = (int)get_local_size(0);
    REAL4 nobody = (REAL4)((REAL)0);
    REAL4 at = i < n ? bodies[i] : nobody;
    REAL4 acc = nobody;

    for (int first = 0; first < n; first += size) {
        int j = first + lid;
        tile[lid] = j < n ? bodies[j] : nobody; /* no mass, no pull */
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < size; ++k) {
            REAL dx = tile[k].x - at.x;
            REAL dy = tile[k].y - at.y;
            REAL dz = tile[k].z - at.z;
            REAL r = rsqrt(dx * dx + dy * dy + dz * dz + eps2);
            REAL s = tile[k].w * r * r * r;
            acc.x += s * dx;
            acc.y += s * dy;
            acc.z += s * dz;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n)
        accelerations[i] = acc;
}

__kernel void advance(__global REAL4 *bodies, __global REAL4 *velocities,
                      __global const REAL4 *accelerations, REAL dt, int n)
{
    int i = (int)get_global_id(0);
    if (i >= n)
        return;
    REAL4 v = velocities[i];
    v.xyz += accelerations[i].xyz * dt;
    velocities[i] = v;
    bodies[i].xyz += v.xyz * dt;
}
