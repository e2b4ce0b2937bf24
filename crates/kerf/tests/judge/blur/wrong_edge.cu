// Takes zero behind the right end.
extern "C" __global__ void blur(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = in[i > 0 ? i - 1 : 0], right = i + 1 < n ? in[i + 1] : 0.0f;
  out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
}
