// The last condition reads the counter only when all positions are past the end, and then nobody adds to it any more. The
// optimiser reads it always, and takes the value only then: a read that the source does not have is no race.
#include <cstdio>
__global__ void collect(const int *in, int *out, int n) {
  __shared__ unsigned counter;
  __shared__ unsigned found;
  if (threadIdx.x == 0) counter = found = 0;
  __syncthreads();
  unsigned position = threadIdx.x;
  while (true) {
    if (position < n && in[position] > 2) atomicAdd(&counter, 1u);
    position += blockDim.x;
    __syncthreads();
    unsigned queued = counter;
    __syncthreads();
    if (queued >= 64 || (position - threadIdx.x >= n && queued > 0)) {
      if (threadIdx.x == 0) {
        found += queued;
        counter = 0;
      }
      __syncthreads();
    }
    if (position - threadIdx.x >= n && counter == 0) break;
  }
  if (threadIdx.x == 0) *out = found;
}
int main() {
  const int n = 1000;
  int host[n], *in, *out, found = 0, want = 0;
  for (int i = 0; i < n; i++) {
    host[i] = i % 7;
    want += host[i] > 2;
  }
  cudaMalloc(&in, sizeof host);
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  collect<<<1, 128>>>(in, out, n);
  cudaMemcpy(&found, out, sizeof found, cudaMemcpyDeviceToHost);
  printf(found == want ? "PASS\n" : "FAIL %d %d\n", found, want);
}
