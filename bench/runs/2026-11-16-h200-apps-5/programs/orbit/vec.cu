#include "potential.h"
__device__ double3 operator+(double3 a, double3 b) { return make_double3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ double3 operator*(double k, double3 a) { return make_double3(k * a.x, k * a.y, k * a.z); }
__device__ double dot3(double3 a, double3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
