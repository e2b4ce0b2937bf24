// cuBLAS: results against plain loops, scalars on host and device, and what fails.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <vector>

static int failures = 0;
#define CHECK(c) do { if (!(c)) { printf("line %d: %s\n", __LINE__, #c); failures++; } } while (0)
#define OK(call) CHECK((call) == CUBLAS_STATUS_SUCCESS)

template <typename T> struct Device {
  T *p; size_t n;
  explicit Device(const std::vector<T> &v) : n(v.size()) {
    cudaMalloc(&p, n * sizeof(T));
    cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Device() { cudaFree(p); }
  std::vector<T> get() const {
    std::vector<T> v(n);
    cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
    return v;
  }
};

template <typename T> std::vector<T> numbers(size_t n, int seed) {
  std::vector<T> v(n);
  for (size_t i = 0; i < n; i++) v[i] = T(double((i * 7919 + seed * 104729) % 1009) / 504.0 - 1.0);
  return v;
}

static bool near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * (1 + fabs(b)); }

__global__ void twice(double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

// Takes one of two ways by what a library has written.
__global__ void signs(const double *x, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] > 0 ? 1 : -1;
}

static void vectors(cublasHandle_t h) {
  const int n = 1000;
  auto x = numbers<double>(n, 1), y = numbers<double>(n, 2);
  Device<double> dx(x), dy(y);
  double alpha = 1.5, result = 0, sum = 0, squares = 0, absolute = 0;
  int at = 0, best = 0;
  for (int i = 0; i < n; i++) {
    sum += x[i] * y[i], squares += x[i] * x[i], absolute += fabs(x[i]);
    if (fabs(x[i]) > fabs(x[best])) best = i;
  }
  OK(cublasDdot(h, n, dx.p, 1, dy.p, 1, &result));
  CHECK(near(result, sum, 1e-13));
  OK(cublasDnrm2(h, n, dx.p, 1, &result));
  CHECK(near(result, sqrt(squares), 1e-13));
  OK(cublasDasum(h, n, dx.p, 1, &result));
  CHECK(near(result, absolute, 1e-13));
  OK(cublasIdamax(h, n, dx.p, 1, &at));
  CHECK(at == best + 1);
  twice<<<4, 256>>>(dx.p, n);
  OK(cublasDaxpy(h, n, &alpha, dx.p, 1, dy.p, 1));
  OK(cublasDscal(h, n / 2, &alpha, dy.p, 2));
  auto z = dy.get();
  for (int i = 0; i < n; i++) CHECK(near(z[i], (y[i] + 3 * x[i]) * (i % 2 ? 1 : 1.5), 1e-13));
  // Scalars and results on the device.
  Device<double> scalar({0.5}), out({0.0});
  OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
  OK(cublasDscal(h, n, scalar.p, dy.p, 1));
  OK(cublasDdot(h, 1, dy.p, 1, scalar.p, 1, out.p));
  OK(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
  CHECK(near(out.get()[0], z[0] / 4, 1e-15));
  double *made;
  cudaMalloc(&made, 2 * n * sizeof(double));
  OK(cublasDcopy(h, n, dx.p, 1, made, 1));
  signs<<<4, 256>>>(made, made + n, n);
  OK(cublasDasum(h, n, made + n, 1, &result));
  CHECK(result == n);
  cudaFree(made);
  OK(cublasDotEx(h, n, dx.p, CUDA_R_64F, 1, dx.p, CUDA_R_64F, 1, &result, CUDA_R_64F, CUDA_R_64F));
  CHECK(near(result, 4 * squares, 1e-13));
  // A stride backwards, complex numbers, f32.
  OK(cublasDcopy(h, n, dx.p, -1, dy.p, 1));
  CHECK(dy.get()[0] == 2 * x[n - 1]);
  Device<cuDoubleComplex> c({{1, 2}, {3, -1}});
  cuDoubleComplex product;
  OK(cublasZdotc(h, 2, c.p, 1, c.p, 1, &product));
  CHECK(product.x == 15 && product.y == 0);
  Device<float> f({3, 4});
  float norm;
  OK(cublasSnrm2(h, 2, f.p, 1, &norm));
  CHECK(norm == 5);
}

template <typename T> T element(const std::vector<T> &a, int ld, cublasOperation_t op, int i, int j) {
  return op == CUBLAS_OP_N ? a[j * ld + i] : a[i * ld + j];
}

static cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, double *alpha, double *a,
                           int lda, double *b, int ldb, double *beta, double *c, int ldc) {
  return cublasDgemm(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
static cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, float *alpha, float *a,
                           int lda, float *b, int ldb, float *beta, float *c, int ldc) {
  return cublasSgemm(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <typename T> void products(cublasHandle_t h, double tolerance) {
  const int m = 37, n = 29, k = 53, lda = 60, ldb = 61, ldc = 40;
  cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  for (auto ta : ops)
    for (auto tb : ops) {
      auto a = numbers<T>(lda * 60, 3), b = numbers<T>(ldb * 60, 4), c = numbers<T>(ldc * n, 5);
      Device<T> da(a), db(b), dc(c);
      T alpha = T(1.25), beta = T(-0.5);
      OK(gemm(h, ta, tb, m, n, k, &alpha, da.p, lda, db.p, ldb, &beta, dc.p, ldc));
      auto r = dc.get();
      for (int j = 0; j < n; j++)
        for (int i = 0; i < ldc; i++) {
          double sum = 0;
          for (int l = 0; i < m && l < k; l++) sum += double(element(a, lda, ta, i, l)) * element(b, ldb, tb, l, j);
          double want = i < m ? 1.25 * sum - 0.5 * c[j * ldc + i] : double(c[j * ldc + i]);
          CHECK(near(r[j * ldc + i], want, tolerance));
        }
    }
}

static void batches(cublasHandle_t h) {
  const int n = 8, count = 3;
  auto a = numbers<double>(n * n * count, 6), b = numbers<double>(n * n * count, 7);
  Device<double> da(a), db(b), dc(a), dd(a);
  double one = 1, zero = 0;
  OK(cublasDgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da.p, n, n * n, db.p, n, n * n, &zero, dc.p, n, n * n, count));
  std::vector<double *> pa, pb, pd;
  for (int i = 0; i < count; i++) pa.push_back(da.p + i * n * n), pb.push_back(db.p + i * n * n), pd.push_back(dd.p + i * n * n);
  Device<double *> qa(pa), qb(pb), qd(pd);
  OK(cublasDgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, qa.p, n, qb.p, n, &zero, qd.p, n, count));
  auto c = dc.get(), d = dd.get();
  for (int i = 0; i < n * n * count; i++) CHECK(near(c[i], d[i], 1e-13));
  double sum = 0;
  for (int l = 0; l < n; l++) sum += a[2 * n * n + l * n + 1] * b[2 * n * n + 3 * n + l];
  CHECK(near(c[2 * n * n + 3 * n + 1], sum, 1e-13));
}

static void mixed(cublasHandle_t h) {
  const int n = 16;
  auto f = numbers<float>(n * n, 8);
  std::vector<__half> a(n * n);
  for (int i = 0; i < n * n; i++) a[i] = __float2half(f[i]);
  Device<__half> da(a);
  Device<float> dc(f);
  float one = 1, zero = 0;
  OK(cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, da.p, CUDA_R_16F, n, da.p, CUDA_R_16F, n, &zero, dc.p, CUDA_R_32F, n,
                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  auto c = dc.get();
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int l = 0; l < n; l++) sum += double(__half2float(a[i * n + l])) * __half2float(a[2 * n + l]);
    CHECK(near(c[2 * n + i], sum, 1e-5));
  }
}

