; plan: {"version":1,"kernels":{"k":{"sites":{"3":"f32"}}}}
; A function that two kernels call, and that one of them wants in another format.
target triple = "nvptx64-nvidia-cuda"
define internal double @square(double %x) noinline {
  %y = fmul double %x, %x
  ret double %y
}
define ptx_kernel void @k(ptr %a) {
  %x = load double, ptr %a
  %y = call double @square(double %x)
  store double %y, ptr %a
  ret void
}
define ptx_kernel void @other(ptr %a) {
  %x = load double, ptr %a
  %y = call double @square(double %x)
  store double %y, ptr %a
  ret void
}
