; plan: {"version":1,"kernels":{"k":{"rewrites":[{"sites":[0,1,2],"steps":["rsqrt @0.0","mul $0 $0","mul $0 $1","mul @2.0 $2"],"outputs":{"2":"$3"}}]}}}
; m / (sqrt(d) * d) as m times the third power of a reciprocal square root.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %p, double %m, double %d) {
  %r = call double @__nv_sqrt(double %d)
  %p3 = fmul double %r, %d
  %s = fdiv double %m, %p3
  store double %s, ptr %p
  ret void
}
declare double @__nv_sqrt(double)
