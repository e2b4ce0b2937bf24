; plan: {"version":1,"kernels":{"k":{"math":{"1":"approx","2":"full.ftz"}}}}
; An exponential and a division in f32 by the special-function unit.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, float %y) {
  %x = load float, ptr %a
  %e = call float @__nv_expf(float %x)
  %q = fdiv float %e, %y
  store float %q, ptr %a
  ret void
}
declare float @__nv_expf(float)
