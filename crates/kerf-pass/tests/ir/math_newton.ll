; plan: {"version":1,"kernels":{"k":{"math":{"1":"newton1","2":"newton1"}}}}
; A quotient by a square root in f64: one seed of the special-function unit for both, one Newton step.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, double %y) {
  %x = load double, ptr %a
  %r = call double @__nv_sqrt(double %x)
  %q = fdiv double %y, %r
  store double %q, ptr %a
  ret void
}
declare double @__nv_sqrt(double)
