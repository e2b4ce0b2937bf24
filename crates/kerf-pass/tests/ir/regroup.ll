; plan: {"version":1,"kernels":{"k":{"regroup":4}}}
; Four blocks of a warp in one: index, shared memory and barrier are those of a row.
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [32 x float] undef, align 4
define ptx_kernel void @k(ptr addrspace(1) %a) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %x = load float, ptr addrspace(1) %a
  %at = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %x, ptr addrspace(3) %at
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %y = load float, ptr addrspace(3) @tile
  %to = getelementptr float, ptr addrspace(1) %a, i32 %b
  store float %y, ptr addrspace(1) %to
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
