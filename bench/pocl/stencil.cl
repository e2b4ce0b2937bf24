// One step of the 5-point stencil on an n x n grid whose border stays as it is; a tile with its halo
// in local memory. Memory-bound, one barrier, f32.
// Floor: 6 flops and 8 bytes for each point (the halo adds 2/32 + 2/8 of the reads, out of caches).

#define W 32
#define H 8

__kernel void stencil(__global const float *from, __global float *to, __local float *tile, float c0,
                      float c1, int n)
{
    int x = (int)get_global_id(0), y = (int)get_global_id(1);
    int lx = (int)get_local_id(0), ly = (int)get_local_id(1);
    int at = (ly + 1) * (W + 2) + lx + 1;
    tile[at] = from[y * n + x];
    if (lx == 0 && x > 0)
        tile[at - 1] = from[y * n + x - 1];
    if (lx == W - 1 && x < n - 1)
        tile[at + 1] = from[y * n + x + 1];
    if (ly == 0 && y > 0)
        tile[at - (W + 2)] = from[(y - 1) * n + x];
    if (ly == H - 1 && y < n - 1)
        tile[at + (W + 2)] = from[(y + 1) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = tile[at];
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        v = c0 * v + c1 * (tile[at - 1] + tile[at + 1] + tile[at - (W + 2)] + tile[at + (W + 2)]);
    to[y * n + x] = v;
}
