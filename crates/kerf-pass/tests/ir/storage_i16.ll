; plan: {"version":1,"kernels":{"k":{"storage":{"a":"i16*2^-12"}}}}
; A buffer of floats in scaled integers: loads decode, stores encode.
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %a, i32 %i) {
  %at = getelementptr float, ptr addrspace(1) %a, i32 %i
  %x = load float, ptr addrspace(1) %at, align 4
  %y = fmul float %x, 3.0
  %next = getelementptr i8, ptr addrspace(1) %at, i64 4
  store float %y, ptr addrspace(1) %next, align 4
  ret void
}
