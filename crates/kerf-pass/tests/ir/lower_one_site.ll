; plan: {"version":1,"kernels":{"k":{"sites":{"2":"f32"}}}}
; One operation of a loop: its operands are rounded where they are made, its result is widened where it is used.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, i32 %n, double %y) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %more, %loop ]
  %at = getelementptr double, ptr %a, i32 %i
  %x = load double, ptr %at
  %p = fmul double %x, %y
  %more = fadd double %sum, %p
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %n
  br i1 %again, label %loop, label %end
end:
  store double %more, ptr %a
  ret void
}
