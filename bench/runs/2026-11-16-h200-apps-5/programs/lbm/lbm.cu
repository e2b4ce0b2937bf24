// Channel flow by a lattice Boltzmann method (D2Q9), managed memory, extended lambdas.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <type_traits>
namespace cg = cooperative_groups;
enum class Cell : unsigned char { fluid, wall };
template <class T> class Managed {
  T *p_{}; std::size_t n_{};
 public:
  explicit Managed(std::size_t n) : n_(n) { if (auto e = cudaMallocManaged(&p_, n * sizeof(T)); e) throw std::runtime_error(cudaGetErrorString(e)); }
  ~Managed() { cudaFree(p_); }
  Managed(const Managed &) = delete;
  T *data() const { return p_; }
  T &operator[](std::size_t i) { return p_[i]; }
  const T &operator[](std::size_t i) const { return p_[i]; }
  T *begin() { return p_; } T *end() { return p_ + n_; }
  std::size_t size() const { return n_; }
  void prefetch(int device) const {
#if CUDART_VERSION >= 13000
    cudaMemLocation l{device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device < 0 ? 0 : device};
    cudaMemPrefetchAsync(p_, n_ * sizeof(T), l, 0, 0);
#else
    cudaMemPrefetchAsync(p_, n_ * sizeof(T), device < 0 ? cudaCpuDeviceId : device, 0);
#endif
    cudaGetLastError();
  }
};
struct D2Q9 {
  static constexpr int q = 9;
  __host__ __device__ static constexpr int cx(int k) { constexpr int v[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}; return v[k]; }
  __host__ __device__ static constexpr int cy(int k) { constexpr int v[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1}; return v[k]; }
  __host__ __device__ static constexpr double w(int k) { return k == 0 ? 4.0 / 9 : k < 5 ? 1.0 / 9 : 1.0 / 36; }
  __host__ __device__ static constexpr int opposite(int k) { constexpr int v[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6}; return v[k]; }
};
struct Par { int nx, ny; double omega, force; };
template <class L>
__global__ void collide_stream(Par p, const double *__restrict__ f, double *__restrict__ g, const Cell *__restrict__ cell, double *ux) {
  const int n = p.nx * p.ny;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (cell[i] == Cell::wall) continue;
    const int x = i % p.nx, y = i / p.nx;
    double in[L::q], rho = 0, u = 0, v = 0;
#pragma unroll
    for (int k = 0; k < L::q; k++) {
      const int sx = (x - L::cx(k) + p.nx) % p.nx, sy = y - L::cy(k), s = sy * p.nx + sx;
      in[k] = cell[s] == Cell::wall ? f[L::opposite(k) * n + i] : f[k * n + s];
      rho += in[k]; u += L::cx(k) * in[k]; v += L::cy(k) * in[k];
    }
    u = (u + 0.5 * p.force) / rho; v /= rho;
    const double sq = 1.5 * (u * u + v * v);
#pragma unroll
    for (int k = 0; k < L::q; k++) {
      const double cu = 3.0 * (L::cx(k) * u + L::cy(k) * v);
      const double eq = L::w(k) * rho * (1.0 + cu + 0.5 * cu * cu - sq);
      const double src = (1.0 - 0.5 * p.omega) * L::w(k) * (3.0 * (L::cx(k) - u) + 3.0 * cu * L::cx(k)) * p.force;
      g[k * n + i] = in[k] + p.omega * (eq - in[k]) + src;
    }
    ux[i] = u;
  }
}
template <class F> __global__ void total(int n, F f, double *out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  double s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += f(i);
  s = cg::reduce(warp, s, cg::plus<double>());
  if (warp.thread_rank() == 0) atomicAdd(out, s);
}
int main(int argc, char **argv) {
  int nx = 32, ny = 34, steps = 8000; std::string_view out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view k = argv[i];
    if (k == "-nx") nx = std::atoi(argv[i + 1]); else if (k == "-ny") ny = std::atoi(argv[i + 1]); else if (k == "-steps") steps = std::atoi(argv[i + 1]); else if (k == "-out") out = argv[i + 1];
    else { std::cerr << "what is " << k << "?\n"; return 2; }
  }
  const double tau = 0.9, nu = (tau - 0.5) / 3, umax = 0.05, width = ny - 2;
  const Par p{nx, ny, 1 / tau, 8 * nu * umax / (width * width)};
  const std::size_t n = std::size_t(nx) * ny;
  Managed<double> f(9 * n), g(9 * n), ux(n), sum(1);
  Managed<Cell> cell(n);
  for (std::size_t i = 0; i < n; i++) {
    const auto y = int(i) / nx;
    cell[i] = y == 0 || y == ny - 1 ? Cell::wall : Cell::fluid;
    for (int k = 0; k < 9; k++) f[k * n + i] = g[k * n + i] = D2Q9::w(k);
    ux[i] = 0;
  }
  int device; cudaGetDevice(&device);
  f.prefetch(device); g.prefetch(device);
  const auto t0 = std::chrono::high_resolution_clock::now();
  double *a = f.data(), *b = g.data();
  for (int s = 0; s < steps; s++) { collide_stream<D2Q9><<<(n + 127) / 128, 128>>>(p, a, b, cell.data(), ux.data()); std::swap(a, b); }
  if (auto e = cudaDeviceSynchronize(); e != cudaSuccess) { std::cerr << cudaGetErrorString(e) << '\n'; return 1; }
  const std::chrono::duration<double> dt = std::chrono::high_resolution_clock::now() - t0;
  sum[0] = 0;
  const Cell *cp = cell.data();
  total<<<16, 128>>>(int(n), [a, cp, n] __device__(int i) { double s = 0; if (cp[i] == Cell::fluid) for (int k = 0; k < 9; k++) s += a[k * n + i]; return s; }, sum.data());
  cudaDeviceSynchronize();
  const double mass = sum[0] / (double(nx) * (ny - 2));
  double worst = 0;
  std::ofstream file;
  if (!out.empty()) file.open(std::string(out));
  for (int y = 1; y < ny - 1; y++) {
    const double d = y - 0.5, want = 4 * umax * d * (width - d) / (width * width), got = ux[y * nx + nx / 2];
    worst = std::max(worst, std::fabs(got - want) / umax);
    if (file) file << std::setprecision(17) << y << ' ' << got << '\n';
  }
  std::cout << std::setprecision(10) << "mean density " << mass << "\nlargest deviation from the parabola " << worst << "\nMLUPS " << 1e-6 * n * steps / dt.count() << "\nloop " << dt.count() << " s\n";
  const bool ok = std::fabs(mass - 1) < 1e-9 && worst < (steps >= 8000 ? 2e-2 : 2.0);
  std::cout << (ok ? "OK" : "NOT OK") << '\n';
  return ok ? 0 : 1;
}
