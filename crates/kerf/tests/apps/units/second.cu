// Many places, so that their numbers reach beyond those of the first file.
__global__ void reversed(int *a, int n, int *sum) {
  __shared__ int s[64];
  int t = threadIdx.x, i = n - 1 - (blockIdx.x * 64 + t);
  int v = a[i];
  a[i] = -v;
  s[t] = v;
  __syncthreads();
  for (int d = 32; d; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0 && s[0] >= 0) atomicAdd(sum, s[0]);
}

void second(int *a, int n, int *sum) { reversed<<<n / 64, 64>>>(a, n, sum); }
