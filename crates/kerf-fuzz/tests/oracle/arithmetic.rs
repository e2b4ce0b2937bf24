//! Operations of the interpreter: operands and result in one format, rounded once by `kerf-num`.
use kerf_llvm::RealPred;
use kerf_num::Format;

/// The sum of numbers rounded to odd in f64, from which narrower formats round correctly.
fn to_odd(exact: &rug::Float) -> f64 {
    let toward_zero = exact.to_f64_round(rug::float::Round::Zero);
    match rug::Float::with_val(53, toward_zero) == *exact {
        true => toward_zero,
        false => f64::from_bits(toward_zero.to_bits() | 1),
    }
}

/// An integer in a format.
pub fn from_integer(n: i128, f: Format) -> f64 {
    match f {
        Format::F64 => n as f64,
        Format::F32 => f64::from(n as f32),
        _ => f.round(to_odd(&rug::Float::with_val(200, n))),
    }
}

/// a*b + c in a format that holds all three.
pub fn fma(a: f64, b: f64, c: f64, f: Format) -> f64 {
    match f {
        Format::F64 => a.mul_add(b, c),
        Format::F32 => f64::from((a as f32).mul_add(b as f32, c as f32)),
        _ => {
            let plain = a * b + c;
            if !plain.is_finite() || plain == 0.0 {
                return f.round(plain);
            }
            // Products and sums of these formats fit into 700 bits.
            let exact = rug::Float::with_val(700, a) * b + c;
            f.round(to_odd(&exact))
        }
    }
}

/// Minimum or maximum as PTX has it: a number before NaN, -0 less than +0.
pub fn extreme(a: f64, b: f64, least: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() { b } else { a };
    }
    if a == b {
        let negative = match least {
            true => a.is_sign_negative() || b.is_sign_negative(),
            false => a.is_sign_negative() && b.is_sign_negative(),
        };
        return if negative { -a.abs() } else { a.abs() };
    }
    if (a < b) == least { a } else { b }
}

/// The lowest bits.
pub fn mask(v: u64, bits: u32) -> u64 {
    if bits >= 64 { v } else { v & ((1 << bits) - 1) }
}

/// An integer of some bits with its sign.
pub fn signed(v: u64, bits: u32) -> i64 {
    ((v << (64 - bits)) as i64) >> (64 - bits)
}

/// A comparison of LLVM's.
pub fn compare(p: RealPred, a: f64, b: f64) -> bool {
    use RealPred::*;
    let unordered = a.is_nan() || b.is_nan();
    match p {
        LLVMRealOEQ => a == b,
        LLVMRealOGT => a > b,
        LLVMRealOGE => a >= b,
        LLVMRealOLT => a < b,
        LLVMRealOLE => a <= b,
        LLVMRealONE => !unordered && a != b,
        LLVMRealORD => !unordered,
        LLVMRealUNO => unordered,
        LLVMRealUEQ => unordered || a == b,
        LLVMRealUGT => unordered || a > b,
        LLVMRealUGE => unordered || a >= b,
        LLVMRealULT => unordered || a < b,
        LLVMRealULE => unordered || a <= b,
        LLVMRealUNE => a != b,
        LLVMRealPredicateTrue => true,
        LLVMRealPredicateFalse => false,
    }
}
