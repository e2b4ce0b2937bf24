; plan: {"version":1,"kernels":{"k":{"math":{"2":"reciprocal"}}}}
; A division by what does not change in the loop.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, double %y, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr double, ptr %a, i32 %i
  %x = load double, ptr %at
  %s = fadd double %x, 1.0
  %q = fdiv double %s, %y
  store double %q, ptr %at
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret void
}
