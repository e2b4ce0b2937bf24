#pragma once
#include "buffer.hpp"
namespace solver {
struct csr_view { int rows; const int *start; const int *col; const double *val; };
class csr_matrix {
 public:
  csr_matrix(std::vector<int> start, std::vector<int> col, std::vector<double> val);
  csr_view view() const { return {rows_, start_.get(), col_.get(), val_.get()}; }
  int rows() const { return rows_; }
  const std::vector<double> &diagonal() const { return diag_; }
  static csr_matrix poisson(int nx, int ny, double aniso);
 private:
  int rows_;
  device_buffer<int> start_, col_;
  device_buffer<double> val_;
  std::vector<double> diag_;
};
struct cg_result { int iterations; double residual; bool converged; };
void apply(const csr_matrix &a, const device_buffer<double> &x, device_buffer<double> &y, cudaStream_t s);
cg_result conjugate_gradient(const csr_matrix &a, const device_buffer<double> &b, device_buffer<double> &x, double tol, int most, bool jacobi, cudaStream_t s);
}
