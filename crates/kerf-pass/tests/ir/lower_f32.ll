; plan: {"version":1,"kernels":{"k":{"sites":{"0":"f32","1":"f32","2":"f32","3":"f32","4":"f32"}}}}
; Arithmetic and a function of libdevice between a load and a store, whose buffer keeps its format.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, double %y) {
  %x = load double, ptr %a
  %p = fmul double %x, %y
  %s = fadd double %p, 0.1
  %e = call double @__nv_exp(double %s)
  store double %e, ptr %a
  ret void
}
declare double @__nv_exp(double)
