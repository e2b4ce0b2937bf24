//! Directed rounding, by the processor's own rounding mode, and the small-format fma.
use kerf_num::Format;
use std::arch::asm;

/// MXCSR with all exceptions masked and the given rounding field.
const fn mode(rc: u32) -> u32 {
    0x1f80 | (rc << 13)
}
const RM: u32 = mode(1);
const RP: u32 = mode(2);
const RZ: u32 = mode(3);
const RN: u32 = mode(0);

macro_rules! binary {
    ($name:ident, $t:ty, $inst:literal, $mode:expr) => {
        /// One operation under a directed rounding mode.
        pub extern "C" fn $name(a: $t, b: $t) -> $t {
            let mut r = a;
            let (on, off) = ($mode, RN);
            // SAFETY: sets the rounding mode, does one SSE operation, sets it back.
            unsafe {
                asm!("ldmxcsr [{on}]", concat!($inst, " {r}, {b}"), "ldmxcsr [{off}]",
                     on = in(reg) &on, off = in(reg) &off, r = inout(xmm_reg) r, b = in(xmm_reg) b,
                     options(nostack));
            }
            r
        }
    };
}

macro_rules! unary {
    ($name:ident, $from:ty, $to:ty, $inst:literal, $mode:expr, $class:ident) => {
        /// One operation under a directed rounding mode.
        pub extern "C" fn $name(a: $from) -> $to {
            let mut r: $to = 0.0;
            let (on, off) = ($mode, RN);
            // SAFETY: as above.
            unsafe {
                asm!("ldmxcsr [{on}]", concat!($inst, " {r}, {a}"), "ldmxcsr [{off}]",
                     on = in(reg) &on, off = in(reg) &off, r = inout(xmm_reg) r, a = in($class) a,
                     options(nostack));
            }
            r
        }
    };
}

macro_rules! family {
    ($mode:expr, $($n:ident $t:ty, $i:literal;)*) => { $( binary!($n, $t, $i, $mode); )* };
}

family!(RZ, add_rz_f64 f64, "addsd"; sub_rz_f64 f64, "subsd"; mul_rz_f64 f64, "mulsd"; div_rz_f64 f64, "divsd";
            add_rz_f32 f32, "addss"; sub_rz_f32 f32, "subss"; mul_rz_f32 f32, "mulss"; div_rz_f32 f32, "divss";);
family!(RM, add_rm_f64 f64, "addsd"; sub_rm_f64 f64, "subsd"; mul_rm_f64 f64, "mulsd"; div_rm_f64 f64, "divsd";
            add_rm_f32 f32, "addss"; sub_rm_f32 f32, "subss"; mul_rm_f32 f32, "mulss"; div_rm_f32 f32, "divss";);
family!(RP, add_rp_f64 f64, "addsd"; sub_rp_f64 f64, "subsd"; mul_rp_f64 f64, "mulsd"; div_rp_f64 f64, "divsd";
            add_rp_f32 f32, "addss"; sub_rp_f32 f32, "subss"; mul_rp_f32 f32, "mulss"; div_rp_f32 f32, "divss";);
unary!(sqrt_rz_f64, f64, f64, "sqrtsd", RZ, xmm_reg);
unary!(sqrt_rm_f64, f64, f64, "sqrtsd", RM, xmm_reg);
unary!(sqrt_rp_f64, f64, f64, "sqrtsd", RP, xmm_reg);
unary!(sqrt_rz_f32, f32, f32, "sqrtss", RZ, xmm_reg);
unary!(sqrt_rm_f32, f32, f32, "sqrtss", RM, xmm_reg);
unary!(sqrt_rp_f32, f32, f32, "sqrtss", RP, xmm_reg);
unary!(f64_to_f32_rz, f64, f32, "cvtsd2ss", RZ, xmm_reg);
unary!(f64_to_f32_rm, f64, f32, "cvtsd2ss", RM, xmm_reg);
unary!(f64_to_f32_rp, f64, f32, "cvtsd2ss", RP, xmm_reg);
unary!(i64_to_f64_rz, i64, f64, "cvtsi2sd", RZ, reg);
unary!(i64_to_f64_rm, i64, f64, "cvtsi2sd", RM, reg);
unary!(i64_to_f64_rp, i64, f64, "cvtsi2sd", RP, reg);
unary!(i64_to_f32_rz, i64, f32, "cvtsi2ss", RZ, reg);
unary!(i64_to_f32_rm, i64, f32, "cvtsi2ss", RM, reg);
unary!(i64_to_f32_rp, i64, f32, "cvtsi2ss", RP, reg);

