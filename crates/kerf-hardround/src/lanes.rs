//! Vectors of f64 and u64 that the search is written in: one lane, AVX2, AVX-512.
//!
//! Values in [0, 1) are multiples of 2^-52, so sums, differences and products with quotients are exact.
use std::arch::x86_64::*;

/// What [`Lanes::reciprocal`] stays below the true one, relatively, at least; quotients by it are never too
/// large.
pub const BIAS: f64 = 1.0 - 1.0 / (1u64 << 40) as f64;

/// Vectors of one kind of processor.
///
/// # Safety
/// The processor has to have the instructions; every function is inlined into a caller that is compiled for
/// them.
#[allow(clippy::missing_safety_doc)] // Said once, above.
pub trait Lanes: Copy {
    /// Number of lanes.
    const W: usize;
    /// Integers.
    type U: Copy;
    /// Floats.
    type F: Copy;
    /// A bit a lane.
    type M: Copy;
    /// All lanes alike.
    unsafe fn splat_u(x: u64) -> Self::U;
    /// From memory, at least `W` words.
    unsafe fn load_u(p: *const u64) -> Self::U;
    /// To memory, at least `W` words.
    unsafe fn store_u(p: *mut u64, u: Self::U);
    /// Wrapping sum.
    unsafe fn add_u(a: Self::U, b: Self::U) -> Self::U;
    /// The first 52 bits of a fraction, as a float in [0, 1).
    unsafe fn fraction(u: Self::U) -> Self::F;
    /// All lanes alike.
    unsafe fn splat(x: f64) -> Self::F;
    /// a + b.
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F;
    /// a - b.
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F;
    /// a * b.
    unsafe fn mul(a: Self::F, b: Self::F) -> Self::F;
    /// c + a * b, where that is exact in any order.
    unsafe fn plus(c: Self::F, a: Self::F, b: Self::F) -> Self::F;
    /// c - a * b, where that is exact in any order.
    unsafe fn minus(c: Self::F, a: Self::F, b: Self::F) -> Self::F;
    /// Largest integer not above.
    unsafe fn floor(a: Self::F) -> Self::F;
    /// 1/x, too small by 2^-41 to 2^-27 relatively.
    unsafe fn reciprocal(x: Self::F) -> Self::F;
    /// a if it is less than b, otherwise b, also when a is NaN.
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F;
    /// a if it is greater than b, otherwise b.
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F;
    /// a < b.
    unsafe fn lt(a: Self::F, b: Self::F) -> Self::M;
    /// a >= b.
    unsafe fn ge(a: Self::F, b: Self::F) -> Self::M;
    /// Both.
    unsafe fn and(a: Self::M, b: Self::M) -> Self::M;
    /// b and not a.
    unsafe fn and_not(a: Self::M, b: Self::M) -> Self::M;
    /// Either.
    unsafe fn or(a: Self::M, b: Self::M) -> Self::M;
    /// a where the bit is set, otherwise b.
    unsafe fn select(m: Self::M, a: Self::F, b: Self::F) -> Self::F;
    /// a where the bit is set, otherwise zero.
    unsafe fn keep(m: Self::M, a: Self::F) -> Self::F;
    /// The bits, first lane lowest.
    unsafe fn bits(m: Self::M) -> u32;
}

/// One lane: any processor.
#[derive(Clone, Copy)]
pub struct ScalarLane;

