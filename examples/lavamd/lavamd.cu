// Potential and force on particles in a cube of boxes, with a cut-off of one box edge.
//
// The pair potential is a Gaussian brought smoothly to zero at the cut-off radius R:
//
//   V(r) = q_j w(r) exp(-a r^2),   w(r) = (1 - r^2/R^2)^2   for r < R, else 0
//   F    = -grad V = 2 q_j exp(-a r^2) (2 (1 - r^2/R^2) / R^2 + a w) d,   d = x_i - x_j
//
// A box of edge R has at most 26 neighbours that its particles can feel. Positions are relative to the
// low corner of the particle's own box; the list of neighbours holds the offset of each in box edges.
//
// Build: nvcc -O2 -arch=native lavamd.cu -o lavamd                      (-DREAL=float for single)
// Run:   ./lavamd [-boxes1d n] [-b threads]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#ifndef REAL
#define REAL double
#endif

#ifndef PER_BOX
#define PER_BOX 32 // particles in a box
#endif

#define NEIGHBOURS 27 // entries of the list for each box, the box itself among them

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

struct Particle { // charge and position in the box
    REAL q, x, y, z;
};

struct Force { // potential and force
    REAL v, x, y, z;
};

struct Neighbour { // index of a box, or -1 for none, and where it lies
    int box, dx, dy, dz;
};

struct Params {
    REAL alpha; // of the Gaussian
    REAL edge;  // of a box; also the cut-off radius
};

__device__ inline REAL squared(REAL x) { return x * x; }

// One block for each box.
__global__ void box_potential(const Particle *particles, const Neighbour *neighbours, Force *forces,
                              Params par)
{
    __shared__ Particle home[PER_BOX];
    __shared__ Particle away[PER_BOX];

    const int box = blockIdx.x;
    const REAL inv_r2 = REAL(1) / (par.edge * par.edge);

    for (int i = threadIdx.x; i < PER_BOX; i += blockDim.x) {
        home[i] = particles[box * PER_BOX + i];
        Force zero = {0, 0, 0, 0};
        forces[box * PER_BOX + i] = zero;
    }

    for (int k = 0; k < NEIGHBOURS; ++k) {
        const Neighbour nb = neighbours[box * NEIGHBOURS + k];
        if (nb.box < 0)
            continue; // the same for the whole block
        __syncthreads();
        for (int j = threadIdx.x; j < PER_BOX; j += blockDim.x) {
            Particle p = particles[nb.box * PER_BOX + j];
            p.x += nb.dx * par.edge;
            p.y += nb.dy * par.edge;
            p.z += nb.dz * par.edge;
            away[j] = p;
        }
        __syncthreads();

        for (int i = threadIdx.x; i < PER_BOX; i += blockDim.x) {
            const Particle a = home[i];
            Force f = forces[box * PER_BOX + i];
            for (int j = 0; j < PER_BOX; ++j) {
                if (nb.box == box && i == j)
                    continue;
                REAL dx = a.x - away[j].x;
                REAL dy = a.y - away[j].y;
                REAL dz = a.z - away[j].z;
                REAL r2 = dx * dx + dy * dy + dz * dz;
                REAL u = REAL(1) - r2 * inv_r2;
                if (u > REAL(0)) {
                    REAL w = squared(u);
                    REAL e = away[j].q * exp(-par.alpha * r2);
                    REAL s = REAL(2) * e * (REAL(2) * u * inv_r2 + par.alpha * w);
                    f.v += e * w;
                    f.x += s * dx;
                    f.y += s * dy;
                    f.z += s * dz;
                }
            }
            forces[box * PER_BOX + i] = f;
        }
    }
}

static std::vector<Neighbour> list_neighbours(int n1)
{
    std::vector<Neighbour> list(size_t(n1) * n1 * n1 * NEIGHBOURS);
    size_t at = 0;
    for (int z = 0; z < n1; ++z)
        for (int y = 0; y < n1; ++y)
            for (int x = 0; x < n1; ++x)
                for (int c = 0; c < NEIGHBOURS; ++c) {
                    Neighbour nb = {-1, c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1};
                    int u = x + nb.dx, v = y + nb.dy, w = z + nb.dz;
                    if (u >= 0 && u < n1 && v >= 0 && v < n1 && w >= 0 && w < n1)
                        nb.box = (w * n1 + v) * n1 + u;
                    list[at++] = nb;
                }
    return list;
}