static void forms(cublasHandle_t h) {
  const int n = 12, m = 5;
  auto a = numbers<double>(n * n, 9), b = numbers<double>(n * m, 10);
  for (int i = 0; i < n; i++) a[i * n + i] = 4;
  Device<double> da(a), db(b), dx(b), dy(b);
  double one = 1, two = 2, zero = 0;
  // X = 2 inv(A^T) B, then A^T X = 2 B.
  OK(cublasDtrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, n, m, &two, da.p, n, dx.p, n));
  OK(cublasDtrmm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, n, m, &one, da.p, n, dx.p, n, dy.p, n));
  auto y = dy.get();
  for (int i = 0; i < n * m; i++) CHECK(near(y[i], 2 * b[i], 1e-12));
  // The same from the right, with the matrix transposed: B' = X' A.
  Device<double> dt(b), du(b);
  OK(cublasDgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, db.p, n, &zero, db.p, m, dt.p, m));
  OK(cublasDtrsm(h, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, m, n, &two, da.p, n, dt.p, m));
  OK(cublasDgeam(h, CUBLAS_OP_T, CUBLAS_OP_N, n, m, &one, dt.p, m, &zero, dt.p, n, du.p, n));
  auto x = dx.get(), u = du.get();
  for (int i = 0; i < n * m; i++) CHECK(near(u[i], x[i], 1e-12));
  // A matrix times a vector, whole and as a symmetric half.
  Device<double> v(std::vector<double>(n, 1.0)), w(std::vector<double>(n, 0.0));
  OK(cublasDgemv(h, CUBLAS_OP_N, n, n, &one, da.p, n, v.p, 1, &zero, w.p, 1));
  double rows = 0, halves = 0;
  for (int j = 0; j < n; j++) rows += a[j * n + 2], halves += j >= 2 ? a[2 * n + j] : a[j * n + 2];
  CHECK(near(w.get()[2], rows, 1e-13));
  OK(cublasDsymv(h, CUBLAS_FILL_MODE_LOWER, n, &one, da.p, n, v.p, 1, &zero, w.p, 1));
  CHECK(near(w.get()[2], halves, 1e-13));
  OK(cublasDger(h, n, n, &two, v.p, 1, v.p, 1, da.p, n));
  CHECK(near(da.get()[7], a[7] + 2, 1e-15));
}

