; plan: {"version":1,"kernels":{"k":{"sites":{"1":"f32","2":"f32"}}}}
; A double that travels between lanes in two words travels in one.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, i32 %d) {
  %x = load double, ptr %a
  %s = fmul double %x, %x
  %bits = bitcast double %s to i64
  %lo = trunc i64 %bits to i32
  %up = lshr i64 %bits, 32
  %hi = trunc i64 %up to i32
  %lo1 = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %lo, i32 %d, i32 31)
  %hi1 = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %hi, i32 %d, i32 31)
  %hi2 = zext i32 %hi1 to i64
  %hi3 = shl i64 %hi2, 32
  %lo2 = zext i32 %lo1 to i64
  %bits1 = or disjoint i64 %hi3, %lo2
  %o = bitcast i64 %bits1 to double
  %r = fadd double %s, %o
  store double %r, ptr %a
  ret void
}
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