int main(int argc, char **argv)
{
    int n1 = 8;
    int threads = PER_BOX;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-boxes1d") && i + 1 < argc) n1 = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-b") && i + 1 < argc) threads = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "usage: %s [-boxes1d n] [-b threads]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (n1 < 1 || n1 > 100 || threads < 1 || threads > 1024) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    const int boxes = n1 * n1 * n1;
    const size_t count = size_t(boxes) * PER_BOX;
    Params par;
    par.alpha = REAL(2.0);
    par.edge = REAL(1.0);

    std::mt19937 gen(1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::vector<Particle> particles(count);
    for (size_t i = 0; i < count; ++i) {
        particles[i].q = REAL(0.5 + unit(gen));
        particles[i].x = REAL(unit(gen)) * par.edge;
        particles[i].y = REAL(unit(gen)) * par.edge;
        particles[i].z = REAL(unit(gen)) * par.edge;
    }
    std::vector<Neighbour> list = list_neighbours(n1);
    std::vector<Force> forces(count);

    Particle *d_particles;
    Neighbour *d_list;
    Force *d_forces;
    CUDA_CHECK(cudaMalloc(&d_particles, count * sizeof(Particle)));
    CUDA_CHECK(cudaMalloc(&d_list, list.size() * sizeof(Neighbour)));
    CUDA_CHECK(cudaMalloc(&d_forces, count * sizeof(Force)));
    CUDA_CHECK(cudaMemcpy(d_particles, particles.data(), count * sizeof(Particle),
                          cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_list, list.data(), list.size() * sizeof(Neighbour),
                          cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    box_potential<<<boxes, threads>>>(d_particles, d_list, d_forces, par);
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_CHECK(cudaMemcpy(forces.data(), d_forces, count * sizeof(Force), cudaMemcpyDeviceToHost));

    // All pairs in absolute coordinates for a few of the particles.
    double worst = 0.0;
    const size_t step = count > 64 ? count / 64 : 1;
    for (size_t i = 0; i < count; i += step) {
        const int bi = int(i / PER_BOX);
        const double edge = par.edge, r2max = edge * edge, alpha = par.alpha;
        double v = 0.0, fx = 0.0, fy = 0.0, fz = 0.0;
        for (size_t j = 0; j < count; ++j) {
            if (i == j)
                continue;
            const int bj = int(j / PER_BOX);
            double dx = double(particles[i].x) - particles[j].x + edge * (bi % n1 - bj % n1);
            double dy = double(particles[i].y) - particles[j].y +
                        edge * (bi / n1 % n1 - bj / n1 % n1);
            double dz = double(particles[i].z) - particles[j].z +
                        edge * (bi / (n1 * n1) - bj / (n1 * n1));
            double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 >= r2max)
                continue;
            double u = 1.0 - r2 / r2max;
            double e = particles[j].q * std::exp(-alpha * r2);
            double s = 2.0 * e * (2.0 * u / r2max + alpha * u * u);
            v += e * u * u;
            fx += s * dx;
            fy += s * dy;
            fz += s * dz;
        }
        worst = std::fmax(worst, std::fabs(forces[i].v - v));
        worst = std::fmax(worst, std::fabs(forces[i].x - fx));
        worst = std::fmax(worst, std::fabs(forces[i].y - fy));
        worst = std::fmax(worst, std::fabs(forces[i].z - fz));
    }
    const double limit = sizeof(REAL) == 8 ? 1e-11 : 1e-3;
    std::printf("%d boxes of %d particles, %.3f ms\n", boxes, PER_BOX, ms);
    std::printf("largest absolute error %.3e (limit %.0e): %s\n", worst, limit,
                worst <= limit ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_particles));
    CUDA_CHECK(cudaFree(d_list));
    CUDA_CHECK(cudaFree(d_forces));
    return worst <= limit ? EXIT_SUCCESS : EXIT_FAILURE;
}
