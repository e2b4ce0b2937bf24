#pragma once
typedef double3 (*Force)(double3 r, double eps2);
extern __device__ Force d_force;
extern __constant__ double c_eps2;
struct Body { double3 x, v; double m; };
void advance(Body *b, double3 *acc, int n, double dt, cudaStream_t s);
double total_energy_on_device(const Body *b, int n, double *scratch, cudaStream_t s);
void choose(const char *name);
__device__ double3 operator+(double3 a, double3 b);
__device__ double3 operator*(double k, double3 a);
__device__ double dot3(double3 a, double3 b);
