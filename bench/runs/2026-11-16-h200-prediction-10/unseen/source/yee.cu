// Maxwell's equations in three dimensions by Yee's scheme: lossy dielectrics given by a table of materials, conducting
// walls, a point source. Fields are in units in which the speed of light is one; x is contiguous.
#define MATERIALS 4

struct Material {
    float decay, gain; // E = decay * E + gain * curl H
};

__constant__ Material materials[MATERIALS];

__global__ void update_h(const float *__restrict__ ex, const float *__restrict__ ey, const float *__restrict__ ez,
                         float *__restrict__ hx, float *__restrict__ hy, float *__restrict__ hz, float courant, int nx,
                         int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z;
    if (x >= nx - 1 || y >= ny - 1 || z >= nz - 1)
        return;
    const int sy = nx, sz = nx * ny;
    const int c = z * sz + y * sy + x;
    const float ex0 = ex[c], ey0 = ey[c], ez0 = ez[c];
    hx[c] += courant * ((ey[c + sz] - ey0) - (ez[c + sy] - ez0));
    hy[c] += courant * ((ez[c + 1] - ez0) - (ex[c + sz] - ex0));
    hz[c] += courant * ((ex[c + sy] - ex0) - (ey[c + 1] - ey0));
}

__global__ void update_e(const float *__restrict__ hx, const float *__restrict__ hy, const float *__restrict__ hz,
                         float *__restrict__ ex, float *__restrict__ ey, float *__restrict__ ez,
                         const unsigned char *__restrict__ material, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1)
        return;
    const int sy = nx, sz = nx * ny;
    const int c = z * sz + y * sy + x;
    const Material m = materials[material[c]];
    const float hx0 = hx[c], hy0 = hy[c], hz0 = hz[c];
    ex[c] = m.decay * ex[c] + m.gain * ((hz0 - hz[c - sy]) - (hy0 - hy[c - sz]));
    ey[c] = m.decay * ey[c] + m.gain * ((hx0 - hx[c - sz]) - (hz0 - hz[c - 1]));
    ez[c] = m.decay * ez[c] + m.gain * ((hy0 - hy[c - 1]) - (hx0 - hx[c - sy]));
}

// A Gaussian pulse on a sheet of current in the middle plane.
__global__ void source(float *__restrict__ ez, float time, float delay, float width, int nx, int ny, int z)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
        return;
    const float s = (time - delay) / width;
    const float dx = (x - 0.5f * nx) / nx, dy = (y - 0.5f * ny) / ny;
    ez[((size_t)z * ny + y) * nx + x] += expf(-s * s) * expf(-20.0f * (dx * dx + dy * dy));
}