/// Directed fma by MPFR: exact product and sum, one rounding with subnormals.
fn fma_directed(a: f64, b: f64, c: f64, digits: u32, round: rug::float::Round) -> f64 {
    let plain = a.mul_add(b, c);
    if !plain.is_finite() || !a.is_finite() || !b.is_finite() || !c.is_finite() || plain == 0.0 {
        let exact_zero = plain == 0.0 && a != 0.0 && b != 0.0;
        if exact_zero || plain == 0.0 {
            // Sum exactly zero: minus zero under rounding down, unless both terms are +0.
            let p = a * b;
            if p == -c
                && round == rug::float::Round::Down
                && !(p == 0.0 && p.is_sign_positive() && c.is_sign_positive())
            {
                return -0.0;
            }
        }
        if plain.is_nan() || a.is_infinite() || b.is_infinite() || c.is_infinite() {
            return plain;
        }
    }
    let exact =
        rug::Float::with_val(2300, a) * rug::Float::with_val(53, b) + rug::Float::with_val(53, c);
    let (min_exp, max) = if digits == 53 {
        (-1074, f64::MAX)
    } else {
        (-149, f64::from(f32::MAX))
    };
    // Precision left at this exponent: fewer digits below the smallest normal.
    let e = exact.get_exp().unwrap_or(0);
    let p = (e - min_exp).clamp(1, digits as i32) as u32;
    let r = rug::Float::with_val_round(p, &exact, round).0.to_f64();
    if e < min_exp {
        // Below the smallest subnormal: zero or that.
        let tiny = 2f64.powi(min_exp);
        return match (round, exact.is_sign_negative()) {
            (rug::float::Round::Down, true) => -tiny,
            (rug::float::Round::Up, false) => tiny,
            (_, neg) => {
                if neg {
                    -0.0
                } else {
                    0.0
                }
            }
        };
    }
    if r.abs() > max {
        return match (round, r > 0.0) {
            (rug::float::Round::Up, true) => f64::INFINITY,
            (rug::float::Round::Down, false) => f64::NEG_INFINITY,
            (_, true) => max,
            (_, false) => -max,
        };
    }
    r
}

macro_rules! fma {
    ($($n:ident $m:ident $r:ident;)*) => { $(
        /// Directed f64 fma.
        pub extern "C" fn $n(a: f64, b: f64, c: f64) -> f64 { fma_directed(a, b, c, 53, rug::float::Round::$r) }
        /// Directed f32 fma.
        pub extern "C" fn $m(a: f32, b: f32, c: f32) -> f32 {
            fma_directed(f64::from(a), f64::from(b), f64::from(c), 24, rug::float::Round::$r) as f32
        }
    )* };
}
fma! { fma_rz_f64 fma_rz_f32 Zero; fma_rm_f64 fma_rm_f32 Down; fma_rp_f64 fma_rp_f32 Up; }

macro_rules! unsigned {
    ($($n:ident $m:ident $r:ident;)*) => { $(
        /// u64 to f64 under a directed rounding.
        pub extern "C" fn $n(a: u64) -> f64 { rug::Float::with_val_round(53, a, rug::float::Round::$r).0.to_f64() }
        /// u64 to f32 under a directed rounding.
        pub extern "C" fn $m(a: u64) -> f32 { rug::Float::with_val_round(24, a, rug::float::Round::$r).0.to_f32() }
    )* };
}
unsigned! { u64_to_f64_rz u64_to_f32_rz Zero; u64_to_f64_rm u64_to_f32_rm Down; u64_to_f64_rp u64_to_f32_rp Up; }

