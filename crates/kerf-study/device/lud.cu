// LU decomposition in place, without pivoting, by tiles: the tile on the diagonal, the tiles right of and
// below it, and the rest. L has ones on its diagonal.
#include "number.h"

#define TILE 16

template <class N> DEVICE void diagonal(N *a, int n, int k) {
  SHARED static N tile[TILE][TILE];
  int r = thread_y(), c = thread_x();
  N *corner = a + (long)k * TILE * (n + 1);
  tile[r][c] = corner[(long)r * n + c];
  for (int s = 0; s < TILE - 1; ++s) {
    __syncthreads();
    if (r > s && c == s)
      tile[r][s] = tile[r][s] / tile[s][s];
    __syncthreads();
    if (r > s && c > s)
      tile[r][c] = tile[r][c] - tile[r][s] * tile[s][c];
  }
  corner[(long)r * n + c] = tile[r][c];
}

// The first TILE threads of block b solve L X = A for a column each of the tile that is b + 1 to the
// right; the others X U = A for a row each of the tile that is b + 1 below.
template <class N> DEVICE void perimeter(N *a, int n, int k) {
  SHARED static N corner[TILE][TILE];
  SHARED static N right[TILE][TILE];
  SHARED static N below[TILE][TILE];
  int t = thread_x() & (TILE - 1);
  bool column = thread_x() < TILE;
  int other = k + 1 + block_x();
  const N *from = a + (long)k * TILE * (n + 1);
  N *to_right = a + (long)k * TILE * n + (long)other * TILE;
  N *to_below = a + (long)other * TILE * n + (long)k * TILE;
  for (int s = 0; s < TILE; ++s) {
    if (column) {
      corner[s][t] = from[(long)s * n + t];
      right[s][t] = to_right[(long)s * n + t];
    } else {
      below[s][t] = to_below[(long)s * n + t];
    }
  }
  __syncthreads();
  if (column) {
    for (int i = 1; i < TILE; ++i)
      for (int s = 0; s < i; ++s)
        right[i][t] = right[i][t] - corner[i][s] * right[s][t];
  } else {
    for (int j = 0; j < TILE; ++j) {
      for (int s = 0; s < j; ++s)
        below[t][j] = below[t][j] - below[t][s] * corner[s][j];
      below[t][j] = below[t][j] / corner[j][j];
    }
  }
  __syncthreads();
  for (int s = 0; s < TILE; ++s) {
    if (column)
      to_right[(long)s * n + t] = right[s][t];
    else
      to_below[(long)s * n + t] = below[s][t];
  }
}

template <class N> DEVICE void internal(N *a, int n, int k) {
  SHARED static N left[TILE][TILE];
  SHARED static N up[TILE][TILE];
  int r = thread_y(), c = thread_x();
  long row = (long)(k + 1 + block_y()) * TILE + r, column = (long)(k + 1 + block_x()) * TILE + c;
  left[r][c] = a[row * n + (long)k * TILE + c];
  up[r][c] = a[((long)k * TILE + r) * n + column];
  __syncthreads();
  N sum = left[r][0] * up[0][c];
  for (int s = 1; s < TILE; ++s)
    sum = sum + left[r][s] * up[s][c];
  a[row * n + column] = a[row * n + column] - sum;
}

#define KERNELS(NAME, N)                                                                           \
  KERNEL void lud_diagonal_##NAME(N *a, int n, int k) { diagonal<N>(a, n, k); }                    \
  KERNEL void lud_perimeter_##NAME(N *a, int n, int k) { perimeter<N>(a, n, k); }                  \
  KERNEL void lud_internal_##NAME(N *a, int n, int k) { internal<N>(a, n, k); }
FOR_EACH_NUMBER(KERNELS)
