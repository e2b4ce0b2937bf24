// cuFFT, cuSPARSE and cuSOLVER, by declarations of their interfaces: NVIDIA's libraries do the work on a GPU.
#include <cmath>
#include <cstdio>
#include <cuComplex.h>
#include <vector>

extern "C" {
int cufftPlan1d(int *plan, int n, int type, int batch);
int cufftExecZ2Z(int plan, cuDoubleComplex *in, cuDoubleComplex *out, int direction);
int cufftDestroy(int plan);
int cusparseCreate(void **handle);
int cusparseXcoo2csr(void *handle, const int *rows, int nonzeros, int m, int *starts, int base);
int cusparseDestroy(void *handle);
int cusolverDnCreate(void **handle);
int cusolverDnDpotrf_bufferSize(void *handle, int half, int n, double *a, int lda, int *words);
int cusolverDnDpotrf(void *handle, int half, int n, double *a, int lda, double *room, int words, int *info);
int cusolverDnDestroy(void *handle);
}

static int failures = 0;
#define CHECK(c) do { if (!(c)) { printf("line %d: %s\n", __LINE__, #c); failures++; } } while (0)

template <typename T> T *device(const std::vector<T> &v) {
  T *p;
  cudaMalloc(&p, v.size() * sizeof(T));
  cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}

template <typename T> std::vector<T> host(const T *p, size_t n) {
  std::vector<T> v(n);
  cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
  return v;
}

int main() {
  const int n = 8, z2z = 0x69;
  std::vector<cuDoubleComplex> wave(n);
  for (int i = 0; i < n; i++) wave[i] = {cos(2 * M_PI * i / n), 0};
  auto *w = device(wave);
  int plan;
  CHECK(cufftPlan1d(&plan, n, z2z, 1) == 0 && cufftExecZ2Z(plan, w, w, -1) == 0);
  auto spectrum = host(w, n);
  for (int i = 0; i < n; i++) CHECK(fabs(spectrum[i].x - (i == 1 || i == n - 1 ? n / 2 : 0)) < 1e-12);
  CHECK(cufftDestroy(plan) == 0);

  void *h;
  int *rows = device(std::vector<int>{0, 0, 2, 2, 2}), *starts = device(std::vector<int>(4, -1));
  CHECK(cusparseCreate(&h) == 0 && cusparseXcoo2csr(h, rows, 5, 3, starts, 0) == 0);
  CHECK(host(starts, 4) == (std::vector<int>{0, 2, 2, 5}));
  CHECK(cusparseDestroy(h) == 0);

  double *a = device(std::vector<double>{4, 2, 2, 5});
  int words = 0, *info = device(std::vector<int>{1});
  CHECK(cusolverDnCreate(&h) == 0 && cusolverDnDpotrf_bufferSize(h, 0, 2, a, 2, &words) == 0);
  double *room = device(std::vector<double>(words + 1));
  CHECK(cusolverDnDpotrf(h, 0, 2, a, 2, room, words, info) == 0);
  auto l = host(a, 4);
  CHECK(host(info, 1)[0] == 0 && l[0] == 2 && l[1] == 1 && l[3] == 2);
  CHECK(cusolverDnDestroy(h) == 0);
  printf(failures ? "FAIL\n" : "PASS\n");
  return failures != 0;
}
