// The matrix Q of an iterative reconstruction of magnetic resonance images from samples that do not lie
// on a grid: for each voxel x, the sum over the samples k of the trajectory
//
//   Q(x) = sum_k |phi(k)|^2 exp(2 pi i k . x)
//
// phi_magnitude forms |phi|^2; compute_q adds the samples in constant memory to the sums of all voxels.
// More samples than constant memory holds are taken in chunks.
//
// Build: nvcc -O2 -arch=native mri_q.cu -o mri_q                        (-DREAL=float for single)
// Run:   ./mri_q [-x voxels] [-k samples] [-b threads]

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

#ifndef CHUNK
#define CHUNK 256 // samples in constant memory
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

struct KPoint {
    REAL x, y, z;
};

__constant__ KPoint k_points[CHUNK];
__constant__ REAL k_magnitude[CHUNK];

__global__ void phi_magnitude(const REAL *phi_r, const REAL *phi_i, REAL *magnitude, int samples)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < samples)
        magnitude[k] = phi_r[k] * phi_r[k] + phi_i[k] * phi_i[k];
}

__global__ void compute_q(const REAL *x, const REAL *y, const REAL *z, REAL *q_r, REAL *q_i,
                          int voxels, int samples)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= voxels)
        return;

    const REAL two_pi = REAL(6.28318530717958647693);
    const REAL vx = x[v];
    const REAL vy = y[v];
    const REAL vz = z[v];
    REAL sum_r = q_r[v];
    REAL sum_i = q_i[v];
    for (int k = 0; k < samples; ++k) {
        REAL angle = two_pi * (k_points[k].x * vx + k_points[k].y * vy + k_points[k].z * vz);
        sum_r += k_magnitude[k] * cos(angle);
        sum_i += k_magnitude[k] * sin(angle);
    }
    q_r[v] = sum_r;
    q_i[v] = sum_i;
}

static REAL *to_device(const std::vector<REAL> &v)
{
    REAL *d;
    CUDA_CHECK(cudaMalloc(&d, v.size() * sizeof(REAL)));
    CUDA_CHECK(cudaMemcpy(d, v.data(), v.size() * sizeof(REAL), cudaMemcpyHostToDevice));
    return d;
}

int main(int argc, char **argv)
{
    int voxels = 32 * 32 * 32, samples = 2048, threads = 256;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-x") && i + 1 < argc) voxels = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-k") && i + 1 < argc) samples = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-b") && i + 1 < argc) threads = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "usage: %s [-x voxels] [-k samples] [-b threads]\n", argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (voxels < 1 || samples < 1 || threads < 1 || threads > 1024) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    std::mt19937 gen(1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::vector<KPoint> k(samples);
    std::vector<REAL> phi_r(samples), phi_i(samples);
    std::vector<REAL> x(voxels), y(voxels), z(voxels), q_r(voxels), q_i(voxels);
    for (int s = 0; s < samples; ++s) {
        k[s].x = REAL(8.0 * unit(gen) - 4.0);
        k[s].y = REAL(8.0 * unit(gen) - 4.0);
        k[s].z = REAL(8.0 * unit(gen) - 4.0);
        phi_r[s] = REAL(2.0 * unit(gen) - 1.0);
        phi_i[s] = REAL(2.0 * unit(gen) - 1.0);
    }
    for (int v = 0; v < voxels; ++v) {
        x[v] = REAL(unit(gen));
        y[v] = REAL(unit(gen));
        z[v] = REAL(unit(gen));
    }

    REAL *d_phi_r = to_device(phi_r), *d_phi_i = to_device(phi_i);
    REAL *d_x = to_device(x), *d_y = to_device(y), *d_z = to_device(z);
    REAL *d_magnitude, *d_q_r, *d_q_i;
    CUDA_CHECK(cudaMalloc(&d_magnitude, samples * sizeof(REAL)));
    CUDA_CHECK(cudaMalloc(&d_q_r, voxels * sizeof(REAL)));
    CUDA_CHECK(cudaMalloc(&d_q_i, voxels * sizeof(REAL)));
    CUDA_CHECK(cudaMemset(d_q_r, 0, voxels * sizeof(REAL)));
    CUDA_CHECK(cudaMemset(d_q_i, 0, voxels * sizeof(REAL)));

    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    phi_magnitude<<<(samples + threads - 1) / threads, threads>>>(d_phi_r, d_phi_i, d_magnitude,
                                                                  samples);
    for (int first = 0; first < samples; first += CHUNK) {
        const int count = samples - first < CHUNK ? samples - first : CHUNK;
        CUDA_CHECK(cudaMemcpyToSymbol(k_points, &k[first], count * sizeof(KPoint)));
        CUDA_CHECK(cudaMemcpyToSymbol(k_magnitude, d_magnitude + first, count * sizeof(REAL), 0,
                                      cudaMemcpyDeviceToDevice));
        compute_q<<<(voxels + threads - 1) / threads, threads>>>(d_x, d_y, d_z, d_q_r, d_q_i,
                                                                 voxels, count);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_CHECK(cudaMemcpy(q_r.data(), d_q_r, voxels * sizeof(REAL), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(q_i.data(), d_q_i, voxels * sizeof(REAL), cudaMemcpyDeviceToHost));

    // A few voxels in double, measured by the sum of the magnitudes.
    double worst = 0.0, total = 0.0;
    for (int s = 0; s < samples; ++s)
        total += double(phi_r[s]) * phi_r[s] + double(phi_i[s]) * phi_i[s];
    for (int v = 0; v < voxels; v += voxels > 64 ? voxels / 64 : 1) {
        double r = 0.0, i = 0.0;
        for (int s = 0; s < samples; ++s) {
            double m = double(phi_r[s]) * phi_r[s] + double(phi_i[s]) * phi_i[s];
            double t = 6.28318530717958647693 *
                       (double(k[s].x) * x[v] + double(k[s].y) * y[v] + double(k[s].z) * z[v]);
            r += m * std::cos(t);
            i += m * std::sin(t);
        }
        worst = std::fmax(worst, std::fabs(q_r[v] - r) / total);
        worst = std::fmax(worst, std::fabs(q_i[v] - i) / total);
    }
    const double limit = sizeof(REAL) == 8 ? 1e-13 : 1e-5;
    std::printf("%d voxels, %d samples, %.3f ms\n", voxels, samples, ms);
    std::printf("largest error %.3e of the sum of magnitudes (limit %.0e): %s\n", worst, limit,
                worst <= limit ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    REAL *all[] = {d_phi_r, d_phi_i, d_x, d_y, d_z, d_magnitude, d_q_r, d_q_i};
    for (REAL *p : all)
        CUDA_CHECK(cudaFree(p));
    return worst <= limit ? EXIT_SUCCESS : EXIT_FAILURE;
}
