// Compressible inviscid flow (Euler equations) by finite volumes on an unstructured mesh.
//
//   dU/dt = -(1/V) sum over faces of F(U_left, U_right, n),  U = (density, momentum, energy)
//
// The flux through a face is Rusanov's: the mean of the fluxes of both sides less half the fastest
// signal speed times the jump. A cell has six faces; a face leads to another cell, to a wall or to the
// undisturbed far field, whose state is in constant memory. Cells take steps of their own (the steady
// state is what is wanted) with a Runge-Kutta scheme of three stages.
//
// Build: nvcc -O2 -arch=native cfd.cu -o cfd                            (-DREAL=float for single)
// Run:   ./cfd [-nx n] [-ny n] [-nz n] [-i iterations] [-b threads]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#ifndef REAL
#define REAL double
#endif

#define GAMMA REAL(1.4)
#define FACES 6
#define VARS 5
#define STAGES 3
#define WALL (-1)
#define OPEN (-2)

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

struct Vec3 {
    REAL x, y, z;
};

struct Conserved { // per volume
    REAL density;
    Vec3 momentum;
    REAL energy;
};

struct Derived {
    Vec3 velocity;
    REAL pressure;
    REAL sound; // speed of sound
};

struct FarField {
    Conserved u;
    Derived w;
};

__constant__ FarField far_field;

__host__ __device__ inline REAL dot(Vec3 a, Vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__host__ __device__ inline Derived derive(Conserved u)
{
    Derived w;
    REAL inv = REAL(1) / u.density;
    w.velocity.x = u.momentum.x * inv;
    w.velocity.y = u.momentum.y * inv;
    w.velocity.z = u.momentum.z * inv;
    w.pressure = (GAMMA - REAL(1)) * (u.energy - REAL(0.5) * dot(u.momentum, w.velocity));
    w.sound = sqrt(GAMMA * w.pressure * inv);
    return w;
}

// The five variables lie one after another, each for all cells.
__host__ __device__ inline Conserved load_state(const REAL *variables, int n, int i)
{
    Conserved u;
    u.density = variables[i];
    u.momentum.x = variables[n + i];
    u.momentum.y = variables[2 * n + i];
    u.momentum.z = variables[3 * n + i];
    u.energy = variables[4 * n + i];
    return u;
}

__host__ __device__ inline void store_state(REAL *variables, int n, int i, Conserved u)
{
    variables[i] = u.density;
    variables[n + i] = u.momentum.x;
    variables[2 * n + i] = u.momentum.y;
    variables[3 * n + i] = u.momentum.z;
    variables[4 * n + i] = u.energy;
}

__host__ __device__ inline Vec3 load_normal(const REAL *normals, int n, int face, int i)
{
    Vec3 v;
    v.x = normals[(face * 3 + 0) * n + i];
    v.y = normals[(face * 3 + 1) * n + i];
    v.z = normals[(face * 3 + 2) * n + i];
    return v;
}

// Adds the flux through a face with the outward normal `area` (as long as the face is large).
__host__ __device__ inline void add_flux(Conserved &sum, Conserved a, Derived wa, Conserved b,
                                         Derived wb, Vec3 area)
{
    REAL size = sqrt(dot(area, area));
    REAL va = dot(wa.velocity, area);
    REAL vb = dot(wb.velocity, area);
    REAL speed = fmax(fabs(va) + wa.sound * size, fabs(vb) + wb.sound * size);
    REAL p = wa.pressure + wb.pressure;
    REAL half = REAL(0.5);

    sum.density += half * (a.density * va + b.density * vb - speed * (b.density - a.density));
    sum.momentum.x += half * (a.momentum.x * va + b.momentum.x * vb + p * area.x -
                              speed * (b.momentum.x - a.momentum.x));
    sum.momentum.y += half * (a.momentum.y * va + b.momentum.y * vb + p * area.y -
                              speed * (b.momentum.y - a.momentum.y));
    sum.momentum.z += half * (a.momentum.z * va + b.momentum.z * vb + p * area.z -
                              speed * (b.momentum.z - a.momentum.z));
    sum.energy += half * ((a.energy + wa.pressure) * va + (b.energy + wb.pressure) * vb -
                          speed * (b.energy - a.energy));
}

__host__ __device__ inline Conserved cell_flux(int i, int n, const int *neighbours,
                                               const REAL *normals, const REAL *variables,
                                               const FarField &far)
{
    Conserved u = load_state(variables, n, i);
    Derived w = derive(u);
    Conserved sum = {0, {0, 0, 0}, 0};
    for (int f = 0; f < FACES; ++f) {
        int other = neighbours[f * n + i];
        Vec3 area = load_normal(normals, n, f, i);
        if (other >= 0) {
            Conserved v = load_state(variables, n, other);
            add_flux(sum, u, w, v, derive(v), area);
        } else if (other == OPEN) {
            add_flux(sum, u, w, far.u, far.w, area);
        } else { // nothing passes a wall; it only feels the pressure
            sum.momentum.x += w.pressure * area.x;
            sum.momentum.y += w.pressure * area.y;
            sum.momentum.z += w.pressure * area.z;
        }
    }
    return sum;
}

// Time step divided by the volume of the cell: cfl over the sum of the signal speeds of its faces.
__host__ __device__ inline REAL cell_step(int i, int n, const REAL *normals, const REAL *variables,
                                          REAL cfl)
{
    Derived w = derive(load_state(variables, n, i));
    REAL sum = 0;
    for (int f = 0; f < FACES; ++f) {
        Vec3 area = load_normal(normals, n, f, i);
        sum += fabs(dot(w.velocity, area)) + w.sound * sqrt(dot(area, area));
    }
    return cfl / sum;
}

__host__ __device__ inline Conserved cell_update(int i, int n, const REAL *old, REAL factor,
                                                 const REAL *fluxes)
{
    Conserved u = load_state(old, n, i);
    Conserved f = load_state(fluxes, n, i);
    u.density -= factor * f.density;
    u.momentum.x -= factor * f.momentum.x;
    u.momentum.y -= factor * f.momentum.y;
    u.momentum.z -= factor * f.momentum.z;
    u.energy -= factor * f.energy;
    return u;
}

__global__ void initialise(REAL *variables, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        store_state(variables, n, i, far_field.u);
}

__global__ void compute_step_factor(const REAL *variables, const REAL *normals, REAL *step_factor,
                                    REAL cfl, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        step_factor[i] = cell_step(i, n, normals, variables, cfl);
}

__global__ void compute_flux(const int *neighbours, const REAL *normals, const REAL *variables,
                             REAL *fluxes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        store_state(fluxes, n, i, cell_flux(i, n, neighbours, normals, variables, far_field));
}

__global__ void time_step(int stage, const REAL *old_variables, REAL *variables,
                          const REAL *step_factor, const REAL *fluxes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        REAL factor = step_factor[i] / REAL(STAGES - stage);
        store_state(variables, n, i, cell_update(i, n, old_variables, factor, fluxes));
    }
}

