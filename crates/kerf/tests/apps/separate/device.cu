#include "shared.h"
__device__ double scale = 3.0;
static __device__ int hidden = 1;
__device__ double twice(double x) { return 2.0 * x + 0.0 * hidden; }
