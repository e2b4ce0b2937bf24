#include "kernels.cuh"
#include <algorithm>
#include <cmath>
namespace solver {
namespace {
constexpr int kBlock = 256;
inline int grid_for(std::size_t n, int most = 1024) { return static_cast<int>(std::min<std::size_t>((n + kBlock - 1) / kBlock, most)); }

template <int LANES>
__global__ void spmv(csr_view a, const double *__restrict__ x, double *__restrict__ y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const int lane = threadIdx.x % LANES;
  double sum = 0;
  if (row < a.rows)
    for (int k = a.start[row] + lane; k < a.start[row + 1]; k += LANES) sum += a.val[k] * x[a.col[k]];
#pragma unroll
  for (int o = LANES / 2; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o, LANES);
  if (row < a.rows && lane == 0) y[row] = sum;
}
__global__ void dot(int n, const double *__restrict__ x, const double *__restrict__ y, double *out) {
  double s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i] * y[i];
  s = block_sum(s);
  if (threadIdx.x == 0) atomicAdd(out, s);
}
template <typename F>
__global__ void for_each(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
struct axpy_op { double a; const double *x; double *y; __device__ void operator()(int i) const { y[i] = fma(a, x[i], y[i]); } };
struct xpay_op { double b; const double *x; double *y; __device__ void operator()(int i) const { y[i] = x[i] + b * y[i]; } };
struct scale_op { const double *d, *r; double *z; __device__ void operator()(int i) const { z[i] = d[i] * r[i]; } };
template <typename F> void run(int n, F f, cudaStream_t s) { for_each<<<grid_for(n), kBlock, 0, s>>>(n, f); CU(cudaGetLastError()); }

double dot_host(const device_buffer<double> &x, const device_buffer<double> &y, device_buffer<double> &tmp, cudaStream_t s) {
  double r = 0;
  tmp.zero(s);
  dot<<<grid_for(x.size(), 264), kBlock, 0, s>>>(static_cast<int>(x.size()), x.get(), y.get(), tmp.get());
  CU(cudaGetLastError());
  CU(cudaMemcpyAsync(&r, tmp.get(), sizeof r, cudaMemcpyDeviceToHost, s));
  CU(cudaStreamSynchronize(s));
  return r;
}
}  // namespace

csr_matrix::csr_matrix(std::vector<int> start, std::vector<int> col, std::vector<double> val)
    : rows_(static_cast<int>(start.size()) - 1), start_(start), col_(col), val_(val), diag_(rows_) {
  for (int i = 0; i < rows_; ++i)
    for (int k = start[i]; k < start[i + 1]; ++k)
      if (col[k] == i) diag_[i] = val[k];
  CU(cudaDeviceSynchronize());
}
csr_matrix csr_matrix::poisson(int nx, int ny, double aniso) {
  std::vector<int> start{0}, col;
  std::vector<double> val;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      auto put = [&](int a, int b, double v) { if (a >= 0 && a < nx && b >= 0 && b < ny) { col.push_back(b * nx + a); val.push_back(v); } };
      put(i, j - 1, -aniso); put(i - 1, j, -1.0); put(i, j, 2.0 + 2.0 * aniso); put(i + 1, j, -1.0); put(i, j + 1, -aniso);
      start.push_back(static_cast<int>(col.size()));
    }
  return csr_matrix(std::move(start), std::move(col), std::move(val));
}
void apply(const csr_matrix &a, const device_buffer<double> &x, device_buffer<double> &y, cudaStream_t s) {
  constexpr int lanes = 4;
  spmv<lanes><<<(a.rows() * lanes + kBlock - 1) / kBlock, kBlock, 0, s>>>(a.view(), x.get(), y.get());
  CU(cudaGetLastError());
}
cg_result conjugate_gradient(const csr_matrix &a, const device_buffer<double> &b, device_buffer<double> &x, double tol, int most, bool jacobi, cudaStream_t s) {
  const int n = a.rows();
  device_buffer<double> r(n), p(n), q(n), z(n), tmp(1), inv;
  std::vector<double> d(a.diagonal());
  for (auto &v : d) v = jacobi ? 1.0 / v : 1.0;
  inv = device_buffer<double>(d);
  CU(cudaMemcpyAsync(r.get(), b.get(), n * sizeof(double), cudaMemcpyDeviceToDevice, s));
  x.zero(s);
  run(n, scale_op{inv.get(), r.get(), z.get()}, s);
  CU(cudaMemcpyAsync(p.get(), z.get(), n * sizeof(double), cudaMemcpyDeviceToDevice, s));
  double rz = dot_host(r, z, tmp, s);
  const double stop = tol * std::sqrt(dot_host(b, b, tmp, s));
  double norm = std::sqrt(dot_host(r, r, tmp, s));
  int it = 0;
  for (; it < most && norm > stop; ++it) {
    apply(a, p, q, s);
    const double alpha = rz / dot_host(p, q, tmp, s);
    run(n, axpy_op{alpha, p.get(), x.get()}, s);
    run(n, axpy_op{-alpha, q.get(), r.get()}, s);
    run(n, scale_op{inv.get(), r.get(), z.get()}, s);
    const double next = dot_host(r, z, tmp, s);
    run(n, xpay_op{next / rz, z.get(), p.get()}, s);
    rz = next;
    norm = std::sqrt(dot_host(r, r, tmp, s));
  }
  return {it, norm, norm <= stop};
}
}  // namespace solver
