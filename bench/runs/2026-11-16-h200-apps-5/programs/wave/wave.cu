// Acoustic waves in a box: eighth order in space, second in time, a source in the middle, sponge at the walls.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>
#include <algorithm>
#define R 4
#define BX 32
#define BY 8
__constant__ double c_coef[R + 1];
__constant__ struct { double dt2, h2inv, damp; int sponge; } c_par;
__device__ double d_energy;
__device__ unsigned int d_bad = 0;
#define CK(c) do { cudaError_t e = c; if (e != cudaSuccess) { printf("error %s at line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
static void fail(const char *what) { printf("FAILED: %s\n", what); exit(1); }

__host__ __device__ inline size_t at(int x, int y, int z, size_t pitch, int ny) { return ((size_t)z * ny + y) * pitch + x; }

__global__ void __launch_bounds__(BX * BY) step(const double *__restrict__ u, double *__restrict__ un, const double *__restrict__ vel, int nx, int ny, int nz, size_t pitch, int z0, int z1) {
  __shared__ double tile[BY + 2 * R][BX + 2 * R];
  const int x = blockIdx.x * BX + threadIdx.x, y = blockIdx.y * BY + threadIdx.y;
  const bool in = x < nx && y < ny;
  double col[2 * R + 1];
#pragma unroll
  for (int k = 0; k < 2 * R; k++) { int z = z0 + k - R; col[k + 1] = in && z >= 0 && z < nz ? u[at(x, y, z, pitch, ny)] : 0.0; }
  for (int z = z0; z < z1; z++) {
#pragma unroll
    for (int k = 0; k < 2 * R; k++) col[k] = col[k + 1];
    col[2 * R] = in && z + R < nz ? u[at(x, y, z + R, pitch, ny)] : 0.0;
    __syncthreads();
    for (int j = threadIdx.y; j < BY + 2 * R; j += BY)
      for (int i = threadIdx.x; i < BX + 2 * R; i += BX) {
        int gx = blockIdx.x * BX + i - R, gy = blockIdx.y * BY + j - R;
        tile[j][i] = gx >= 0 && gx < nx && gy >= 0 && gy < ny ? u[at(gx, gy, z, pitch, ny)] : 0.0;
      }
    __syncthreads();
    if (!in) continue;
    const int tx = threadIdx.x + R, ty = threadIdx.y + R;
    double lap = 3.0 * c_coef[0] * col[R];
#pragma unroll
    for (int k = 1; k <= R; k++)
      lap += c_coef[k] * (tile[ty][tx - k] + tile[ty][tx + k] + tile[ty - k][tx] + tile[ty + k][tx] + col[R - k] + col[R + k]);
    const size_t i = at(x, y, z, pitch, ny);
    const int edge = min(min(min(x, nx - 1 - x), min(y, ny - 1 - y)), min(z, nz - 1 - z));
    double v = 2.0 * col[R] - un[i] + c_par.dt2 * vel[i] * vel[i] * c_par.h2inv * lap;
    if (edge < c_par.sponge) { double s = c_par.damp * (c_par.sponge - edge); v *= exp(-s * s); }
    if (!isfinite(v)) atomicAdd(&d_bad, 1u);
    un[i] = v;
  }
}
__global__ void inject(double *u, size_t i, double amplitude) { u[i] += amplitude; }
__global__ void energy(const double *u, int nx, int ny, int nz, size_t pitch) {
  double s = 0;
  for (size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x; k < (size_t)nx * ny * nz; k += (size_t)gridDim.x * blockDim.x) {
    int x = k % nx, y = k / nx % ny, z = k / ((size_t)nx * ny);
    double v = u[at(x, y, z, pitch, ny)];
    s += v * v;
  }
  extern __shared__ double sh[];
  sh[threadIdx.x] = s;
  __syncthreads();
  for (int n = blockDim.x / 2; n; n >>= 1) { if (threadIdx.x < n) sh[threadIdx.x] += sh[threadIdx.x + n]; __syncthreads(); }
  if (!threadIdx.x) atomicAdd(&d_energy, sh[0]);
}
static double ricker(double t, double f) { double a = M_PI * f * (t - 1.2 / f); a *= a; return (1 - 2 * a) * exp(-a); }

