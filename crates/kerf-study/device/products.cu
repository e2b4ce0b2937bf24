// Chains of multiplications, one a thread.
#include "number.h"

// Chain c multiplies x[c], x[c + chains], ... The start is read anew in each round, so that rounds, which
// are there to be timed, cannot be merged.
template <class N>
DEVICE void chain(const N *x, const volatile float *one, N *out, int count, int chains, int rounds) {
  int c = global_x();
  if (c >= chains)
    return;
  for (int r = 0; r < rounds; ++r) {
    N p = traits<N>::of(*one);
    for (int i = 0; i < count; ++i)
      p = p * x[i * chains + c];
    out[c] = p;
  }
}

#define KERNELS(NAME, N)                                                                           \
  KERNEL void products_##NAME(const N *x, const float *one, N *out, int count, int chains,         \
                              int rounds) {                                                        \
    chain<N>(x, one, out, count, chains, rounds);                                                  \
  }
FOR_EACH_NUMBER(KERNELS)
