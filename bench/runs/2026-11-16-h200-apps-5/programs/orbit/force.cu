#include "potential.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
__constant__ double c_eps2;
__device__ double3 newton(double3 r, double eps2) { double d = dot3(r, r) + eps2; double i = rsqrt(d); return (i * i * i) * r; }
__device__ double3 yukawa(double3 r, double eps2) { double d = sqrt(dot3(r, r) + eps2), k = 0.1; return (exp(-k * d) * (1.0 + k * d) / (d * d * d)) * r; }
__device__ Force d_force;
__device__ Force d_newton = newton, d_yukawa = yukawa;
__device__ double pair_energy(double3 r, double eps2, bool screened) { double d = sqrt(dot3(r, r) + eps2); return screened ? exp(-0.1 * d) / d : 1.0 / d; }
static bool screened = false;
#define OK(x) do { cudaError_t err_ = (x); if (err_) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(err_)); exit(1); } } while (0)
void choose(const char *name) {
  Force f;
  screened = !strcmp(name, "yukawa");
  OK(screened ? cudaMemcpyFromSymbol(&f, d_yukawa, sizeof f) : cudaMemcpyFromSymbol(&f, d_newton, sizeof f));
  OK(cudaMemcpyToSymbol(d_force, &f, sizeof f));
  double e = 1e-4; OK(cudaMemcpyToSymbol(c_eps2, &e, sizeof e, 0, cudaMemcpyHostToDevice));
}
__global__ void accelerations(const Body *b, double3 *acc, int n) {
  extern __shared__ double4 tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double3 me = i < n ? b[i].x : make_double3(0, 0, 0), a = make_double3(0, 0, 0);
  Force f = d_force;
  for (int t = 0; t < n; t += blockDim.x) {
    int j = t + threadIdx.x;
    tile[threadIdx.x] = j < n ? make_double4(b[j].x.x, b[j].x.y, b[j].x.z, b[j].m) : make_double4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < blockDim.x; k++) {
      double4 o = tile[k];
      a = a + o.w * f(make_double3(o.x - me.x, o.y - me.y, o.z - me.z), c_eps2);
    }
    __syncthreads();
  }
  if (i < n) acc[i] = a;
}
__global__ void kick(Body *b, const double3 *acc, int n, double dt) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i].v = b[i].v + dt * acc[i]; }
__global__ void drift(Body *b, int n, double dt) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i].x = b[i].x + dt * b[i].v; }
__global__ void energies(const Body *b, int n, double *e, bool scr) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s = 0.5 * b[i].m * dot3(b[i].v, b[i].v);
  for (int j = 0; j < n; j++) if (j != i) s -= 0.5 * b[i].m * b[j].m * pair_energy(b[i].x + -1.0 * b[j].x, c_eps2, scr);
  e[i] = s;
}
void advance(Body *b, double3 *acc, int n, double dt, cudaStream_t s) {
  const int t = 64, g = (n + t - 1) / t;
  accelerations<<<g, t, t * sizeof(double4), s>>>(b, acc, n);
  kick<<<g, t, 0, s>>>(b, acc, n, dt / 2);
  drift<<<g, t, 0, s>>>(b, n, dt);
  accelerations<<<g, t, t * sizeof(double4), s>>>(b, acc, n);
  kick<<<g, t, 0, s>>>(b, acc, n, dt / 2);
  OK(cudaPeekAtLastError());
}
double total_energy_on_device(const Body *b, int n, double *scratch, cudaStream_t s) {
  double *h; OK(cudaHostAlloc(&h, n * sizeof(double), cudaHostAllocDefault));
  energies<<<(n + 63) / 64, 64, 0, s>>>(b, n, scratch, screened);
  OK(cudaMemcpyAsync(h, scratch, n * sizeof(double), cudaMemcpyDeviceToHost, s)); OK(cudaStreamSynchronize(s));
  double e = 0; for (int i = 0; i < n; i++) e += h[i];
  cudaFreeHost(h); return e;
}
