// A constant that only the program fills: no kernel stores into it, and it is not constant for all that.
#include <cstdio>

__constant__ double table[3];
__global__ void fill(double *to) { to[threadIdx.x] = table[threadIdx.x]; }

int main() {
  double in[3] = {1.4, 0.25, 3.5}, out[3] = {}, *to;
  cudaMemcpyToSymbol(table, in, sizeof in);
  cudaMalloc(&to, sizeof out);
  fill<<<1, 3>>>(to);
  cudaMemcpy(out, to, sizeof out, cudaMemcpyDeviceToHost);
  printf("%.11g %.11g %.11g\n", out[0], out[1], out[2]);
  return 0;
}
