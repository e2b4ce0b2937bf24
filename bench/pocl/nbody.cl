// Softened gravitation of n bodies, all pairs, tiles of bodies in local memory. Bound by arithmetic
// and rsqrt, two barriers for each tile, f32.
// Floor: 1 rsqrt and 19 flops for each pair; 32 bytes for each body.

__kernel void nbody(__global const float4 *bodies, __global float4 *acc, __local float4 *tile,
                    float eps2, int n)
{
    int i = (int)get_global_id(0);
    int l = (int)get_local_id(0);
    int size = (int)get_local_size(0);
    float4 at = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = 0; first < n; first += size) {
        tile[l] = bodies[first + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < size; ++k) {
            float4 b = tile[k];
            float dx = b.x - at.x, dy = b.y - at.y, dz = b.z - at.z;
            float r = rsqrt(dx * dx + dy * dy + dz * dz + eps2);
            float s = b.w * r * r * r;
            ax += s * dx;
            ay += s * dy;
            az += s * dz;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    acc[i] = (float4)(ax, ay, az, 0.0f);
}
