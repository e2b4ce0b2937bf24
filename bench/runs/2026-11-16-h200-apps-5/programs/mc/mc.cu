// Asian option by Monte Carlo with CURAND's device functions.
#include <cuda_runtime.h>
#include <curand_kernel.h>
#include <cstdio>
#include <cmath>
#include <cstdlib>
#include <vector>
struct Option { double spot, strike, rate, sigma, years; int dates; };
template <typename State>
__global__ void setup(State *states, unsigned long long seed) { int i = blockIdx.x * blockDim.x + threadIdx.x; curand_init(seed, i, 0, &states[i]); }
template <typename State>
__global__ void paths(State *states, Option o, int per_thread, double *sum, double *square, double *control) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  State s = states[i];
  double dt = o.years / o.dates, drift = (o.rate - 0.5 * o.sigma * o.sigma) * dt, vol = o.sigma * sqrt(dt), a = 0, b = 0, c = 0;
  for (int k = 0; k < per_thread; k++) {
    double x = log(o.spot), mean = 0;
    for (int d = 0; d < o.dates; d++) { x += drift + vol * curand_normal_double(&s); mean += exp(x); }
    double pay = exp(-o.rate * o.years) * fmax(mean / o.dates - o.strike, 0.0);
    a += pay; b += pay * pay; c += exp(x - o.rate * o.years);
  }
  states[i] = s; sum[i] = a; square[i] = b; control[i] = c;
}
int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 4096, per = argc > 2 ? atoi(argv[2]) : 16;
  Option o{100, 100, 0.05, 0.2, 1.0, 12};
  curandStatePhilox4_32_10_t *st; double *d;
  cudaMalloc(&st, threads * sizeof *st); cudaMalloc(&d, 3 * threads * sizeof(double));
  setup<<<threads / 128, 128>>>(st, 1234ULL);
  paths<<<threads / 128, 128>>>(st, o, per, d, d + threads, d + 2 * threads);
  std::vector<double> h(3 * threads);
  if (cudaMemcpy(h.data(), d, h.size() * 8, cudaMemcpyDeviceToHost) != cudaSuccess) { puts(cudaGetErrorString(cudaGetLastError())); return 1; }
  double a = 0, b = 0, c = 0; long n = (long)threads * per;
  for (int i = 0; i < threads; i++) { a += h[i]; b += h[threads + i]; c += h[2 * threads + i]; }
  double price = a / n, error = sqrt((b / n - price * price) / n);
  printf("price %.6f +- %.6f, forward %.4f\n", price, error, c / n);
  bool ok = fabs(c / n - 100) < 1.0 && fabs(price - 6.15) < 6 * error + 0.05;
  puts(ok ? "PASS" : "FAIL"); return !ok;
}
