// Q(x) = sum over the trajectory k of phi(k) exp(2 pi i k.x), the matrix of a non-Cartesian MRI
// reconstruction. Bound by sin and cos in an inner loop, no barrier, f32.
// Floor: 1 sin, 1 cos and 10 flops for each pair of voxel and sample; 20 bytes for each voxel.

__kernel void mri_q(__global const float *x, __global const float *y, __global const float *z,
                    __global const float4 *samples, __global float *qr, __global float *qi,
                    int voxels, int nk)
{
    int i = (int)get_global_id(0);
    if (i >= voxels)
        return;
    float px = x[i], py = y[i], pz = z[i];
    float re = 0.0f, im = 0.0f;
    for (int k = 0; k < nk; ++k) {
        float4 s = samples[k];
        float a = 6.2831853f * (s.x * px + s.y * py + s.z * pz);
        re += s.w * cos(a);
        im += s.w * sin(a);
    }
    qr[i] = re;
    qi[i] = im;
}
