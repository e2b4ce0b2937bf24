// Electrostatic potential on a lattice of points, of charges within a cut-off radius R only.
//
//   V(p) = sum over |p - x_j| < R of  q_j / r (1 - r^2/R^2)^2,   r = |p - x_j|
//
// Charges are sorted into cubic bins of PER_BIN each; free places have no charge. A block owns a brick of
// points and visits the rows of bins that any of them can feel, one row at a time in shared memory.
//
// Build: nvcc -O2 -arch=native cutoff_coulomb.cu -o cutoff_coulomb      (-DREAL=double for double)
// Run:   ./cutoff_coulomb [-bins n] [-points n, along the edge of a bin] [-reach n, points]

#include "../common.cuh"

#ifndef REAL
#define REAL float
#endif

#define PER_BIN 8

struct Atom {
    REAL x, y, z, q;
};

// `bins` bins along each edge of the cube, of `points` lattice points along theirs; the cut-off is `reach`
// spacings. Dynamic shared memory holds the charges of a row of bins.
__global__ void cutoff_potential(const Atom *atoms, REAL *lattice, int bins, int points, int reach,
                                 REAL spacing)
{
    extern __shared__ Atom row[];

    const int n = bins * points;
    const int x0 = blockIdx.x * blockDim.x, y0 = blockIdx.y * blockDim.y, z0 = blockIdx.z * blockDim.z;
    const int ix = x0 + threadIdx.x, iy = y0 + threadIdx.y, iz = z0 + threadIdx.z;
    const int tid = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * blockDim.y * blockDim.z;

    const int bx_lo = max(x0 - reach, 0) / points;
    const int by_lo = max(y0 - reach, 0) / points;
    const int bz_lo = max(z0 - reach, 0) / points;
    const int bx_hi = min(x0 + int(blockDim.x) - 1 + reach, n - 1) / points;
    const int by_hi = min(y0 + int(blockDim.y) - 1 + reach, n - 1) / points;
    const int bz_hi = min(z0 + int(blockDim.z) - 1 + reach, n - 1) / points;
    const int count = (bx_hi - bx_lo + 1) * PER_BIN;

    const REAL x = spacing * REAL(ix), y = spacing * REAL(iy), z = spacing * REAL(iz);
    const REAL radius = spacing * REAL(reach);
    const REAL radius2 = radius * radius;
    const REAL inv_radius2 = REAL(1) / radius2;

    REAL sum = 0;
    for (int bz = bz_lo; bz <= bz_hi; ++bz) {
        for (int by = by_lo; by <= by_hi; ++by) {
            const Atom *from = atoms + ((bz * bins + by) * bins + bx_lo) * PER_BIN;
            __syncthreads();
            for (int j = tid; j < count; j += threads)
                row[j] = from[j];
            __syncthreads();

            for (int j = 0; j < count; ++j) {
                const REAL dx = x - row[j].x;
                const REAL dy = y - row[j].y;
                const REAL dz = z - row[j].z;
                const REAL r2 = dx * dx + dy * dy + dz * dz;
                if (r2 < radius2) {
                    const REAL s = REAL(1) - r2 * inv_radius2;
                    sum += row[j].q * rsqrt(r2) * s * s;
                }
            }
        }
    }
    if (ix < n && iy < n && iz < n)
        lattice[(iz * n + iy) * n + ix] = sum;
}

int main(int argc, char **argv)
{
    Options options(argc, argv);
    const int bins = options("bins", 8, 64), points = options("points", 8, 64),
        reach = options("reach", 24);
    options.done("[-bins n] [-points n] [-reach n]");

    const int n = bins * points;
    const REAL spacing = REAL(0.5);
    const double edge = 0.5 * points;
    Array<Atom> atoms(size_t(bins) * bins * bins * PER_BIN);
    Array<REAL> lattice(size_t(n) * n * n);
    Random random;
    for (size_t i = 0; i < atoms.size(); ++i) {
        const int bin = int(i / PER_BIN);
        atoms[i] = {REAL(edge * (bin % bins + random.uniform(0, 1))),
            REAL(edge * (bin / bins % bins + random.uniform(0, 1))),
            REAL(edge * (bin / bins / bins + random.uniform(0, 1))), REAL(random.uniform(-1, 1))};
    }
    atoms.up();

    const dim3 threads(8, 8, 4);
    const dim3 grid(ceil_div(n, 8), ceil_div(n, 8), ceil_div(n, 4));
    const size_t shared = ((8 + 2 * reach) / points + 2) * PER_BIN * sizeof(Atom);
    Timer timer;
    cutoff_potential<<<grid, threads, shared>>>(atoms.device, lattice.device, bins, points, reach,
        spacing);
    const float ms = timer.stop();
    lattice.down();

    Worst worst(1.0);
    const double radius2 = std::pow(double(spacing) * reach, 2);
    const int step = 1 + n * n * n / 500;
    for (int i = 0; i < n * n * n; i += step) {
        double v = 0.0;
        for (size_t j = 0; j < atoms.size(); ++j) {
            const double dx = double(spacing) * (i % n) - atoms[j].x,
                dy = double(spacing) * (i / n % n) - atoms[j].y;
            const double dz = double(spacing) * (i / n / n) - atoms[j].z;
            const double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < radius2)
                v += atoms[j].q / std::sqrt(r2) * std::pow(1.0 - r2 / radius2, 2);
        }
        worst.add(lattice[i], v);
    }
    return worst.report(ms, sizeof(REAL) == 8 ? 1e-11 : 1e-3);
}
