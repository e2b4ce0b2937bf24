// Operations on f16 and bf16, as the PTX instructions that do them: C++ computes bf16 in float.
#pragma once
#include "device.h"

typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef __bf16 bf16x2 __attribute__((ext_vector_type(2)));

DEVICE _Float16 sfu_exp2(_Float16 x) {
    u16 r;
    asm("ex2.approx.f16 %0, %1;" : "=h"(r) : "h"(bits_as<u16>(x)));
    return bits_as<_Float16>(r);
}
DEVICE __bf16 sfu_exp2(__bf16 x) {
    u16 r;
    asm("ex2.approx.ftz.bf16 %0, %1;" : "=h"(r) : "h"(bits_as<u16>(x)));
    return bits_as<__bf16>(r);
}

#define TWO(NAME, PTX, T, WORD, C)                                                                  \
    DEVICE T NAME(T x, T y) {                                                                       \
        WORD r;                                                                                     \
        asm(PTX " %0, %1, %2;" : "=" C(r) : C(bits_as<WORD>(x)), C(bits_as<WORD>(y)));              \
        return bits_as<T>(r);                                                                       \
    }
#define THREE(NAME, PTX, T, WORD, C)                                                                \
    DEVICE T NAME(T x, T y, T z) {                                                                  \
        WORD r;                                                                                     \
        asm(PTX " %0, %1, %2, %3;"                                                                  \
            : "=" C(r)                                                                              \
            : C(bits_as<WORD>(x)), C(bits_as<WORD>(y)), C(bits_as<WORD>(z)));                       \
        return bits_as<T>(r);                                                                       \
    }
TWO(sum, "add.rn.f16", _Float16, u16, "h")
TWO(product, "mul.rn.f16", _Float16, u16, "h")
THREE(multiply_add, "fma.rn.f16", _Float16, u16, "h")
TWO(sum, "add.rn.bf16", __bf16, u16, "h")
TWO(product, "mul.rn.bf16", __bf16, u16, "h")
THREE(multiply_add, "fma.rn.bf16", __bf16, u16, "h")
TWO(sum, "add.rn.f16x2", f16x2, u32, "r")
TWO(product, "mul.rn.f16x2", f16x2, u32, "r")
THREE(multiply_add, "fma.rn.f16x2", f16x2, u32, "r")
TWO(sum, "add.rn.bf16x2", bf16x2, u32, "r")
TWO(product, "mul.rn.bf16x2", bf16x2, u32, "r")
THREE(multiply_add, "fma.rn.bf16x2", bf16x2, u32, "r")
#undef TWO
#undef THREE
