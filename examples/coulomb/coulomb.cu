// Electrostatic potential of point charges on a plane of lattice points, by direct summation.
//
//   V(p) = sum_j q_j / |p - x_j|
//
// The charges are in constant memory, in chunks if there are more than it holds; a thread computes
// POINTS points of a row, whose squared distances in y and z are the same.
//
// Build: nvcc -O2 -arch=native coulomb.cu -o coulomb                    (-DREAL=double for double)
// Run:   ./coulomb [-nx n] [-ny n] [-atoms n]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define POINTS 4 // of a thread

#ifndef CHUNK
#define CHUNK 1000 // charges in constant memory
#endif

struct Atom {
    REAL x, y, z, q;
};

__constant__ Atom atoms[CHUNK];

// Adds the potential of the `count` charges in constant memory at points (x spacing, y spacing, z).
__global__ void add_potential(REAL *plane, int nx, int ny, REAL spacing, REAL z, int count)
{
    const int first = blockIdx.x * blockDim.x * POINTS + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= ny)
        return;

    const REAL x = spacing * REAL(first);
    const REAL y = spacing * REAL(row);
    const REAL step = spacing * REAL(blockDim.x);
    REAL sum[POINTS] = {};
    for (int j = 0; j < count; ++j) {
        const REAL dy = y - atoms[j].y;
        const REAL dz = z - atoms[j].z;
        const REAL dyz2 = dy * dy + dz * dz;
        REAL dx = x - atoms[j].x;
#pragma unroll
        for (int p = 0; p < POINTS; ++p) {
            sum[p] += atoms[j].q * rsqrt(dx * dx + dyz2);
            dx += step;
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; ++p) {
        const int column = first + p * blockDim.x;
        if (column < nx)
            plane[row * nx + column] += sum[p];
    }
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int nx = options("nx", 512), ny = options("ny", 512), count = options("atoms", 4000);
    options.done("[-nx n] [-ny n] [-atoms n]");

    const REAL spacing = REAL(0.1), z = REAL(0);
    Array<REAL> plane(size_t(nx) * ny);
    std::vector<Atom> all(count);
    Random random;
    for (Atom &a : all)
        a = {REAL(random.uniform(0, 0.1 * nx)), REAL(random.uniform(0, 0.1 * ny)),
            REAL(random.uniform(0.5, 20)), REAL(random.uniform(-1, 1))};

    Timer timer;
    const dim3 threads(16, 8), grid(ceil_div(nx, 16 * POINTS), ceil_div(ny, 8));
    for (int from = 0; from < count; from += CHUNK) {
        const int here = count - from < CHUNK ? count - from : CHUNK;
        CUDA_CHECK(cudaMemcpyToSymbol(atoms, &all[from], here * sizeof(Atom)));
        add_potential<<<grid, threads>>>(plane.device, nx, ny, spacing, z, here);
    }
    const float ms = timer.stop();
    plane.down();

    Worst worst(1.0);
    const int step = 1 + nx * ny / 512;
    for (int i = 0; i < nx * ny; i += step) {
        double v = 0.0;
        for (const Atom &a : all) {
            const double dx = double(spacing) * (i % nx) - a.x, dy = double(spacing) * (i / nx) - a.y;
            v += a.q / std::sqrt(dx * dx + dy * dy + double(a.z) * a.z);
        }
        worst.add(plane[i], v);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-3);
}