int main(int argc, char **argv) {
  int n = 48, steps = 40; bool verify = true; const char *dump = nullptr;
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "--n=", 4)) n = atoi(argv[i] + 4);
    else if (!strncmp(argv[i], "--steps=", 8)) steps = atoi(argv[i] + 8);
    else if (!strcmp(argv[i], "--no-verify")) verify = false;
    else if (!strncmp(argv[i], "--dump=", 7)) dump = argv[i] + 7;
    else { fprintf(stderr, "unknown option %s\n", argv[i]); return 2; }
  }
  const int nx = n, ny = n - 4, nz = n - 8;
  const double h = 10.0, dt = 1e-3, f = 25.0;
  const double coef[R + 1] = {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
  struct { double dt2, h2inv, damp; int sponge; } par = {dt * dt, 1 / (h * h), 0.015, 8};
  CK(cudaMemcpyToSymbol(c_coef, coef, sizeof coef));
  CK(cudaMemcpyToSymbol(c_par, &par, sizeof par));
  double *u, *un, *vel; size_t pitch_bytes, pb2;
  CK(cudaMallocPitch(&u, &pitch_bytes, nx * sizeof(double), ny * nz));
  CK(cudaMallocPitch(&un, &pb2, nx * sizeof(double), ny * nz));
  CK(cudaMallocPitch(&vel, &pb2, nx * sizeof(double), ny * nz));
  const size_t pitch = pitch_bytes / sizeof(double);
  CK(cudaMemset2D(u, pitch_bytes, 0, nx * sizeof(double), ny * nz));
  CK(cudaMemset2D(un, pitch_bytes, 0, nx * sizeof(double), ny * nz));
  std::vector<double> hv((size_t)nx * ny * nz);
  for (int z = 0; z < nz; z++) for (int y = 0; y < ny; y++) for (int x = 0; x < nx; x++) hv[at(x, y, z, nx, ny)] = z < nz / 2 ? 1500.0 : 2200.0 + 3.0 * x;
  CK(cudaMemcpy2D(vel, pitch_bytes, hv.data(), nx * sizeof(double), nx * sizeof(double), ny * nz, cudaMemcpyHostToDevice));
  cudaStream_t st[2]; cudaEvent_t done[2], begin, end;
  for (int i = 0; i < 2; i++) { CK(cudaStreamCreate(&st[i])); CK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming)); }
  CK(cudaEventCreate(&begin)); CK(cudaEventCreate(&end));
  dim3 block(BX, BY), grid((nx + BX - 1) / BX, (ny + BY - 1) / BY);
  const size_t src = at(nx / 2, ny / 2, nz / 3, pitch, ny);
  CK(cudaDeviceSynchronize());
  CK(cudaEventRecord(begin, st[0]));
  for (int s = 0; s < steps; s++) {
    inject<<<1, 1, 0, st[0]>>>(u, src, ricker(s * dt, f));
    CK(cudaEventRecord(done[0], st[0])); CK(cudaStreamWaitEvent(st[1], done[0], 0));
    step<<<grid, block, 0, st[0]>>>(u, un, vel, nx, ny, nz, pitch, 0, nz / 2);
    step<<<grid, block, 0, st[1]>>>(u, un, vel, nx, ny, nz, pitch, nz / 2, nz);
    CK(cudaEventRecord(done[1], st[1])); CK(cudaStreamWaitEvent(st[0], done[1], 0));
    std::swap(u, un);
  }
  CK(cudaEventRecord(end, st[0])); CK(cudaEventSynchronize(end)); CK(cudaGetLastError());
  float ms; CK(cudaEventElapsedTime(&ms, begin, end));
  double zero = 0, sum; CK(cudaMemcpyToSymbol(d_energy, &zero, sizeof zero));
  energy<<<64, 256, 256 * sizeof(double)>>>(u, nx, ny, nz, pitch);
  CK(cudaMemcpyFromSymbol(&sum, d_energy, sizeof sum));
  unsigned bad; CK(cudaMemcpyFromSymbol(&bad, d_bad, sizeof bad));
  std::vector<double> got((size_t)nx * ny * nz);
  CK(cudaMemcpy2D(got.data(), nx * sizeof(double), u, pitch_bytes, nx * sizeof(double), ny * nz, cudaMemcpyDeviceToHost));
  printf("grid %d x %d x %d, %d steps\nfield energy %.12e\nloop time %.4f ms, %.2f Mpoints/s\n", nx, ny, nz, steps, sum, ms, 1e-3 * nx * ny * nz * steps / ms);
  if (bad) fail("not finite");
  if (dump) { FILE *o = fopen(dump, "wb"); fwrite(got.data(), 8, got.size(), o); fclose(o); }
  if (verify) {
    std::vector<double> a(got.size()), b(got.size());
    auto g = [&](const std::vector<double> &v, int x, int y, int z) { return x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz ? 0.0 : v[at(x, y, z, nx, ny)]; };
    for (int s = 0; s < steps; s++) {
      a[at(nx / 2, ny / 2, nz / 3, nx, ny)] += ricker(s * dt, f);
      for (int z = 0; z < nz; z++) for (int y = 0; y < ny; y++) for (int x = 0; x < nx; x++) {
        double lap = 3 * coef[0] * g(a, x, y, z);
        for (int k = 1; k <= R; k++) lap += coef[k] * (g(a, x - k, y, z) + g(a, x + k, y, z) + g(a, x, y - k, z) + g(a, x, y + k, z) + g(a, x, y, z - k) + g(a, x, y, z + k));
        size_t i = at(x, y, z, nx, ny); int edge = std::min({x, nx - 1 - x, y, ny - 1 - y, z, nz - 1 - z});
        double v = 2 * a[i] - b[i] + par.dt2 * hv[i] * hv[i] * par.h2inv * lap;
        if (edge < par.sponge) { double t = par.damp * (par.sponge - edge); v *= exp(-t * t); }
        b[i] = v;
      }
      a.swap(b);
    }
    double worst = 0, most = 0;
    for (size_t i = 0; i < got.size(); i++) { worst = std::max(worst, fabs(got[i] - a[i])); most = std::max(most, fabs(a[i])); }
    printf("largest difference %.3e of %.3e\n", worst, most);
    if (!(worst <= 1e-11 * most)) fail("differs from the host");
  }
  puts("PASSED");
  for (auto &s : st) cudaStreamDestroy(s);
  cudaFree(u); cudaFree(un); cudaFree(vel);
  return 0;
}