impl Lanes for ScalarLane {
    const W: usize = 1;
    type U = u64;
    type F = f64;
    type M = bool;
    #[inline(always)]
    unsafe fn splat_u(x: u64) -> u64 {
        x
    }
    #[inline(always)]
    unsafe fn load_u(p: *const u64) -> u64 {
        // SAFETY: as the trait's functions promise: the pointer is to a value.
        unsafe { *p }
    }
    #[inline(always)]
    unsafe fn store_u(p: *mut u64, u: u64) {
        // SAFETY: as the trait's functions promise: the pointer is to a value.
        unsafe { *p = u }
    }
    #[inline(always)]
    unsafe fn add_u(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    unsafe fn fraction(u: u64) -> f64 {
        f64::from_bits(u >> 12 | 0x3ff << 52) - 1.0
    }
    #[inline(always)]
    unsafe fn splat(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    unsafe fn add(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    unsafe fn sub(a: f64, b: f64) -> f64 {
        a - b
    }
    #[inline(always)]
    unsafe fn mul(a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline(always)]
    unsafe fn plus(c: f64, a: f64, b: f64) -> f64 {
        c + a * b
    }
    #[inline(always)]
    unsafe fn minus(c: f64, a: f64, b: f64) -> f64 {
        c - a * b
    }
    #[inline(always)]
    unsafe fn floor(a: f64) -> f64 {
        a.floor()
    }
    #[inline(always)]
    unsafe fn reciprocal(x: f64) -> f64 {
        BIAS / x
    }
    #[inline(always)]
    unsafe fn min(a: f64, b: f64) -> f64 {
        if a < b { a } else { b }
    }
    #[inline(always)]
    unsafe fn max(a: f64, b: f64) -> f64 {
        if a > b { a } else { b }
    }
    #[inline(always)]
    unsafe fn lt(a: f64, b: f64) -> bool {
        a < b
    }
    #[inline(always)]
    unsafe fn ge(a: f64, b: f64) -> bool {
        a >= b
    }
    #[inline(always)]
    unsafe fn and(a: bool, b: bool) -> bool {
        a & b
    }
    #[inline(always)]
    unsafe fn and_not(a: bool, b: bool) -> bool {
        !a & b
    }
    #[inline(always)]
    unsafe fn or(a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    unsafe fn select(m: bool, a: f64, b: f64) -> f64 {
        if m { a } else { b }
    }
    #[inline(always)]
    unsafe fn keep(m: bool, a: f64) -> f64 {
        if m { a } else { 0.0 }
    }
    #[inline(always)]
    unsafe fn bits(m: bool) -> u32 {
        u32::from(m)
    }
}

/// Defines a vector's functions, each inlined.
macro_rules! lanes {
    ($(unsafe fn $name:ident($($a:ident: $t:ty),*) $(-> $r:ty)? $body:block)*) => {
        $(#[inline(always)]
        #[allow(unused_unsafe)]
        unsafe fn $name($($a: $t),*) $(-> $r)? {
            // SAFETY: the processor has the instructions, and pointers are to as many values as there are lanes, which the
            // caller sees to.
            unsafe { $body }
        })*
    };
}

/// Four lanes.
#[derive(Clone, Copy)]
pub struct Avx2;

impl Lanes for Avx2 {
    const W: usize = 4;
    type U = __m256i;
    type F = __m256d;
    type M = __m256d;
    lanes! {
        unsafe fn splat_u(x: u64) -> __m256i { _mm256_set1_epi64x(x as i64) }
        unsafe fn load_u(p: *const u64) -> __m256i { _mm256_loadu_si256(p.cast()) }
        unsafe fn store_u(p: *mut u64, u: __m256i) { _mm256_storeu_si256(p.cast(), u) }
        unsafe fn add_u(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi64(a, b) }
        unsafe fn fraction(u: __m256i) -> __m256d {
            let one = _mm256_set1_pd(1.0);
            let m = _mm256_or_si256(_mm256_srli_epi64::<12>(u), _mm256_castpd_si256(one));
            _mm256_sub_pd(_mm256_castsi256_pd(m), one)
        }
        unsafe fn splat(x: f64) -> __m256d { _mm256_set1_pd(x) }
        unsafe fn add(a: __m256d, b: __m256d) -> __m256d { _mm256_add_pd(a, b) }
        unsafe fn sub(a: __m256d, b: __m256d) -> __m256d { _mm256_sub_pd(a, b) }
        unsafe fn mul(a: __m256d, b: __m256d) -> __m256d { _mm256_mul_pd(a, b) }
        unsafe fn plus(c: __m256d, a: __m256d, b: __m256d) -> __m256d { _mm256_fmadd_pd(a, b, c) }
        unsafe fn minus(c: __m256d, a: __m256d, b: __m256d) -> __m256d { _mm256_fnmadd_pd(a, b, c) }
        unsafe fn floor(a: __m256d) -> __m256d { _mm256_floor_pd(a) }
        unsafe fn reciprocal(x: __m256d) -> __m256d { _mm256_div_pd(_mm256_set1_pd(BIAS), x) }
        unsafe fn min(a: __m256d, b: __m256d) -> __m256d { _mm256_min_pd(a, b) }
        unsafe fn max(a: __m256d, b: __m256d) -> __m256d { _mm256_max_pd(a, b) }
        unsafe fn lt(a: __m256d, b: __m256d) -> __m256d { _mm256_cmp_pd::<_CMP_LT_OQ>(a, b) }
        unsafe fn ge(a: __m256d, b: __m256d) -> __m256d { _mm256_cmp_pd::<_CMP_GE_OQ>(a, b) }
        unsafe fn and(a: __m256d, b: __m256d) -> __m256d { _mm256_and_pd(a, b) }
        unsafe fn and_not(a: __m256d, b: __m256d) -> __m256d { _mm256_andnot_pd(a, b) }
        unsafe fn or(a: __m256d, b: __m256d) -> __m256d { _mm256_or_pd(a, b) }
        unsafe fn select(m: __m256d, a: __m256d, b: __m256d) -> __m256d { _mm256_blendv_pd(b, a, m) }
        unsafe fn keep(m: __m256d, a: __m256d) -> __m256d { _mm256_and_pd(m, a) }
        unsafe fn bits(m: __m256d) -> u32 { _mm256_movemask_pd(m) as u32 }
    }
}

/// Eight lanes.
#[derive(Clone, Copy)]
pub struct Avx512;

impl Lanes for Avx512 {
    const W: usize = 8;
    type U = __m512i;
    type F = __m512d;
    type M = __mmask8;
    lanes! {
        unsafe fn splat_u(x: u64) -> __m512i { _mm512_set1_epi64(x as i64) }
        unsafe fn load_u(p: *const u64) -> __m512i { _mm512_loadu_si512(p.cast()) }
        unsafe fn store_u(p: *mut u64, u: __m512i) { _mm512_storeu_si512(p.cast(), u) }
        unsafe fn add_u(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi64(a, b) }
        unsafe fn fraction(u: __m512i) -> __m512d {
            let one = _mm512_set1_pd(1.0);
            let m = _mm512_or_si512(_mm512_srli_epi64::<12>(u), _mm512_castpd_si512(one));
            _mm512_sub_pd(_mm512_castsi512_pd(m), one)
        }
        unsafe fn splat(x: f64) -> __m512d { _mm512_set1_pd(x) }
        unsafe fn add(a: __m512d, b: __m512d) -> __m512d { _mm512_add_pd(a, b) }
        unsafe fn sub(a: __m512d, b: __m512d) -> __m512d { _mm512_sub_pd(a, b) }
        unsafe fn mul(a: __m512d, b: __m512d) -> __m512d { _mm512_mul_pd(a, b) }
        unsafe fn plus(c: __m512d, a: __m512d, b: __m512d) -> __m512d { _mm512_fmadd_pd(a, b, c) }
        unsafe fn minus(c: __m512d, a: __m512d, b: __m512d) -> __m512d { _mm512_fnmadd_pd(a, b, c) }
        unsafe fn floor(a: __m512d) -> __m512d { _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(a) }
        unsafe fn reciprocal(x: __m512d) -> __m512d {
            // One Newton step gives (1 - e^2)/x from a seed of relative error e <= 2^-14.
            let r = _mm512_rcp14_pd(x);
            let e = _mm512_fnmadd_pd(x, r, _mm512_set1_pd(BIAS));
            _mm512_fmadd_pd(r, e, r)
        }
        unsafe fn min(a: __m512d, b: __m512d) -> __m512d { _mm512_min_pd(a, b) }
        unsafe fn max(a: __m512d, b: __m512d) -> __m512d { _mm512_max_pd(a, b) }
        unsafe fn lt(a: __m512d, b: __m512d) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b) }
        unsafe fn ge(a: __m512d, b: __m512d) -> __mmask8 { _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a, b) }
        unsafe fn and(a: __mmask8, b: __mmask8) -> __mmask8 { a & b }
        unsafe fn and_not(a: __mmask8, b: __mmask8) -> __mmask8 { !a & b }
        unsafe fn or(a: __mmask8, b: __mmask8) -> __mmask8 { a | b }
        unsafe fn select(m: __mmask8, a: __m512d, b: __m512d) -> __m512d { _mm512_mask_blend_pd(m, b, a) }
        unsafe fn keep(m: __mmask8, a: __m512d) -> __m512d { _mm512_maskz_mov_pd(m, a) }
        unsafe fn bits(m: __mmask8) -> u32 { u32::from(m) }
    }
}
