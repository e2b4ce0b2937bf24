#include <getopt.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include "csr.hpp"
int main(int argc, char **argv) try {
  int nx = 96, ny = 96, most = 2000;
  double tol = 1e-10, aniso = 1.0;
  bool jacobi = false;
  static const option longs[] = {{"nx", required_argument, nullptr, 'x'}, {"ny", required_argument, nullptr, 'y'}, {"tol", required_argument, nullptr, 't'}, {"aniso", required_argument, nullptr, 'a'}, {"jacobi", no_argument, nullptr, 'j'}, {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "x:y:t:a:m:j", longs, nullptr)) != -1;) switch (c) {
    case 'x': nx = std::atoi(optarg); break;
    case 'y': ny = std::atoi(optarg); break;
    case 't': tol = std::atof(optarg); break;
    case 'a': aniso = std::atof(optarg); break;
    case 'm': most = std::atoi(optarg); break;
    case 'j': jacobi = true; break;
    default: std::fprintf(stderr, "usage: %s [--nx N] [--ny N] [--tol T] [--aniso A] [--jacobi]\n", argv[0]); return 2;
  }
  cudaDeviceProp prop;
  CU(cudaGetDeviceProperties(&prop, 0));
  std::printf("device %s, %d multiprocessors\n", prop.name, prop.multiProcessorCount);
  auto a = solver::csr_matrix::poisson(nx, ny, aniso);
  std::vector<double> exact(a.rows());
  for (int k = 0; k < a.rows(); ++k) exact[k] = std::sin(0.01 * k) + 0.5 * std::cos(0.3 * (k % nx));
  solver::device_buffer<double> want(exact), b(a.rows()), x(a.rows());
  auto s = solver::make_stream();
  CU(cudaDeviceSynchronize());
  solver::apply(a, want, b, s.get());
  solver::timer t;
  t.start(s.get());
  const auto wall = std::chrono::steady_clock::now();
  const auto [it, res, ok] = solver::conjugate_gradient(a, b, x, tol, most, jacobi, s.get());
  const float ms = t.stop(s.get());
  const double w = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - wall).count();
  const auto got = x.download();
  double worst = 0;
  for (std::size_t k = 0; k < got.size(); ++k) worst = std::max(worst, std::fabs(got[k] - exact[k]));
  std::printf("unknowns %d iterations %d residual %.3e\nlargest error %.6e\nsolve time %.3f ms (wall %.3f ms)\n", a.rows(), it, res, worst, ms, w);
  const bool pass = ok && worst < 1e3 * tol * std::sqrt(double(a.rows())) * 100;
  std::puts(pass ? "TEST PASSED" : "TEST FAILED");
  return pass ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const solver::cuda_error &e) {
  std::fprintf(stderr, "cuda: %s\n", e.what());
  return 3;
}
