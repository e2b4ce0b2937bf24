// Heat in a box: explicit steps with the 7-point stencil in three dimensions.
//
//   u'(x,y,z) = u + c (sum of the six neighbours - 6 u),   0 < c <= 1/6
//
// The arrays have a border of one cell around nx x ny x nz that keeps its values. A block owns a tile
// in x and y and marches through z: the plane at hand is in shared memory with a halo, the values above
// and below in registers. The two buffers change places after every step.
//
// Build: nvcc -O2 -arch=native stencil.cu -o stencil                    (-DREAL=float for single)
// Run:   ./stencil [-nx n] [-ny n] [-nz n] [-steps n] [-bx threads] [-by threads]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
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

// Dynamic shared memory: (blockDim.x + 2) * (blockDim.y + 2) values.
template <typename T>
__global__ void heat_step(const T *in, T *out, T c, int nx, int ny, int nz)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T *tile = reinterpret_cast<T *>(shared_bytes);

    const int pitch = blockDim.x + 2;
    const int lx = threadIdx.x + 1;
    const int ly = threadIdx.y + 1;
    const int x = blockIdx.x * blockDim.x + lx; // 1 .. nx inside, 0 and nx + 1 border
    const int y = blockIdx.y * blockDim.y + ly;
    const bool present = x <= nx + 1 && y <= ny + 1;
    const bool inside = x <= nx && y <= ny;

    const int row = nx + 2;
    const int plane = row * (ny + 2);
    int at = plane + y * row + x;

    T below = present ? in[at - plane] : T(0);
    T here = present ? in[at] : T(0);
    for (int z = 1; z <= nz; ++z) {
        T above = present ? in[at + plane] : T(0);

        __syncthreads();
        tile[ly * pitch + lx] = here;
        if (threadIdx.x == 0 && present)
            tile[ly * pitch] = in[at - 1];
        if (threadIdx.x == blockDim.x - 1 && inside)
            tile[ly * pitch + lx + 1] = in[at + 1];
        if (threadIdx.y == 0 && present)
            tile[lx] = in[at - row];
        if (threadIdx.y == blockDim.y - 1 && inside)
            tile[(ly + 1) * pitch + lx] = in[at + row];
        __syncthreads();

        if (inside) {
            T around = tile[ly * pitch + lx - 1] + tile[ly * pitch + lx + 1] +
                       tile[(ly - 1) * pitch + lx] + tile[(ly + 1) * pitch + lx] + below + above;
            out[at] = here + c * (around - T(6) * here);
        }
        below = here;
        here = above;
        at += plane;
    }
}

static void host_step(const std::vector<double> &in, std::vector<double> &out, double c, int nx,
                      int ny, int nz)
{
    const size_t row = nx + 2, plane = row * (ny + 2);
    for (int z = 1; z <= nz; ++z)
        for (int y = 1; y <= ny; ++y)
            for (int x = 1; x <= nx; ++x) {
                const size_t i = z * plane + y * row + x;
                out[i] = in[i] + c * (in[i - 1] + in[i + 1] + in[i - row] + in[i + row] +
                                      in[i - plane] + in[i + plane] - 6.0 * in[i]);
            }
}

int main(int argc, char **argv)
{
    int nx = 128, ny = 128, nz = 128, steps = 20, bx = 32, by = 8;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "-nx") && i + 1 < argc) nx = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-ny") && i + 1 < argc) ny = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-nz") && i + 1 < argc) nz = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-steps") && i + 1 < argc) steps = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-bx") && i + 1 < argc) bx = std::atoi(argv[++i]);
        else if (!std::strcmp(argv[i], "-by") && i + 1 < argc) by = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr,
                         "usage: %s [-nx n] [-ny n] [-nz n] [-steps n] [-bx threads] [-by threads]\n",
                         argv[0]);
            return EXIT_FAILURE;
        }
    }
    if (nx < 1 || ny < 1 || nz < 1 || nx > 1022 || ny > 1022 || nz > 1022 || steps < 1 || bx < 1 ||
        by < 1 || bx * by > 1024) {
        std::fprintf(stderr, "bad size\n");
        return EXIT_FAILURE;
    }

    const REAL c = REAL(0.125);
    const size_t count = size_t(nx + 2) * (ny + 2) * (nz + 2);
    std::mt19937 gen(1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::vector<REAL> u(count);
    for (REAL &v : u)
        v = REAL(unit(gen));
    std::vector<double> ref(u.begin(), u.end()), ref_next(ref);

    REAL *d_u, *d_next;
    const size_t bytes = count * sizeof(REAL);
    CUDA_CHECK(cudaMalloc(&d_u, bytes));
    CUDA_CHECK(cudaMalloc(&d_next, bytes));
    CUDA_CHECK(cudaMemcpy(d_u, u.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_next, d_u, bytes, cudaMemcpyDeviceToDevice)); // the border of both

    const dim3 block(bx, by);
    const dim3 grid((nx + bx - 1) / bx, (ny + by - 1) / by);
    const size_t shared = size_t(bx + 2) * (by + 2) * sizeof(REAL);
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    CUDA_CHECK(cudaEventRecord(start));
    for (int s = 0; s < steps; ++s) {
        heat_step<REAL><<<grid, block, shared>>>(d_u, d_next, c, nx, ny, nz);
        std::swap(d_u, d_next);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    CUDA_CHECK(cudaMemcpy(u.data(), d_u, bytes, cudaMemcpyDeviceToHost));

    for (int s = 0; s < steps; ++s) {
        host_step(ref, ref_next, double(c), nx, ny, nz);
        ref.swap(ref_next);
    }
    double worst = 0.0;
    for (size_t i = 0; i < count; ++i)
        worst = std::fmax(worst, std::fabs(double(u[i]) - ref[i]));
    const double limit = sizeof(REAL) == 8 ? 1e-14 : 1e-5;
    std::printf("%d x %d x %d, %d steps, %.3f ms, %.2f G points/s\n", nx, ny, nz, steps, ms,
                double(nx) * ny * nz * steps / (double(ms) * 1e6));
    std::printf("largest absolute error %.3e (limit %.0e): %s\n", worst, limit,
                worst <= limit ? "PASSED" : "FAILED");

    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    CUDA_CHECK(cudaFree(d_u));
    CUDA_CHECK(cudaFree(d_next));
    return worst <= limit ? EXIT_SUCCESS : EXIT_FAILURE;
}
