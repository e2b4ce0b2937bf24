// Gaussian elimination without pivoting, one column a step: multipliers, then the rows below.
#include "number.h"

// a is n rows of `width`; column t is being cleared.
template <class N> DEVICE void multipliers(const N *a, N *m, int n, int width, int t) {
  int i = global_x() + t + 1;
  if (i < n)
    m[i] = a[i * width + t] / a[t * width + t];
}

template <class N> DEVICE void rows(N *a, const N *m, int n, int width, int t) {
  int j = global_x() + t, i = global_y() + t + 1;
  if (i < n && j < width)
    a[i * width + j] = a[i * width + j] - m[i] * a[t * width + j];
}

#define KERNELS(NAME, N)                                                                           \
  KERNEL void gaussian_multipliers_##NAME(const N *a, N *m, int n, int width, int t) {             \
    multipliers<N>(a, m, n, width, t);                                                             \
  }                                                                                                \
  KERNEL void gaussian_rows_##NAME(N *a, const N *m, int n, int width, int t) {                    \
    rows<N>(a, m, n, width, t);                                                                    \
  }
FOR_EACH_NUMBER(KERNELS)
