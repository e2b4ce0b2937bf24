// Shock: a point explosion in a quarter of a plane, on a mesh that moves with the gas.
//
//   shock [-n elements_a_side] [-s steps] [-e energy] [-o file] [-q]
//
// Mirroring the plane at its diagonal changes nothing, so a computation without rounding would be symmetric:
// what it is short of that is an error measure that needs no reference. Total energy is conserved by the
// method, which is the self-check.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mesh.h"

#define CHECK(call)                                                                   \
  do {                                                                                \
    cudaError_t error = (call);                                                       \
    if (error != cudaSuccess) {                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));  \
      exit(2);                                                                        \
    }                                                                                 \
  } while (0)

static const int THREADS = 256;

static int blocks(int n) { return (n + THREADS - 1) / THREADS; }

static double *array(size_t n) {
  double *p;
  CHECK(cudaMalloc(&p, n * sizeof(double)));
  CHECK(cudaMemset(p, 0, n * sizeof(double)));
  return p;
}

static std::vector<double> host(const double *p, size_t n) {
  std::vector<double> v(n);
  CHECK(cudaMemcpy(v.data(), p, n * sizeof(double), cudaMemcpyDeviceToHost));
  return v;
}

static double total_energy(const Mesh &m) {
  int elements = m.n * m.n, nodes = (m.n + 1) * (m.n + 1);
  auto em = host(m.element_mass, elements), e = host(m.energy, elements);
  auto mass = host(m.mass, nodes), u = host(m.u, nodes), v = host(m.v, nodes);
  double sum = 0.0;
  for (int k = 0; k < elements; k++) sum += em[k] * e[k];
  for (int k = 0; k < nodes; k++) sum += 0.5 * mass[k] * (u[k] * u[k] + v[k] * v[k]);
  return sum;
}

int main(int argc, char **argv) {
  int n = 48, steps = 120;
  double source = 0.25;
  bool quiet = false;
  const char *out = nullptr;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "-n") && i + 1 < argc) n = atoi(argv[++i]);
    else if (!strcmp(argv[i], "-s") && i + 1 < argc) steps = atoi(argv[++i]);
    else if (!strcmp(argv[i], "-e") && i + 1 < argc) source = atof(argv[++i]);
    else if (!strcmp(argv[i], "-o") && i + 1 < argc) out = argv[++i];
    else if (!strcmp(argv[i], "-q")) quiet = true;
    else {
      fprintf(stderr, "usage: %s [-n elements_a_side] [-s steps] [-e energy] [-o file] [-q]\n", argv[0]);
      return 1;
    }
  }
  if (n < 2 || n > 8192 || steps < 1) {
    fprintf(stderr, "expected 2 to 8192 elements a side and at least one step\n");
    return 1;
  }
  int elements = n * n, nodes = (n + 1) * (n + 1);
  Gas gas = {1.4, 0.5, 1.333, 0.03};
  Mesh m;
  m.n = n;
  for (double **p : {&m.x, &m.y, &m.u, &m.v, &m.ub, &m.vb, &m.mass}) *p = array(nodes);
  for (double **p : {&m.element_mass, &m.area, &m.rate, &m.energy, &m.pressure, &m.sound, &m.viscosity})
    *p = array(elements);
  m.fx = array(4 * elements);
  m.fy = array(4 * elements);
  double *limits = array(blocks(elements));

  place_nodes<<<blocks(nodes), THREADS>>>(n, m.x, m.y, m.u, m.v);
  fill_elements<<<blocks(elements), THREADS>>>(n, m.x, m.y, 1.0, source, 1e-6, m.element_mass, m.area, m.energy);
  node_masses<<<blocks(nodes), THREADS>>>(n, m.element_mass, m.mass);
  CHECK(cudaGetLastError());
  double before = total_energy(m);

  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  double t = 0.0, dt = 1e-6;
  for (int step = 0; step < steps; step++) {
    element_geometry<<<blocks(elements), THREADS>>>(n, m.x, m.y, m.u, m.v, m.area, m.rate);
    equation_of_state<<<blocks(elements), THREADS>>>(elements, gas, m.element_mass, m.area, m.energy, m.pressure, m.sound);
    artificial_viscosity<<<blocks(elements), THREADS>>>(elements, gas, m.element_mass, m.area, m.rate, m.sound, m.viscosity);
    time_limits<<<blocks(elements), THREADS>>>(elements, m.area, m.rate, m.sound, limits);
    std::vector<double> least(blocks(elements));
    CHECK(cudaMemcpy(least.data(), limits, least.size() * sizeof(double), cudaMemcpyDeviceToHost));
    double bound = 1e30;
    for (double l : least) bound = fmin(bound, l);
    dt = fmin(0.2 * bound, 1.1 * dt);
    corner_forces<<<blocks(elements), THREADS>>>(n, m.x, m.y, m.pressure, m.viscosity, m.fx, m.fy);
    hourglass_forces<<<blocks(elements), THREADS>>>(n, gas, m.u, m.v, m.element_mass, m.area, m.sound, m.fx, m.fy);
    accelerate<<<blocks(nodes), THREADS>>>(n, dt, m.fx, m.fy, m.mass, m.u, m.v, m.ub, m.vb);
    do_work<<<blocks(elements), THREADS>>>(n, dt, m.fx, m.fy, m.ub, m.vb, m.element_mass, m.energy);
    move_nodes<<<blocks(nodes), THREADS>>>(nodes, dt, m.ub, m.vb, m.x, m.y);
    CHECK(cudaGetLastError());
    t += dt;
    if (!quiet && (step + 1) % 40 == 0) printf("step %4d  time %.6e  dt %.6e\n", step + 1, t, dt);
  }
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float ms = 0.0f;
  CHECK(cudaEventElapsedTime(&ms, begin, end));

  auto energy = host(m.energy, elements);
  auto area = host(m.area, elements);
  double most = 0.0, all = 0.0, relative = 0.0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) {
      double a = energy[j * n + i], b = energy[i * n + j], d = fabs(a - b);
      most = fmax(most, d);
      all += d;
      relative = fmax(relative, d / (fabs(a) + 1e-30));
    }
  double after = total_energy(m), drift = fabs(after - before) / before;
  double inner = 0.0;
  for (double e : energy) inner += e;
  printf("elements %d  steps %d  time %.15e\n", elements, steps, t);
  printf("origin energy %.15e\n", energy[0]);
  printf("mean energy %.15e\n", inner / elements);
  printf("symmetry error %.6e  sum %.6e  relative %.6e\n", most, all, relative);
  printf("energy drift %.6e\n", drift);
  printf("kernel loop %.6f ms\n", ms);
  if (out) {
    FILE *f = fopen(out, "w");
    if (!f) {
      perror(out);
      return 2;
    }
    for (int k = 0; k < elements; k++) fprintf(f, "%.17g %.17g\n", energy[k], area[k]);
    fclose(f);
  }
  // Rounding alone; a plan that lowers precision is judged by its tolerance, not by this.
  bool ok = std::isfinite(after) && drift < 1e-3 && energy[0] > 0.0;
  printf("%s\n", ok ? "PASS" : "FAIL");
  return ok ? 0 : 3;
}
