// Sums: one thread over everything, and a grid of blocks with a tree at the end.
#include "number.h"

template <class N> DEVICE void serial(const N *x, N *out, int n) {
  if (global_x() != 0)
    return;
  N sum = number<N>(0);
  for (int i = 0; i < n; ++i)
    sum = sum + x[i];
  *out = sum;
}

// Each thread sums every (grid size)th element; the block's sums are added pairwise.
template <class N, int THREADS> DEVICE void parallel(const N *x, N *partial, int n) {
  SHARED static N sums[THREADS];
  int t = thread_x(), step = blocks_x() * THREADS;
  N sum = number<N>(0);
  for (int i = global_x(); i < n; i += step)
    sum = sum + x[i];
  sums[t] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half)
      sums[t] = sums[t] + sums[t + half];
  }
  if (t == 0)
    partial[block_x()] = sums[0];
}

#define KERNELS(NAME, N)                                                                           \
  KERNEL void summation_serial_##NAME(const N *x, N *out, int n) { serial<N>(x, out, n); }         \
  KERNEL void summation_parallel_##NAME(const N *x, N *partial, int n) {                           \
    parallel<N, 32>(x, partial, n);                                                                \
  }
FOR_EACH_NUMBER(KERNELS)
