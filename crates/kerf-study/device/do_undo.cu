// Multiply and divide by the same number, over and over; one start value a thread.
#include "number.h"

template <class N> DEVICE void do_undo(const N *x, const N *y, N *out, int starts, int n) {
  int c = global_x();
  if (c >= starts)
    return;
  N v = x[c];
  for (int i = 0; i < n; ++i)
    v = (v * y[i]) / y[i];
  out[c] = v;
}

#define KERNELS(NAME, N)                                                                           \
  KERNEL void do_undo_##NAME(const N *x, const N *y, N *out, int starts, int n) {                  \
    do_undo<N>(x, y, out, starts, n);                                                              \
  }
FOR_EACH_NUMBER(KERNELS)