// A block of cells, sheared in x against y so that the faces are not all square to the axes. Walls
// below (low y) and behind (low z), far field on the other sides.
static void build_mesh(int nx, int ny, int nz, double shear, std::vector<int> &neighbours,
                       std::vector<REAL> &normals)
{
    const int n = nx * ny * nz;
    neighbours.resize(size_t(FACES) * n);
    normals.assign(size_t(FACES) * 3 * n, REAL(0));
    for (int i = 0; i < n; ++i) {
        const int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
        neighbours[0 * n + i] = x > 0 ? i - 1 : OPEN;
        neighbours[1 * n + i] = x < nx - 1 ? i + 1 : OPEN;
        neighbours[2 * n + i] = y > 0 ? i - nx : WALL;
        neighbours[3 * n + i] = y < ny - 1 ? i + nx : OPEN;
        neighbours[4 * n + i] = z > 0 ? i - nx * ny : WALL;
        neighbours[5 * n + i] = z < nz - 1 ? i + nx * ny : OPEN;
        for (int f = 0; f < FACES; ++f) {
            const double sign = f % 2 ? 1.0 : -1.0;
            normals[(f * 3 + f / 2) * n + i] = REAL(sign);
            if (f / 2 == 0)
                normals[(f * 3 + 1) * n + i] = REAL(-sign * shear);
        }
    }
}

