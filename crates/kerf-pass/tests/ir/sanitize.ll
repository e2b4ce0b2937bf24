; pass: sanitize
; The definedness of every bit, and a call before each access.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %a, i32 %i) {
entry:
  %at = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %x = load i32, ptr addrspace(1) %at, align 4
  %y = add nsw i32 %x, 1
  %big = icmp sgt i32 %y, 10
  br i1 %big, label %more, label %end
more:
  store i32 %y, ptr addrspace(1) %at, align 4
  br label %end
end:
  ret void
}
