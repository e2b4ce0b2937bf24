// One special-function-unit operation an output, for comparing the CPU executor's models with a GPU.
#define OP(name, text) \
  __device__ float name(float x) { float r; asm(text " %0, %1;" : "=f"(r) : "f"(x)); return r; }
OP(rcp_ftz, "rcp.approx.ftz.f32")
OP(sqrt_ftz, "sqrt.approx.ftz.f32")
OP(rsqrt_ftz, "rsqrt.approx.ftz.f32")
OP(ex2_ftz, "ex2.approx.ftz.f32")
OP(lg2_ftz, "lg2.approx.ftz.f32")
OP(sin_ftz, "sin.approx.ftz.f32")
OP(cos_ftz, "cos.approx.ftz.f32")
OP(ex2_full, "ex2.approx.f32")
OP(lg2_full, "lg2.approx.f32")

__global__ void approx(const float *wide, const float *small, const float *angle, const float *near_one,
                       float *rcp, float *sqrt_, float *rsqrt_, float *ex2, float *lg2, float *lg2_one,
                       float *sin_, float *cos_, float *ex2_n, float *lg2_n, float *div_, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  rcp[i] = rcp_ftz(wide[i]);
  sqrt_[i] = sqrt_ftz(wide[i]);
  rsqrt_[i] = rsqrt_ftz(wide[i]);
  ex2[i] = ex2_ftz(small[i]);
  lg2[i] = lg2_ftz(wide[i]);
  lg2_one[i] = lg2_ftz(near_one[i]);
  sin_[i] = sin_ftz(angle[i]);
  cos_[i] = cos_ftz(angle[i]);
  ex2_n[i] = ex2_full(small[i]);
  lg2_n[i] = lg2_full(wide[i]);
  float q;
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(q) : "f"(wide[i]), "f"(near_one[i]));
  div_[i] = q;
}
