; plan: {"version":1,"kernels":{"k":{"records":{"p":{"fields":["f64","f64","f64","f64"],"layout":"planes"},"q":{"fields":["f32","f32","f32"],"layout":"planes"},"2":{"fields":["f64","i32","i32"],"layout":"planes"}}}}}
; A struct by fields, a field that an index chooses, a copy of integers that are two fields, and a pointer that moves.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%body = type { double, double, double, double }

define ptx_kernel void @k(ptr align 16 %p, ptr %q, ptr %m, i32 %i, i32 %n) {
entry:
  %wide = sext i32 %i to i64
  %at = getelementptr inbounds %body, ptr %p, i64 %wide, i32 1
  %pair = load <2 x double>, ptr %at, align 8
  %y = extractelement <2 x double> %pair, i32 0
  %w.at = getelementptr inbounds %body, ptr %p, i64 %wide, i32 3
  store double %y, ptr %w.at, align 8
  %cell.at = getelementptr inbounds i8, ptr %m, i64 8
  %cell = load i64, ptr %cell.at, align 8
  %first = mul nsw i32 %i, 3
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k.next, %loop ]
  %r = phi ptr [ %q, %entry ], [ %r.next, %loop ]
  %sum = add nsw i32 %first, %k
  %index = sext i32 %sum to i64
  %e.at = getelementptr inbounds float, ptr %q, i64 %index
  %e = load float, ptr %e.at, align 4
  store float %e, ptr %r, align 4
  %r.next = getelementptr inbounds i8, ptr %r, i64 12
  %k.next = add nsw i32 %k, 1
  %go = icmp slt i32 %k.next, %n
  br i1 %go, label %loop, label %end
end:
  store i64 %cell, ptr %m, align 8
  ret void
}
