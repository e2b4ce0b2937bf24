// Four at a time, with restricted pointers.
extern "C" __global__ void axpy(const float *__restrict__ x, const float *__restrict__ y, float *__restrict__ out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int whole = n / 4;
  if (i < whole) {
    float4 u = reinterpret_cast<const float4 *>(x)[i], v = reinterpret_cast<const float4 *>(y)[i];
    reinterpret_cast<float4 *>(out)[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
  } else if (i < whole + n % 4) {
    int k = 4 * whole + i - whole;
    out[k] = a * x[k] + y[k];
  }
}
