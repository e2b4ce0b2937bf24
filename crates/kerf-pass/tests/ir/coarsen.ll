; plan: {"version":1,"kernels":{"k":{"coarsen":{"factor":2}}}}
; Two neighbouring threads in one.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %a, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %in = icmp slt i32 %tid, %n
  br i1 %in, label %work, label %end
work:
  %at = getelementptr float, ptr addrspace(1) %a, i32 %tid
  %x = load float, ptr addrspace(1) %at, align 4
  %y = fadd float %x, 1.0
  store float %y, ptr addrspace(1) %at, align 4
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
