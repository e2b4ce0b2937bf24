// Sod's tube by a WENO scheme of fifth order and Runge-Kutta of third; policies as templates.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <vector>
namespace euler {
constexpr double gamma_ = 1.4;
template <typename T, int N> struct Vec {
  T v[N];
  __host__ __device__ constexpr T &operator[](int i) { return v[i]; }
  __host__ __device__ constexpr const T &operator[](int i) const { return v[i]; }
};
using State = Vec<double, 3>;
template <int N> __host__ __device__ constexpr Vec<double, N> operator+(const Vec<double, N> &a, const Vec<double, N> &b) { Vec<double, N> r{}; for (int i = 0; i < N; i++) r[i] = a[i] + b[i]; return r; }
template <int N> __host__ __device__ constexpr Vec<double, N> operator*(double a, const Vec<double, N> &b) { Vec<double, N> r{}; for (int i = 0; i < N; i++) r[i] = a * b[i]; return r; }
__host__ __device__ inline double pressure(const State &u) { return (gamma_ - 1) * (u[2] - 0.5 * u[1] * u[1] / u[0]); }
__host__ __device__ inline State flux(const State &u) { const double p = pressure(u), v = u[1] / u[0]; return {u[1], u[1] * v + p, v * (u[2] + p)}; }
__host__ __device__ inline double speed(const State &u) { return fabs(u[1] / u[0]) + sqrt(gamma_ * pressure(u) / u[0]); }
struct First { static constexpr int reach = 1; __host__ __device__ static double at(double, double, double c, double, double) { return c; } };
struct Weno5 {
  static constexpr int reach = 3;
  __host__ __device__ static double at(double a, double b, double c, double d, double e) {
    const double s0 = 13.0 / 12 * (a - 2 * b + c) * (a - 2 * b + c) + 0.25 * (a - 4 * b + 3 * c) * (a - 4 * b + 3 * c);
    const double s1 = 13.0 / 12 * (b - 2 * c + d) * (b - 2 * c + d) + 0.25 * (b - d) * (b - d);
    const double s2 = 13.0 / 12 * (c - 2 * d + e) * (c - 2 * d + e) + 0.25 * (3 * c - 4 * d + e) * (3 * c - 4 * d + e);
    const double eps = 1e-6, w0 = 0.1 / ((eps + s0) * (eps + s0)), w1 = 0.6 / ((eps + s1) * (eps + s1)), w2 = 0.3 / ((eps + s2) * (eps + s2));
    return (w0 * (2 * a - 7 * b + 11 * c) + w1 * (-b + 5 * c + 2 * d) + w2 * (2 * c + 5 * d - e)) / (6 * (w0 + w1 + w2));
  }
};
template <class Scheme>
__global__ void residual(int n, double dx, const State *u, const double *alpha, State *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double a = *alpha;
  auto cell = [&](int k) -> State { return u[k < 0 ? 0 : k >= n ? n - 1 : k]; };
  auto face = [&](int k) {  // between k - 1 and k
    State r{};
    if constexpr (Scheme::reach == 1) {
      const State l = cell(k - 1), h = cell(k);
      r = 0.5 * (flux(l) + flux(h) + (-a) * (h + (-1.0) * l));
    } else {
      State up[6];
#pragma unroll
      for (int j = 0; j < 6; j++) up[j] = cell(k - 3 + j);
#pragma unroll
      for (int m = 0; m < 3; m++) {
        double p[6], q[6];
#pragma unroll
        for (int j = 0; j < 6; j++) { const double f = flux(up[j])[m]; p[j] = 0.5 * (f + a * up[j][m]); q[j] = 0.5 * (f - a * up[j][m]); }
        r[m] = Scheme::at(p[0], p[1], p[2], p[3], p[4]) + Scheme::at(q[5], q[4], q[3], q[2], q[1]);
      }
    }
    return r;
  };
  out[i] = (1 / dx) * (face(i) + (-1.0) * face(i + 1));
}
__device__ void atomic_max(double *to, double v) {
  unsigned long long *p = reinterpret_cast<unsigned long long *>(to), old = *p, seen;
  do { seen = old; if (__longlong_as_double(seen) >= v) break; old = atomicCAS(p, seen, __double_as_longlong(v)); } while (old != seen);
}
__global__ void fastest(int n, const State *u, double *alpha) {
  __shared__ double most[8];
  double v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v = fmax(v, speed(u[i]));
  for (int o = 16; o; o >>= 1) v = fmax(v, __shfl_down_sync(~0u, v, o));
  if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) { for (int w = 1; w < blockDim.x / 32; w++) v = fmax(v, most[w]); atomic_max(alpha, v); }
}
template <int STAGE> __global__ void combine(int n, double dt, const State *u0, const State *u, const State *l, State *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if constexpr (STAGE == 0) out[i] = u[i] + dt * l[i];
  else if constexpr (STAGE == 1) out[i] = 0.75 * u0[i] + 0.25 * (u[i] + dt * l[i]);
  else out[i] = (1.0 / 3) * u0[i] + (2.0 / 3) * (u[i] + dt * l[i]);
}
struct Exact { double rho, v, p; };
static std::tuple<double, double> star() {
  double p = 0.3;
  auto f = [](double p, double r, double pk) { const double a = std::sqrt(gamma_ * pk / r); if (p > pk) { const double A = 2 / ((gamma_ + 1) * r), B = (gamma_ - 1) / (gamma_ + 1) * pk; return (p - pk) * std::sqrt(A / (p + B)); } return 2 * a / (gamma_ - 1) * (std::pow(p / pk, (gamma_ - 1) / (2 * gamma_)) - 1); };
  double lo = 1e-6, hi = 2;
  for (int k = 0; k < 200; k++) { p = 0.5 * (lo + hi); (f(p, 1, 1) + f(p, 0.125, 0.1) > 0 ? hi : lo) = p; }
  return {p, 0.5 * (f(p, 0.125, 0.1) - f(p, 1, 1))};
}
static Exact exact(double s) {
  const auto [p, v] = star();
  const double aL = std::sqrt(gamma_), aR = std::sqrt(gamma_ * 0.1 / 0.125);
  if (s < v) {
    const double head = -aL, aS = aL * std::pow(p, (gamma_ - 1) / (2 * gamma_)), tail = v - aS;
    if (s < head) return {1, 0, 1};
    if (s > tail) return {std::pow(p, 1 / gamma_), v, p};
    const double u = 2 / (gamma_ + 1) * (aL + s), a = 2 / (gamma_ + 1) * (aL - 0.5 * (gamma_ - 1) * s);
    const double r = std::pow(a / aL, 2 / (gamma_ - 1)); return {r, u, std::pow(a / aL, 2 * gamma_ / (gamma_ - 1))};
  }
  const double ratio = p / 0.1, shock = aR * std::sqrt((gamma_ + 1) / (2 * gamma_) * ratio + (gamma_ - 1) / (2 * gamma_));
  if (s > shock) return {0.125, 0, 0.1};
  return {0.125 * (ratio + (gamma_ - 1) / (gamma_ + 1)) / ((gamma_ - 1) / (gamma_ + 1) * ratio + 1), v, p};
}
}  // namespace euler
using namespace euler;
#define TRY(c) if (cudaError_t e = (c)) { std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); std::exit(EXIT_FAILURE); }
template <class Scheme> static double solve(int n, double until, std::vector<State> &u, int &steps) {
  State *d[4]; double *alpha;
  for (auto &p : d) TRY(cudaMalloc((void **)&p, n * sizeof(State)));
  TRY(cudaMalloc((void **)&alpha, sizeof(double)));
  TRY(cudaMemcpy(d[0], u.data(), n * sizeof(State), cudaMemcpyHostToDevice));
  const double dx = 1.0 / n; double t = 0; const dim3 b(128), g((n + 127) / 128);
  for (steps = 0; t < until; steps++) {
    double a; TRY(cudaMemset(alpha, 0, sizeof a));
    fastest<<<32, 256>>>(n, d[0], alpha);
    TRY(cudaMemcpy(&a, alpha, sizeof a, cudaMemcpyDeviceToHost));
    const double dt = std::min(0.4 * dx / a, until - t);
    residual<Scheme><<<g, b>>>(n, dx, d[0], alpha, d[3]); combine<0><<<g, b>>>(n, dt, d[0], d[0], d[3], d[1]);
    residual<Scheme><<<g, b>>>(n, dx, d[1], alpha, d[3]); combine<1><<<g, b>>>(n, dt, d[0], d[1], d[3], d[2]);
    residual<Scheme><<<g, b>>>(n, dx, d[2], alpha, d[3]); combine<2><<<g, b>>>(n, dt, d[0], d[2], d[3], d[1]);
    std::swap(d[0], d[1]); t += dt;
  }
  TRY(cudaGetLastError());
  TRY(cudaMemcpy(u.data(), d[0], n * sizeof(State), cudaMemcpyDeviceToHost));
  for (auto p : d) cudaFree(p); cudaFree(alpha);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += std::fabs(u[i][0] - exact(((i + 0.5) * dx - 0.5) / until).rho) * dx;
  return sum;
}
int main(int argc, char **argv) {
  int n = 400; bool first = false;
  for (int i = 1; i < argc; i++) { if (!std::strcmp(argv[i], "--first")) first = true; else if (int k = std::atoi(argv[i]); k > 9) n = k; else { std::fprintf(stderr, "usage: weno [cells] [--first]\n"); return 2; } }
  std::vector<State> u(n);
  for (int i = 0; i < n; i++) u[i] = i < n / 2 ? State{1, 0, 1 / 0.4} : State{0.125, 0, 0.1 / 0.4};
  int steps; const double error = first ? solve<First>(n, 0.2, u, steps) : solve<Weno5>(n, 0.2, u, steps);
  double mass = 0; for (auto &s : u) mass += s[0] / n;
  std::printf("cells %d steps %d\nL1 error of density %.8e\nmass %.15f\n", n, steps, error, mass);
  const bool ok = error < (first ? 6.0 : 1.2) / n * 2.2 && std::fabs(mass - 0.5625) < (first ? 1e-9 : 1e-12);
  std::puts(ok ? "check: passed" : "check: FAILED");
  return ok ? 0 : 1;
}