int main(int argc, char **argv)
{
    int nx = 32, ny = 32, nz = 32, iterations = 50, threads = 128;
    for (int a = 1; a < argc; ++a) {
        if (!std::strcmp(argv[a], "-nx") && a + 1 < argc) nx = std::atoi(argv[++a]);
        else if (!std::strcmp(argv[a], "-ny") && a + 1 < argc) ny = std::atoi(argv[++a]);
        else if (!std::strcmp(argv[a], "-nz") && a + 1 < argc) nz = std::atoi(argv[++a]);
        else if (!std::strcmp(argv[a], "-i") && a + 1 < argc) iterations = std::atoi(argv[++a]);
        else if (!std::strcmp(argv[a], "-b") && a + 1 < argc) threads = std::atoi(argv[++a]);
        else {
            std::fprintf(stderr, "usage: %s [-nx n] [-ny n] [-nz n] [-i iterations] [-b threads]\n",
                         argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (nx < 1 || ny < 1 || nz < 1 || iterations < 1 || threads < 1 || threads > 1024) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }
    const int n = nx * ny * nz;
    const REAL cfl = REAL(0.9);

    // Density 1.4 and pressure 1 make the speed of sound 1; the flow leans onto the walls.
    const double mach = 0.5, vx = 0.96 * mach, vy = -0.224 * mach, vz = -0.168 * mach;
    FarField far;
    far.u.density = REAL(1.4);
    far.u.momentum.x = REAL(1.4 * vx);
    far.u.momentum.y = REAL(1.4 * vy);
    far.u.momentum.z = REAL(1.4 * vz);
    far.u.energy = REAL(1.0 / 0.4 + 0.5 * 1.4 * (vx * vx + vy * vy + vz * vz));
    far.w = derive(far.u);
    CUDA_CHECK(cudaMemcpyToSymbol(far_field, &far, sizeof(far)));

    std::vector<int> neighbours;
    std::vector<REAL> normals, variables(size_t(VARS) * n);
    build_mesh(nx, ny, nz, 0.25, neighbours, normals);

    int *d_neighbours;
    REAL *d_normals, *d_variables, *d_old, *d_fluxes, *d_step;
    const size_t state_bytes = variables.size() * sizeof(REAL);
    CUDA_CHECK(cudaMalloc(&d_neighbours, neighbours.size() * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&d_normals, normals.size() * sizeof(REAL)));
    CUDA_CHECK(cudaMalloc(&d_variables, state_bytes));
    CUDA_CHECK(cudaMalloc(&d_old, state_bytes));
    CUDA_CHECK(cudaMalloc(&d_fluxes, state_bytes));
    CUDA_CHECK(cudaMalloc(&d_step, n * sizeof(REAL)));
    CUDA_CHECK(cudaMemcpy(d_neighbours, neighbours.data(), neighbours.size() * sizeof(int),
                          cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_normals, normals.data(), normals.size() * sizeof(REAL),
                          cudaMemcpyHostToDevice));

    const int blocks = (n + threads - 1) / threads;
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    initialise<<<blocks, threads>>>(d_variables, n);
    for (int it = 0; it < iterations; ++it) {
        CUDA_CHECK(cudaMemcpy(d_old, d_variables, state_bytes, cudaMemcpyDeviceToDevice));
        compute_step_factor<<<blocks, threads>>>(d_variables, d_normals, d_step, cfl, n);
        for (int stage = 0; stage < STAGES; ++stage) {
            compute_flux<<<blocks, threads>>>(d_neighbours, d_normals, d_variables, d_fluxes, n);
            time_step<<<blocks, threads>>>(stage, d_old, d_variables, d_step, d_fluxes, n);
        }
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_CHECK(cudaMemcpy(variables.data(), d_variables, state_bytes, cudaMemcpyDeviceToHost));

    // The same on the host.
    std::vector<REAL> ref(variables.size()), old, fluxes(variables.size()), step(n);
    for (int i = 0; i < n; ++i)
        store_state(ref.data(), n, i, far.u);
    for (int it = 0; it < iterations; ++it) {
        old = ref;
        for (int i = 0; i < n; ++i)
            step[i] = cell_step(i, n, normals.data(), ref.data(), cfl);
        for (int stage = 0; stage < STAGES; ++stage) {
            for (int i = 0; i < n; ++i)
                store_state(fluxes.data(), n, i,
                            cell_flux(i, n, neighbours.data(), normals.data(), ref.data(), far));
            for (int i = 0; i < n; ++i)
                store_state(ref.data(), n, i,
                            cell_update(i, n, old.data(), step[i] / REAL(STAGES - stage),
                                        fluxes.data()));
        }
    }
    double worst = 0.0, low = variables[0], high = variables[0];
    for (size_t i = 0; i < ref.size(); ++i)
        worst = std::fmax(worst, std::fabs(double(variables[i]) - double(ref[i])));
    for (int i = 0; i < n; ++i) {
        low = std::fmin(low, double(variables[i]));
        high = std::fmax(high, double(variables[i]));
    }
    const double limit = sizeof(REAL) == 8 ? 1e-11 : 1e-3;
    const bool ok = worst <= limit && low > 0.0;
    std::printf("%d cells, %d iterations, %.3f ms, density from %.4f to %.4f\n", n, iterations, ms,
                low, high);
    std::printf("largest difference from the host %.3e (limit %.0e): %s\n", worst, limit,
                ok ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_neighbours));
    CUDA_CHECK(cudaFree(d_normals));
    CUDA_CHECK(cudaFree(d_variables));
    CUDA_CHECK(cudaFree(d_old));
    CUDA_CHECK(cudaFree(d_fluxes));
    CUDA_CHECK(cudaFree(d_step));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
