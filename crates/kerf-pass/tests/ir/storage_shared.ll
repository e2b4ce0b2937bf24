; plan: {"version":1,"kernels":{"k":{"storage":{"tile":"f32"}}}}
; A shared array of doubles in floats: the variable gets another type.
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [64 x double] undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %a, i32 %i) {
  %x = load double, ptr addrspace(1) %a, align 8
  %at = getelementptr [64 x double], ptr addrspace(3) @tile, i32 0, i32 %i
  store double %x, ptr addrspace(3) %at, align 8
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %y = load double, ptr addrspace(3) @tile, align 8
  store double %y, ptr addrspace(1) %a, align 8
  ret void
}
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
