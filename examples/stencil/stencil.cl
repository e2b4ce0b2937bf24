// Heat in a box: explicit steps with the 7-point stencil in three dimensions; see stencil.cu.
// A work-group owns a tile in x and y and marches through z. The tile in local memory has a halo of one:
// (local size x + 2) * (local size y + 2) values.

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#ifndef REAL
#define REAL double
#endif

__kernel void heat_step(__global const REAL *in, __global REAL *out, __local REAL *tile, REAL c,
                        int nx, int ny, int nz)
{
    const int tx = (int)get_local_id(0);
    const int ty = (int)get_local_id(1);
    const int sx = (int)get_local_size(0);
    const int sy = (int)get_local_size(1);
    const int pitch = sx + 2;
    const int lx = tx + 1;
    const int ly = ty + 1;
    const int x = (int)get_group_id(0) * sx + lx; /* 1 .. nx inside, 0 and nx + 1 border */
    const int y = (int)get_group_id(1) * sy + ly;
    const int present = x <= nx + 1 && y <= ny + 1;
    const int inside = x <= nx && y <= ny;

    const int row = nx + 2;
    const int plane = row * (ny + 2);
    int at = plane + y * row + x;

    REAL below = present ? in[at - plane] : (REAL)0;
    REAL here = present ? in[at] : (REAL)0;
    for (int z = 1; z <= nz; ++z) {
        REAL above = present ? in[at + plane] : (REAL)0;

        barrier(CLK_LOCAL_MEM_FENCE);
        tile[ly * pitch + lx] = here;
        if (tx == 0 && present)
            tile[ly * pitch] = in[at - 1];
        if (tx == sx - 1 && inside)
            tile[ly * pitch + lx + 1] = in[at + 1];
        if (ty == 0 && present)
            tile[lx] = in[at - row];
        if (ty == sy - 1 && inside)
            tile[(ly + 1) * pitch + lx] = in[at + row];
        barrier(CLK_LOCAL_MEM_FENCE);

        if (inside) {
            REAL around = tile[ly * pitch + lx - 1] + tile[ly * pitch + lx + 1] +
                          tile[(ly - 1) * pitch + lx] + tile[(ly + 1) * pitch + lx] + below + above;
            out[at] = here + c * (around - (REAL)6 * here);
        }
        below = here;
        here = above;
        at += plane;
    }
}
