//! Directed rounding, by the processor's own rounding mode.
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
            div_rz_f32 f32, "divss";);
family!(RM, add_rm_f64 f64, "addsd"; sub_rm_f64 f64, "subsd"; mul_rm_f64 f64, "mulsd"; div_rm_f64 f64, "divsd";
            div_rm_f32 f32, "divss";);
family!(RP, add_rp_f64 f64, "addsd"; sub_rp_f64 f64, "subsd"; mul_rp_f64 f64, "mulsd"; div_rp_f64 f64, "divsd";
            div_rp_f32 f32, "divss";);
unary!(sqrt_rz_f64, f64, f64, "sqrtsd", RZ, xmm_reg);
unary!(sqrt_rm_f64, f64, f64, "sqrtsd", RM, xmm_reg);
unary!(sqrt_rp_f64, f64, f64, "sqrtsd", RP, xmm_reg);
unary!(sqrt_rz_f32, f32, f32, "sqrtss", RZ, xmm_reg);
unary!(sqrt_rm_f32, f32, f32, "sqrtss", RM, xmm_reg);
unary!(sqrt_rp_f32, f32, f32, "sqrtss", RP, xmm_reg);
unary!(i64_to_f64_rz, i64, f64, "cvtsi2sd", RZ, reg);
unary!(i64_to_f64_rm, i64, f64, "cvtsi2sd", RM, reg);
unary!(i64_to_f64_rp, i64, f64, "cvtsi2sd", RP, reg);
unary!(i64_to_f32_rz, i64, f32, "cvtsi2ss", RZ, reg);
unary!(i64_to_f32_rm, i64, f32, "cvtsi2ss", RM, reg);
unary!(i64_to_f32_rp, i64, f32, "cvtsi2ss", RP, reg);

/// Directed fma by MPFR: exact product and sum, one rounding with subnormals.
fn fma_directed(a: f64, b: f64, c: f64, round: rug::float::Round) -> f64 {
    if !a.is_finite() || !b.is_finite() || !c.is_finite() {
        return a.mul_add(b, c);
    }
    let exact =
        rug::Float::with_val(4400, a) * rug::Float::with_val(53, b) + rug::Float::with_val(53, c);
    if exact.is_zero() {
        // Terms of other signs: minus zero under rounding down.
        let (p, q) = (
            a.is_sign_negative() != b.is_sign_negative(),
            c.is_sign_negative(),
        );
        let minus = if p == q {
            p
        } else {
            round == rug::float::Round::Down
        };
        return if minus { -0.0 } else { 0.0 };
    }
    let (min_exp, max, digits) = (-1074, f64::MAX, 53);
    // Precision left at this exponent: fewer digits below the smallest normal.
    let e = exact.get_exp().unwrap_or(0);
    let p = (e - min_exp).clamp(1, digits) as u32;
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
    ($($n:ident $mode:ident $r:ident;)*) => { $(
        /// Directed fma.
        pub extern "C" fn $n(a: f64, b: f64, c: f64) -> f64 {
            if !std::arch::is_x86_feature_detected!("fma") {
                return fma_directed(a, b, c, rug::float::Round::$r);
            }
            let mut r = a;
            let (on, off) = ($mode, RN);
            // SAFETY: as above, and the processor has the instruction.
            unsafe {
                asm!("ldmxcsr [{on}]", "vfmadd213sd {r}, {b}, {c}", "ldmxcsr [{off}]",
                     on = in(reg) &on, off = in(reg) &off, r = inout(xmm_reg) r, b = in(xmm_reg) b, c = in(xmm_reg) c,
                     options(nostack));
            }
            r
        }
    )* };
}
fma! { fma_rz_f64 RZ Zero; fma_rm_f64 RM Down; fma_rp_f64 RP Up; }

macro_rules! unsigned {
    ($($n:ident $m:ident $r:ident;)*) => { $(
        /// u64 to f64 under a directed rounding.
        pub extern "C" fn $n(a: u64) -> f64 { rug::Float::with_val_round(53, a, rug::float::Round::$r).0.to_f64() }
        /// u64 to f32 under a directed rounding.
        pub extern "C" fn $m(a: u64) -> f32 { rug::Float::with_val_round(24, a, rug::float::Round::$r).0.to_f32() }
    )* };
}
unsigned! { u64_to_f64_rz u64_to_f32_rz Zero; u64_to_f64_rm u64_to_f32_rm Down; u64_to_f64_rp u64_to_f32_rp Up; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_operations_bracket_the_exact_value() {
        assert!(add_rm_f64(1.0, 1e-30) == 1.0 && add_rp_f64(1.0, 1e-30) > 1.0);
        assert!(add_rz_f64(-1.0, -1e-30) == -1.0 && add_rm_f64(-1.0, -1e-30) < -1.0);
        assert!(div_rm_f32(1.0, 3.0) < div_rp_f32(1.0, 3.0));
        assert_eq!(1.0 + 1e-30, 1.0, "the rounding mode is restored");
    }

    #[test]
    fn fma_rounds_once() {
        assert_eq!(fma_rz_f64(1.0, 1.0, 2f64.powi(-60)), 1.0);
        assert!(fma_rp_f64(1.0, 1.0, 2f64.powi(-60)) > 1.0);
        // As a processor without the instruction has it.
        for (a, b, c) in [
            (1.5, 1.25, -1e-300),
            (1e-200, -1e-200, 0.0),
            (-3.0, 0.1, 0.3),
        ] {
            use rug::float::Round;
            assert_eq!(fma_rm_f64(a, b, c), fma_directed(a, b, c, Round::Down));
            assert_eq!(fma_rp_f64(a, b, c), fma_directed(a, b, c, Round::Up));
            assert_eq!(fma_rz_f64(a, b, c), fma_directed(a, b, c, Round::Zero));
        }
    }
}
