; plan: {"version":1,"kernels":{"k":{"partition":{"lambda":0.5,"select":"warp","sites":{"1":"f32"}}}}}
; Some warps run the kernel with its product in f32.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, double %y) {
  %x = load double, ptr %a
  %p = fmul double %x, %y
  store double %p, ptr %a
  ret void
}
