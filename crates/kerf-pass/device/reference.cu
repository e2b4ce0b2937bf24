// The reference library: the operations of the shadow execution on pairs of doubles, as vectors whose
// element 0 is the high word. Arithmetic is inlined; elementary functions stay functions.
#include "reference_bessel.h"
#include "reference_erf_inverse.h"
#include "reference_gamma.h"
#include "reference_hyperbolic.h"
#include "reference_inverse.h"
#include "reference_remainder.h"
#include "reference_trig.h"

#define INLINE extern "C" __attribute__((device, always_inline))
#define FUNCTION extern "C" __attribute__((device, noinline))

typedef kerf_dw64 kerf_dd;

KERF_DEVICE kerf::ref::dd of(kerf_dd x) { return {x.x, x.y}; }
KERF_DEVICE kerf_dd pack(kerf::ref::dd x) { return kerf_dd{x.hi, x.lo}; }

#define UNARY(kind, name)                                                                  \
    kind kerf_dd kerf_dd_##name(kerf_dd a) { return pack(kerf::ref::name(of(a))); }
#define BINARY(kind, name)                                                                 \
    kind kerf_dd kerf_dd_##name(kerf_dd a, kerf_dd b)                                      \
    {                                                                                      \
        return pack(kerf::ref::name(of(a), of(b)));                                        \
    }
#define TERNARY(kind, name)                                                                \
    kind kerf_dd kerf_dd_##name(kerf_dd a, kerf_dd b, kerf_dd c)                           \
    {                                                                                      \
        return pack(kerf::ref::name(of(a), of(b), of(c)));                                 \
    }

BINARY(INLINE, add)
BINARY(INLINE, sub)
BINARY(INLINE, mul)
BINARY(INLINE, div)
TERNARY(INLINE, fma)
INLINE kerf_dd kerf_dd_neg(kerf_dd a) { return pack(kerf::neg(of(a))); }
UNARY(INLINE, fabs)
UNARY(INLINE, sqrt)
UNARY(INLINE, rcp)
UNARY(INLINE, floor)
UNARY(INLINE, ceil)
UNARY(INLINE, trunc)
UNARY(INLINE, rint)
UNARY(INLINE, round)
BINARY(INLINE, fmin)
BINARY(INLINE, fmax)
BINARY(INLINE, copysign)
BINARY(INLINE, fdim)
UNARY(INLINE, saturate)
TERNARY(INLINE, norm3d)
TERNARY(INLINE, rnorm3d)
INLINE kerf_dd kerf_dd_from_i64(long long n) { return pack(kerf::ref::from_i64(n)); }
INLINE kerf_dd kerf_dd_from_u64(unsigned long long n) { return pack(kerf::ref::from_u64(n)); }
INLINE kerf_dd kerf_dd_ldexp(kerf_dd a, int n) { return pack(kerf::ref::ldexp(of(a), n)); }
INLINE int kerf_dd_compare(kerf_dd a, kerf_dd b) { return kerf::ref::compare(of(a), of(b)); }

BINARY(FUNCTION, hypot)
BINARY(FUNCTION, rhypot)
UNARY(FUNCTION, exp)
UNARY(FUNCTION, exp2)
UNARY(FUNCTION, exp10)
UNARY(FUNCTION, expm1)
UNARY(FUNCTION, log)
UNARY(FUNCTION, log2)
UNARY(FUNCTION, log10)
UNARY(FUNCTION, log1p)
BINARY(FUNCTION, pow)
FUNCTION kerf_dd kerf_dd_powi(kerf_dd a, int n) { return pack(kerf::ref::powi(of(a), n)); }
UNARY(FUNCTION, sinh)
UNARY(FUNCTION, cosh)
UNARY(FUNCTION, tanh)
UNARY(FUNCTION, asinh)
UNARY(FUNCTION, acosh)
UNARY(FUNCTION, atanh)
UNARY(FUNCTION, sin)
UNARY(FUNCTION, cos)
UNARY(FUNCTION, tan)
UNARY(FUNCTION, sinpi)
UNARY(FUNCTION, cospi)
UNARY(FUNCTION, asin)
UNARY(FUNCTION, acos)
UNARY(FUNCTION, atan)
BINARY(FUNCTION, atan2)
UNARY(FUNCTION, rsqrt)
UNARY(FUNCTION, cbrt)
UNARY(FUNCTION, rcbrt)
UNARY(FUNCTION, erf)
UNARY(FUNCTION, erfc)
UNARY(FUNCTION, erfcx)
UNARY(FUNCTION, normcdf)
BINARY(FUNCTION, fmod)
BINARY(FUNCTION, remainder)
UNARY(FUNCTION, erfinv)
UNARY(FUNCTION, erfcinv)
UNARY(FUNCTION, normcdfinv)
UNARY(FUNCTION, tgamma)
UNARY(FUNCTION, lgamma)
UNARY(FUNCTION, j0)
UNARY(FUNCTION, j1)
UNARY(FUNCTION, y0)
UNARY(FUNCTION, y1)
