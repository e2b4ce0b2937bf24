; pass: count
; Executions of blocks: two ways through a kernel.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(i32 %n) {
entry:
  %some = icmp sgt i32 %n, 3
  br i1 %some, label %more, label %end
more:
  br label %end
end:
  ret void
}
