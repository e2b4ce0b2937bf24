; plan: {"version":1,"kernels":{"k":{"block":[64,2,1]}}}
; The block's extents as constants.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %n = mul i32 %x, %y
  store i32 %n, ptr %a
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
