// The natural exponential: each value once, with the terms that a series took; and many times, for time.
#include "number.h"

template <class N, class E> DEVICE void values(const N *x, N *out, int *terms, int n) {
  int i = global_x();
  if (i >= n)
    return;
  int count = 0;
  out[i] = E::exp(x[i], &count);
  terms[i] = count;
}

// The sum keeps the results alive; n is a power of two.
template <class N, class E>
DEVICE void rounds(const N *x, typename traits<N>::word *out, int n, int rounds) {
  int i = global_x(), count;
  typename traits<N>::word sum = 0;
  for (int r = 0; r < rounds; ++r)
    sum += high(E::exp(x[(i + r) & (n - 1)], &count));
  out[i] = sum;
}

#define KERNELS(NAME, N, E)                                                                        \
  KERNEL void exponential_##NAME(const N *x, N *out, int *terms, int n) {                          \
    values<N, E>(x, out, terms, n);                                                                \
  }                                                                                                \
  KERNEL void exponential_time_##NAME(const N *x, traits<N>::word *out, int n, int count) {        \
    rounds<N, E>(x, out, n, count);                                                                \
  }
FOR_EACH_EXPONENTIAL(KERNELS)