/// a*b+c rounded to odd in f64, from which any narrower format rounds correctly.
fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    let p = a * b; // exact: at most 22 bits
    let s = p + c;
    if !s.is_finite() {
        return s;
    }
    let t = s - p;
    let e = (p - (s - t)) + (c - t);
    if e == 0.0 || s.to_bits() & 1 == 1 {
        return s;
    }
    if (e > 0.0) == (s > 0.0) {
        f64::from_bits(s.to_bits() + 1)
    } else {
        f64::from_bits(s.to_bits() - 1)
    }
}

/// Correctly rounded fma of binary16.
pub extern "C" fn fma_f16(a: u16, b: u16, c: u16) -> u16 {
    let f = |x: u16| Format::F16.decode(u64::from(x));
    Format::F16.encode(fma_to_odd(f(a), f(b), f(c))) as u16
}

/// Correctly rounded fma of bfloat16.
pub extern "C" fn fma_bf16(a: u16, b: u16, c: u16) -> u16 {
    let f = |x: u16| Format::Bf16.decode(u64::from(x));
    Format::Bf16.encode(fma_to_odd(f(a), f(b), f(c))) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_operations_bracket_the_exact_value() {
        assert!(add_rm_f64(1.0, 1e-30) == 1.0 && add_rp_f64(1.0, 1e-30) > 1.0);
        assert!(add_rz_f64(-1.0, -1e-30) == -1.0 && add_rm_f64(-1.0, -1e-30) < -1.0);
        assert!(div_rm_f32(1.0, 3.0) < div_rp_f32(1.0, 3.0));
        assert_eq!(f64_to_f32_rz(0.1), 0.099_999_994);
        assert_eq!(1.0 + 1e-30, 1.0, "the rounding mode is restored");
    }

    #[test]
    fn half_fma_against_mpfr() {
        // A walk over mixed magnitudes; MPFR rounds the exact value once, with subnormals.
        let mut x = 1u64;
        let mut next = || {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (x >> 40) as u16
        };
        for _ in 0..20_000 {
            let (a, b, c) = (next(), next(), next());
            let d = |v: u16| Format::F16.decode(u64::from(v));
            let exact = rug::Float::with_val(200, d(a)) * d(b) + d(c);
            if !exact.is_finite() || exact.is_zero() {
                continue;
            }
            let hi = exact.to_f64();
            let dd = kerf_num::Dd::from_sum(hi, rug::Float::with_val(200, &exact - hi).to_f64());
            let want = Format::F16.round_dd(dd);
            assert_eq!(
                d(fma_f16(a, b, c)).to_bits(),
                want.to_bits(),
                "{a:x} {b:x} {c:x}"
            );
        }
    }

    #[test]
    fn fma_rounds_once() {
        let h = |x: f64| half::f16::from_f64(x).to_bits();
        // 1.0009765625 * 1.0009765625 + 2^-24: needs more than f32's rounding to decide.
        let a = 1.0 + 2f64.powi(-10);
        let got = half::f16::from_bits(fma_f16(h(a), h(a), h(2f64.powi(-24)))).to_f64();
        assert_eq!(got, 1.0 + 2.0 * 2f64.powi(-10));
        assert_eq!(fma_rz_f64(1.0, 1.0, 2f64.powi(-60)), 1.0);
        assert!(fma_rp_f64(1.0, 1.0, 2f64.powi(-60)) > 1.0);
        assert_eq!(
            fma_rm_f32(f32::MIN_POSITIVE, 0.5, -1e-45),
            fma_rz_f32(f32::MIN_POSITIVE, 0.5, -1e-45)
        );
    }
}
