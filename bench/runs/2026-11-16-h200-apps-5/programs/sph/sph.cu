// Smoothed particles in a periodic box; cells by Thrust, sums by CUB.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <thrust/sequence.h>
#include <thrust/transform_reduce.h>
#include <thrust/inner_product.h>
#include <thrust/binary_search.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/gather.h>
#include <thrust/extrema.h>
#include <cub/cub.cuh>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

struct Box { double length; int cells; __host__ __device__ double wrap(double d) const { return d - length * rint(d / length); } };
struct CellOf {
  Box box;
  __host__ __device__ int operator()(const double3 &p) const {
    auto c = [&](double x) { int i = (int)floor(x / box.length * box.cells); return (i % box.cells + box.cells) % box.cells; };
    return (c(p.z) * box.cells + c(p.y)) * box.cells + c(p.x);
  }
};
__host__ __device__ inline double kernel_w(double q, double h) {
  const double s = 1.0 / (M_PI * h * h * h);
  if (q >= 2.0) return 0.0;
  if (q >= 1.0) { double t = 2.0 - q; return 0.25 * s * t * t * t; }
  return s * (1.0 - 1.5 * q * q + 0.75 * q * q * q);
}
__host__ __device__ inline double kernel_dw(double q, double h) {
  const double s = 1.0 / (M_PI * h * h * h * h);
  if (q >= 2.0) return 0.0;
  if (q >= 1.0) { double t = 2.0 - q; return -0.75 * s * t * t; }
  return s * (-3.0 * q + 2.25 * q * q);
}
template <class F>
__device__ void neighbours(const double3 me, const double3 *pos, const int *start, const int *stop, Box box, F &&f) {
  const int n = box.cells;
  auto c = [&](double x) { int i = (int)floor(x / box.length * n); return (i % n + n) % n; };
  const int cx = c(me.x), cy = c(me.y), cz = c(me.z);
  for (int dz = -1; dz <= 1; dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const int cell = (((cz + dz + n) % n) * n + (cy + dy + n) % n) * n + (cx + dx + n) % n;
        for (int j = start[cell]; j < stop[cell]; j++) {
          const double3 o = pos[j];
          f(j, double3{box.wrap(me.x - o.x), box.wrap(me.y - o.y), box.wrap(me.z - o.z)});
        }
      }
}
__global__ void density(int n, const double3 *pos, const int *start, const int *stop, Box box, double mass, double h, double *rho, double *pressure) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0.0;
  neighbours(pos[i], pos, start, stop, box, [&](int, double3 d) { sum += mass * kernel_w(sqrt(d.x * d.x + d.y * d.y + d.z * d.z) / h, h); });
  rho[i] = sum;
  pressure[i] = pow(sum, 1.4);
}
__global__ void forces(int n, const double3 *pos, const int *start, const int *stop, Box box, double mass, double h, const double *rho, const double *pressure, double3 *acc) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double3 a{0, 0, 0};
  const double mine = pressure[i] / (rho[i] * rho[i]);
  neighbours(pos[i], pos, start, stop, box, [&](int j, double3 d) {
    const double r = sqrt(d.x * d.x + d.y * d.y + d.z * d.z);
    if (j == i || r == 0.0) return;
    const double f = -mass * (mine + pressure[j] / (rho[j] * rho[j])) * kernel_dw(r / h, h) / r;
    a.x += f * d.x; a.y += f * d.y; a.z += f * d.z;
  });
  acc[i] = a;
}
__global__ void move(int n, double dt, double length, double3 *pos, double3 *vel, const double3 *acc) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double3 v = vel[i], p = pos[i];
  v.x += dt * acc[i].x; v.y += dt * acc[i].y; v.z += dt * acc[i].z;
  p.x += dt * v.x; p.y += dt * v.y; p.z += dt * v.z;
  p.x -= length * floor(p.x / length); p.y -= length * floor(p.y / length); p.z -= length * floor(p.z / length);
  vel[i] = v; pos[i] = p;
}
__global__ void momentum(int n, const double3 *vel, double mass, double *out) {
  using Reduce = cub::BlockReduce<double, 128>;
  __shared__ typename Reduce::TempStorage tmp;
  double x = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += mass * (vel[i].x + vel[i].y + vel[i].z);
  double s = Reduce(tmp).Sum(x);
  if (threadIdx.x == 0) out[blockIdx.x] = s;
}
struct Kinetic { double m; __host__ __device__ double operator()(const double3 &v) const { return 0.5 * m * (v.x * v.x + v.y * v.y + v.z * v.z); } };
static double sum_by_cub(const thrust::device_vector<double> &v) {
  void *tmp = nullptr; size_t bytes = 0;
  thrust::device_vector<double> out(1);
  cub::DeviceReduce::Sum(tmp, bytes, v.data().get(), out.data().get(), (int)v.size());
  if (cudaMalloc(&tmp, bytes) != cudaSuccess) std::abort();
  cub::DeviceReduce::Sum(tmp, bytes, v.data().get(), out.data().get(), (int)v.size());
  cudaFree(tmp);
  return out[0];
}
int main(int argc, char **argv) {
  const int side = argc > 1 ? std::stoi(argv[1]) : 12, steps = argc > 2 ? std::stoi(argv[2]) : 5;
  const int n = side * side * side;
  const double length = 1.0, h = 1.3 * length / side, mass = 1.0 / n, dt = 2e-4;
  Box box{length, std::max(3, (int)(length / (2 * h)))};
  std::mt19937_64 rng(42);
  std::uniform_real_distribution<double> jitter(-0.2, 0.2);
  thrust::host_vector<double3> hp(n), hvv(n);
  for (int k = 0; k < n; k++) {
    const int x = k % side, y = k / side % side, z = k / side / side;
    hp[k] = {(x + 0.5 + jitter(rng)) / side, (y + 0.5 + jitter(rng)) / side, (z + 0.5 + jitter(rng)) / side};
    hvv[k] = {0, 0, 0};
  }
  thrust::device_vector<double3> pos = hp, vel = hvv, acc(n), tmp3(n);
  thrust::device_vector<double> rho(n), pressure(n), part(32);
  thrust::device_vector<int> cell(n), order(n), start(box.cells * box.cells * box.cells), stop(start.size());
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); cudaEventRecord(a);
  const int blocks = (n + 127) / 128;
  for (int s = 0; s < steps; s++) {
    thrust::transform(pos.begin(), pos.end(), cell.begin(), CellOf{box});
    thrust::sequence(order.begin(), order.end());
    thrust::stable_sort_by_key(cell.begin(), cell.end(), order.begin());
    thrust::gather(order.begin(), order.end(), pos.begin(), tmp3.begin()); pos.swap(tmp3);
    thrust::gather(order.begin(), order.end(), vel.begin(), tmp3.begin()); vel.swap(tmp3);
    thrust::counting_iterator<int> first(0);
    thrust::lower_bound(cell.begin(), cell.end(), first, first + (int)start.size(), start.begin());
    thrust::upper_bound(cell.begin(), cell.end(), first, first + (int)stop.size(), stop.begin());
    density<<<blocks, 128>>>(n, pos.data().get(), start.data().get(), stop.data().get(), box, mass, h, rho.data().get(), pressure.data().get());
    forces<<<blocks, 128>>>(n, pos.data().get(), start.data().get(), stop.data().get(), box, mass, h, rho.data().get(), pressure.data().get(), acc.data().get());
    move<<<blocks, 128>>>(n, dt, length, pos.data().get(), vel.data().get(), acc.data().get());
  }
  cudaEventRecord(b); cudaEventSynchronize(b);
  if (cudaError_t e = cudaGetLastError()) { std::cerr << cudaGetErrorString(e) << "\n"; return 1; }
  float ms; cudaEventElapsedTime(&ms, a, b);
  momentum<<<32, 128>>>(n, vel.data().get(), mass, part.data().get());
  const double p = thrust::reduce(part.begin(), part.end(), 0.0);
  const double kinetic = thrust::transform_reduce(vel.begin(), vel.end(), Kinetic{mass}, 0.0, thrust::plus<double>());
  const double mean = sum_by_cub(rho) / n;
  auto ends = thrust::minmax_element(rho.begin(), rho.end());
  const double least = *ends.first, most = *ends.second;
  // The host has the last density by all pairs, in the order that the particles have now, one step later.
  thrust::host_vector<double3> last = pos;
  std::cout << "particles " << n << " cells " << box.cells << "^3 steps " << steps << "\n";
  std::cout.precision(12);
  std::cout << "momentum " << p << "\nkinetic energy " << kinetic << "\nmean density " << mean << " from " << least << " to " << most << "\ntime " << ms << " ms\n";
  density<<<blocks, 128>>>(n, pos.data().get(), start.data().get(), stop.data().get(), box, mass, h, rho.data().get(), pressure.data().get());
  thrust::host_vector<double> dens = rho;
  double worst = 0;
  for (int i = 0; i < n; i += 97) {
    double sum = 0;
    for (int j = 0; j < n; j++) { double x = box.wrap(last[i].x - last[j].x), y = box.wrap(last[i].y - last[j].y), z = box.wrap(last[i].z - last[j].z); sum += mass * kernel_w(std::sqrt(x * x + y * y + z * z) / h, h); }
    worst = std::max(worst, std::fabs(sum - dens[i]) / sum);
  }
  std::cout << "density against all pairs " << worst << "\n";
  const bool ok = std::fabs(p) < 1e-12 && kinetic > 0 && std::fabs(mean - 1.0) < 0.1 && worst < 2e-2;
  std::cout << (ok ? "Verification successful" : "Verification FAILED") << std::endl;
  return !ok;
}
