// Gravitation of n bodies, all pairs, with softening.
//
//   a_i = sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + eps^2)^(3/2)
//
// The bodies pass through shared memory in tiles as large as the block. Steps are leapfrog: velocities
// are half a step ahead of positions.
//
// Build: nvcc -O2 -arch=native nbody.cu -o nbody                        (-DREAL=float for single)
// Run:   ./nbody [-n bodies] [-steps n] [-b threads]

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

#define CUDA_CHECK(call)                                                                   \
    do {                                                                                   \
        cudaError_t status_ = (call);                                                      \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status_));                                     \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

struct __align__(16) Real4 {
    REAL x, y, z, w; // w: the mass of a body; unused in velocities and accelerations
};

__device__ inline void add_pull(Real4 &acc, Real4 at, Real4 body, REAL eps2)
{
    REAL dx = body.x - at.x;
    REAL dy = body.y - at.y;
    REAL dz = body.z - at.z;
    REAL r = rsqrt(dx * dx + dy * dy + dz * dz + eps2);
    REAL s = body.w * r * r * r;
    acc.x += s * dx;
    acc.y += s * dy;
    acc.z += s * dz;
}

// Dynamic shared memory: blockDim.x bodies.
__global__ void body_forces(const Real4 *bodies, Real4 *accelerations, REAL eps2, int n)
{
    extern __shared__ Real4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Real4 nobody = {0, 0, 0, 0};
    Real4 at = i < n ? bodies[i] : nobody;
    Real4 acc = nobody;

    for (int first = 0; first < n; first += blockDim.x) {
        int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : nobody; // no mass, no pull
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k)
            add_pull(acc, at, tile[k], eps2);
        __syncthreads();
    }
    if (i < n)
        accelerations[i] = acc;
}

__global__ void advance(Real4 *bodies, Real4 *velocities, const Real4 *accelerations, REAL dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Real4 v = velocities[i];
    v.x += accelerations[i].x * dt;
    v.y += accelerations[i].y * dt;
    v.z += accelerations[i].z * dt;
    velocities[i] = v;
    bodies[i].x += v.x * dt;
    bodies[i].y += v.y * dt;
    bodies[i].z += v.z * dt;
}

// Sum of m a, which the third law makes zero, and sum of m |a| to measure it by.
static void total_force(const std::vector<Real4> &bodies, const std::vector<Real4> &acc,
                        double &sum, double &size)
{
    double x = 0.0, y = 0.0, z = 0.0;
    size = 0.0;
    for (size_t i = 0; i < bodies.size(); ++i) {
        const double m = bodies[i].w, ax = acc[i].x, ay = acc[i].y, az = acc[i].z;
        x += m * ax;
        y += m * ay;
        z += m * az;
        size += m * std::sqrt(ax * ax + ay * ay + az * az);
    }
    sum = std::sqrt(x * x + y * y + z * z);
}

int main(int argc, char **argv)
{
    int n = 8192, steps = 10, threads = 128;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-n") && i + 1 < argc) n = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-steps") && i + 1 < argc) steps = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-b") && i + 1 < argc) threads = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "usage: %s [-n bodies] [-steps n] [-b threads]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (n < 2 || steps < 1 || threads < 1 || threads > 1024) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    const REAL eps2 = REAL(0.01), dt = REAL(0.01);
    std::mt19937 gen(1);
    std::uniform_real_distribution<double> place(-1.0, 1.0), speed(-0.1, 0.1), mass(0.5, 1.5);
    std::vector<Real4> bodies(n), velocities(n), acc(n);
    for (int i = 0; i < n; ++i) {
        bodies[i].x = REAL(place(gen));
        bodies[i].y = REAL(place(gen));
        bodies[i].z = REAL(place(gen));
        bodies[i].w = REAL(mass(gen) / n);
        velocities[i].x = REAL(speed(gen));
        velocities[i].y = REAL(speed(gen));
        velocities[i].z = REAL(speed(gen));
        velocities[i].w = 0;
    }

    const size_t bytes = n * sizeof(Real4);
    Real4 *d_bodies, *d_velocities, *d_acc;
    CUDA_CHECK(cudaMalloc(&d_bodies, bytes));
    CUDA_CHECK(cudaMalloc(&d_velocities, bytes));
    CUDA_CHECK(cudaMalloc(&d_acc, bytes));
    CUDA_CHECK(cudaMemcpy(d_bodies, bodies.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_velocities, velocities.data(), bytes, cudaMemcpyHostToDevice));

    const int blocks = (n + threads - 1) / threads;
    const size_t shared = threads * sizeof(Real4);
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    for (int s = 0; s < steps; ++s) {
        body_forces<<<blocks, threads, shared>>>(d_bodies, d_acc, eps2, n);
        if (s == steps - 1) // where the last accelerations belong, for the check
            CUDA_CHECK(cudaMemcpy(bodies.data(), d_bodies, bytes, cudaMemcpyDeviceToHost));
        advance<<<blocks, threads>>>(d_bodies, d_velocities, d_acc, dt, n);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_CHECK(cudaMemcpy(acc.data(), d_acc, bytes, cudaMemcpyDeviceToHost));

    double sum, size;
    total_force(bodies, acc, sum, size);
    double worst = 0.0;
    for (int i = 0; i < n; i += n > 64 ? n / 64 : 1) {
        double ax = 0.0, ay = 0.0, az = 0.0;
        for (int j = 0; j < n; ++j) {
            double dx = double(bodies[j].x) - bodies[i].x;
            double dy = double(bodies[j].y) - bodies[i].y;
            double dz = double(bodies[j].z) - bodies[i].z;
            double r2 = dx * dx + dy * dy + dz * dz + double(eps2);
            double s = bodies[j].w / (r2 * std::sqrt(r2));
            ax += s * dx;
            ay += s * dy;
            az += s * dz;
        }
        double err = std::fabs(ax - acc[i].x) + std::fabs(ay - acc[i].y) + std::fabs(az - acc[i].z);
        worst = std::fmax(worst, err / (std::fabs(ax) + std::fabs(ay) + std::fabs(az)));
    }
    const double limit = sizeof(REAL) == 8 ? 1e-11 : 1e-3;
    const bool ok = worst <= limit && sum <= limit * size;
    std::printf("%d bodies, %d steps, %.3f ms, %.2f G pairs/s\n", n, steps, ms,
                double(n) * n * steps / (double(ms) * 1e6));
    std::printf("error of acceleration %.3e, sum of forces %.3e of their size (limit %.0e): %s\n",
                worst, sum / size, limit, ok ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_bodies));
    CUDA_CHECK(cudaFree(d_velocities));
    CUDA_CHECK(cudaFree(d_acc));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
