// Double words on arguments from the host, which judges the results.
#include "device.h"
#include "doubleword_cmp.h"
#include "doubleword_functions.h"

typedef kerf::dw<float> dw32;
typedef kerf::dw<double> dw64;

DEVICE u64 bits(float x) { return bits_as<u32>(x); }
DEVICE u64 bits(double x) { return bits_as<u64>(x); }
template <class T> DEVICE T word(u64 w);
template <> DEVICE float word<float>(u64 w) { return bits_as<float>((u32)w); }
template <> DEVICE double word<double>(u64 w) { return bits_as<double>(w); }

// Word k of the arguments number i is at k * n + i; so are the words of results.
template <class T> struct Arguments {
    const u64 *in;
    u32 n, i;
    DEVICE kerf::dw<T> operator[](u32 k) const {
        return {word<T>(in[(u64)(2 * k) * n + i]), word<T>(in[(u64)(2 * k + 1) * n + i])};
    }
};

#define VALUES(NAME, WORD, GOT)                                                                     \
    KERNEL void values_##NAME(const u64 *in, u64 *out, u32 n) {                                     \
        u32 i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +                    \
                __nvvm_read_ptx_sreg_tid_x();                                                       \
        if (i >= n) return;                                                                         \
        Arguments<WORD> a = {in, n, i};                                                             \
        kerf::dw<WORD> r = GOT;                                                                     \
        out[i] = bits(r.hi);                                                                        \
        out[(u64)n + i] = bits(r.lo);                                                               \
    }
#define BOTH(FUNCTION, VARIANT, GOT)                                                                \
    VALUES(FUNCTION##_dw32##VARIANT, float, GOT)                                                    \
    VALUES(FUNCTION##_dw64##VARIANT, double, GOT)

BOTH(add, , kerf::add(a[0], a[1]))
BOTH(mul, , kerf::mul(a[0], a[1]))
BOTH(fma, , kerf::fma(a[0], a[1], a[2]))
BOTH(div, , kerf::div(a[0], a[1]))
BOTH(sqrt, , kerf::sqrt(a[0]))
BOTH(exp, , kerf::exp(a[0]))
BOTH(log, , kerf::log(a[0]))
BOTH(sin, , kerf::sin(a[0]))
BOTH(cos, , kerf::cos(a[0]))
BOTH(add, _cmp, kerf::cmp::add(a[0], a[1]))
BOTH(mul, _cmp, kerf::cmp::mul(a[0], a[1]))
BOTH(div, _cmp, kerf::cmp::div(a[0], a[1]))
