; plan: {"version":1,"kernels":{"k":{"storage":{"p":"f64"},"records":{"p":{"fields":["f64","f64","f64"],"layout":"padded"}}}}}
; Vectors that lie in one record stay whole; one that does not is taken apart; a struct is copied.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%point = type { double, double, double }

define ptx_kernel void @k(ptr %p, ptr %out, i64 %i) {
  %at = getelementptr inbounds %point, ptr %p, i64 %i, i32 0
  %xy = load <2 x double>, ptr %at, align 8
  %z.at = getelementptr inbounds %point, ptr %p, i64 %i, i32 2
  %zx = load <2 x double>, ptr %z.at, align 8
  %s = fadd <2 x double> %xy, %zx
  store <2 x double> %s, ptr %out, align 8
  %other = getelementptr inbounds %point, ptr %p, i64 7
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %at, ptr align 8 %other, i64 24, i1 false)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
