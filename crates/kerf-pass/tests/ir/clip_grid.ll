; pass: clip grid
; Any run of the blocks of a grid.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %row = mul i32 %y, %n
  %b = add i32 %row, %x
  store i32 %b, ptr %a
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
