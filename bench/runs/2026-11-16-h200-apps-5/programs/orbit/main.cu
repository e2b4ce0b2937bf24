#include "potential.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>
class Integrator {
 public:
  virtual ~Integrator() = default;
  virtual void step(double dt) = 0;
  virtual double energy() const = 0;
};
class Leapfrog final : public Integrator {
 public:
  explicit Leapfrog(const std::vector<Body> &b) : n_(int(b.size())) {
    cudaStreamCreate(&s_); cudaMalloc(&b_, n_ * sizeof(Body)); cudaMallocAsync((void **)&acc_, n_ * sizeof(double3), s_); cudaMalloc(&scratch_, n_ * sizeof(double));
    cudaMemcpyAsync(b_, b.data(), n_ * sizeof(Body), cudaMemcpyHostToDevice, s_);
  }
  ~Leapfrog() override { cudaStreamSynchronize(s_); cudaFree(b_); cudaFreeAsync(acc_, s_); cudaFree(scratch_); cudaStreamDestroy(s_); }
  void step(double dt) override { advance(b_, acc_, n_, dt, s_); }
  double energy() const override { return total_energy_on_device(b_, n_, scratch_, s_); }
  std::vector<Body> bodies() const { std::vector<Body> v(n_); cudaMemcpyAsync(v.data(), b_, n_ * sizeof(Body), cudaMemcpyDeviceToHost, s_); cudaStreamSynchronize(s_); return v; }
 private:
  int n_; Body *b_{}; double3 *acc_{}; double *scratch_{}; cudaStream_t s_{};
};
int main(int argc, char *argv[]) {
  const std::string force = argc > 1 ? argv[1] : "newton";
  const int n = argc > 2 ? std::atoi(argv[2]) : 192, steps = argc > 3 ? std::atoi(argv[3]) : 50;
  choose(force.c_str());
  std::mt19937 g(7); std::normal_distribution<double> d(0, 1);
  std::vector<Body> b(n);
  for (auto &x : b) x = {{d(g), d(g), d(g)}, {0.3 * d(g), 0.3 * d(g), 0.3 * d(g)}, 1.0 / n};
  auto sim = std::make_unique<Leapfrog>(b);
  const double before = sim->energy();
  cudaEvent_t t0, t1; cudaEventCreate(&t0); cudaEventCreate(&t1); cudaEventRecord(t0);
  for (int i = 0; i < steps; i++) sim->step(1e-3);
  cudaEventRecord(t1); cudaEventSynchronize(t1);
  const double after = sim->energy(); float ms; cudaEventElapsedTime(&ms, t0, t1);
  double px = 0; for (auto &x : sim->bodies()) px += x.m * x.v.x;
  double p0 = 0; for (auto &x : b) p0 += x.m * x.v.x;
  std::printf("%s, %d bodies, %d steps: energy %.12e to %.12e\nmomentum changed by %.3e\nelapsed %.3f ms\n", force.c_str(), n, steps, before, after, px - p0, ms);
  const bool ok = std::fabs((after - before) / before) < 1e-5 && std::fabs(px - p0) < 1e-12;
  std::printf("%s\n", ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
