; plan: {"version":1,"kernels":{"k":{"sites":{"1":"dw32","2":"dw32"}}}}
; A product and a sum in f64 by pairs of f32.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, double %y) {
  %x = load double, ptr %a
  %p = fmul double %x, %y
  %s = fadd double %p, 1.0
  store double %s, ptr %a
  ret void
}
