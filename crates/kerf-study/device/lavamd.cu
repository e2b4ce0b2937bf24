// Potential and force between particles of neighbouring boxes, one box a block.
//
// A particle is (v, x, y, z) and a charge. For each pair, s = v_i + v_j - x_i . x_j, e = exp(-a s), and
//   potential += q_j e,   force += 2 q_j e (x_i - x_j).
#include "number.h"

#define PER_BOX 128
#define NEIGHBOURS 27

template <class N> struct particle {
  N v, x, y, z;
};

// `neighbours` has NEIGHBOURS entries a box, -1 for none.
template <class N, class E>
DEVICE void boxes(const particle<N> *particles, const N *charges, const int *neighbours,
                  particle<N> *forces, const N *a) {
  SHARED static particle<N> away[PER_BOX];
  SHARED static N charge[PER_BOX];
  int t = thread_x(), box = block_x(), count;
  N factor = *a, zero = number<N>(0), two = number<N>(2);
  particle<N> p = particles[box * PER_BOX + t], f = {zero, zero, zero, zero};
  for (int k = 0; k < NEIGHBOURS; ++k) {
    int other = neighbours[box * NEIGHBOURS + k];
    if (other < 0)
      continue; // the same for the whole block
    __syncthreads();
    away[t] = particles[other * PER_BOX + t];
    charge[t] = charges[other * PER_BOX + t];
    __syncthreads();
    for (int j = 0; j < PER_BOX; ++j) {
      N s = p.v + away[j].v - (p.x * away[j].x + p.y * away[j].y + p.z * away[j].z);
      N e = E::exp(-(factor * s), &count);
      N g = two * e;
      N q = charge[j];
      f.v = f.v + q * e;
      f.x = f.x + q * (g * (p.x - away[j].x));
      f.y = f.y + q * (g * (p.y - away[j].y));
      f.z = f.z + q * (g * (p.z - away[j].z));
    }
  }
  forces[box * PER_BOX + t] = f;
}

#define KERNELS(NAME, N, E)                                                                        \
  KERNEL void lavamd_##NAME(const particle<N> *particles, const N *charges, const int *neighbours, \
                            particle<N> *forces, const N *a) {                                     \
    boxes<N, E>(particles, charges, neighbours, forces, a);                                        \
  }
FOR_EACH_EXPONENTIAL(KERNELS)