static void refusals(cublasHandle_t h) {
  Device<double> d(numbers<double>(16, 1));
  double one = 1, host[16] = {};
  CHECK(cublasDgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, -1, 2, 2, &one, d.p, 2, d.p, 2, &one, d.p, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasDgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 2, &one, d.p, 2, d.p, 2, &one, d.p, 2) == CUBLAS_STATUS_INVALID_VALUE);
#ifdef ON_CPU
  CHECK(cublasDscal(h, 100, &one, d.p, 1) == CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(cublasDscal(h, 16, &one, host, 1) == CUBLAS_STATUS_EXECUTION_FAILED);
#endif
  (void)host;
}

int main() {
  cublasHandle_t h;
  OK(cublasCreate(&h));
  cudaStream_t stream, back;
  cudaStreamCreate(&stream);
  OK(cublasSetStream(h, stream));
  OK(cublasGetStream(h, &back));
  CHECK(back == stream);
  OK(cublasSetStream(h, 0));
  OK(cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH));
  // Kerf's own copies.
  std::vector<double> a = numbers<double>(20, 3), b(20);
  Device<double> d(std::vector<double>(40, 0.0));
  OK(cublasSetMatrix(4, 5, sizeof(double), a.data(), 4, d.p, 8));
  OK(cublasGetMatrix(4, 5, sizeof(double), d.p, 8, b.data(), 4));
  CHECK(a == b && d.get()[8] == a[4]);
  OK(cublasSetVector(5, sizeof(double), a.data(), 4, d.p, 1));
  CHECK(d.get()[1] == a[4]);
  vectors(h);
  products<double>(h, 1e-12);
  products<float>(h, 1e-4);
  batches(h);
  mixed(h);
  forms(h);
  refusals(h);
  OK(cublasDestroy(h));
  printf(failures ? "FAIL\n" : "PASS\n");
  return failures != 0;
}
