; pass: shadow
; A double-double beside every value, with the functions of the CPU executor.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %a, double %y) {
entry:
  %x = load double, ptr addrspace(1) %a, align 8
  %p = fmul double %x, %y
  %big = fcmp ogt double %p, 1.0
  br i1 %big, label %more, label %end
more:
  store double %p, ptr addrspace(1) %a, align 8
  br label %end
end:
  ret void
}
