//! What the value of a site says: the fields of its record that it joins, and the bits that a sum lost.
use super::fields::{self, Join, infinity, join};
use super::values::{is_sum, larger, operands};
use kerf_ir::sites::float_shape;
use kerf_llvm::{Builder, IntPred, Opcode, RealPred, Value};
use kerf_num::Format;

/// What a sum adds: two operands, or a product and an addend.
pub(super) enum Terms {
    Two(Value, Value),
    Product(Value, Value, Value),
}

impl Terms {
    /// The two numbers that are added.
    pub(super) fn summands(&self, b: &Builder) -> (Value, Value) {
        match *self {
            Terms::Two(x, y) => (x, y),
            Terms::Product(x, y, z) => (b.bin(Opcode::LLVMFMul, x, y), z),
        }
    }
}

/// What an instruction adds, where it is a sum.
pub(super) fn terms(i: Value, op: &str) -> Option<Terms> {
    if !is_sum(op) || float_shape(i.ty()).is_none() {
        return None;
    }
    match operands(i)[..] {
        [a, b] => Some(Terms::Two(a, b)),
        [a, b, c] => Some(Terms::Product(a, b, c)),
        _ => None,
    }
}

/// Bits of a number without its sign. Poison becomes some number, for it would spoil all counts.
fn magnitude(b: &Builder, x: Value) -> Value {
    let width = x.ty().format().map_or(64, |f| 8 * f.bytes() as u32);
    let bits = b.bitcast(b.freeze(x), b.int_ty(width));
    let bits = b.zext_or_trunc(bits, b.int_ty(64));
    b.and(bits, b.i64((1 << (width - 1)) - 1))
}

/// What a value says: fields, and what is to be joined into them.
pub(super) fn told(b: &Builder, x: Value) -> Vec<(usize, Value)> {
    let Some(f) = x.ty().format() else {
        return Vec::new();
    };
    let zero = b.i64(0);
    let m = magnitude(b, x);
    let inf = b.i64(infinity(f));
    // Programs write the largest number for one that is larger than all: a minimum begins with it.
    let largest = b.icmp(IntPred::LLVMIntEQ, m, b.i64(infinity(f) - 1));
    let m = b.select(largest, inf, m);
    let finite = b.icmp(IntPred::LLVMIntULT, m, inf);
    let some = b.icmp(IntPred::LLVMIntNE, m, zero);
    let live = b.and(finite, some);
    let below = |limit: f64| {
        let limit = b.i64(f.encode(limit));
        b.and(live, b.icmp(IntPred::LLVMIntULT, m, limit))
    };
    let fraction = b.i64((1 << (f.mantissa_bits() - 1)) - 1);
    vec![
        (fields::LARGEST, b.select(finite, m, zero)),
        (fields::BELOW_INFINITY, b.select(live, b.sub(inf, m), zero)),
        (fields::FRACTION, b.select(live, b.and(m, fraction), zero)),
        (fields::NAN, b.icmp(IntPred::LLVMIntUGT, m, inf)),
        (fields::INFINITE, b.icmp(IntPred::LLVMIntEQ, m, inf)),
        (fields::TINY_F16, below(Format::F16.min_normal())),
        (fields::TINY_F32, below(Format::F32.min_normal())),
        (fields::TINY_DW32, below(fields::LEAST_DW32)),
        (fields::ZERO, b.icmp(IntPred::LLVMIntEQ, m, zero)),
    ]
}

/// What the argument of a math call says.
pub(super) fn told_of_argument(
    b: &Builder,
    x: Value,
    [largest, smallest]: [usize; 2],
) -> Vec<(usize, Value)> {
    let wide = b.float_ty(Format::F64);
    let x = super::local::widened(b, x);
    let bits = b.bitcast(x, b.int_ty(64));
    let size = b.intrinsic("llvm.fabs", &[wide], &[x]);
    let finite = b.fcmp(RealPred::LLVMRealOLT, size, wide.real(f64::INFINITY));
    let negative = b.icmp(IntPred::LLVMIntSLT, bits, b.i64(0));
    let flipped = b.select(negative, b.i64(u64::MAX), b.i64(fields::KEY_SIGN));
    let key = b.xor(bits, flipped);
    let complement = b.xor(key, b.i64(u64::MAX));
    let zero = b.i64(0);
    vec![
        (largest, b.select(finite, key, zero)),
        (smallest, b.select(finite, complement, zero)),
    ]
}

/// The arguments of a math call: what functions that note them are called by, and their fields.
pub(super) const ARGUMENTS: [(&str, [usize; 2]); 2] = [
    (
        "argument",
        [fields::LARGEST_ARGUMENT, fields::SMALLEST_ARGUMENT],
    ),
    ("second", [fields::LARGEST_SECOND, fields::SMALLEST_SECOND]),
];

/// Takes a value into a site's variables.
pub(super) fn see(b: &Builder, x: Value, slots: &[Value]) {
    take(b, told(b, x), slots);
}

/// Joins fields into a site's variables.
pub(super) fn take(b: &Builder, fields: Vec<(usize, Value)>, slots: &[Value]) {
    let i64t = b.int_ty(64);
    for (field, v) in fields {
        let old = b.load(i64t, slots[field]);
        let new = match join(field) {
            Join::Largest => larger(b, v, old),
            Join::All => b.or(v, old),
            Join::Sum => b.add(b.zext_or_trunc(v, i64t), old),
        };
        b.store(new, slots[field]);
    }
}

/// The bits that a sum of two numbers lost in front.
pub(super) fn lost(b: &Builder, x: Value, y: Value, r: Value, f: Format) -> Value {
    let (zero, one) = (b.i64(0), b.i64(1));
    let inf = b.i64(infinity(f));
    let shift = b.i64(u64::from(f.mantissa_bits() - 1));
    let (x, y, r) = (magnitude(b, x), magnitude(b, y), magnitude(b, r));
    let operand = larger(b, x, y);
    let exponent = |m: Value| larger(b, b.lshr(m, shift), one);
    let (e, er) = (exponent(operand), exponent(r));
    let lost = b.select(b.icmp(IntPred::LLVMIntUGT, e, er), b.sub(e, er), zero);
    let all = b.i64(u64::from(f.mantissa_bits()));
    let nothing = b.icmp(IntPred::LLVMIntEQ, operand, zero);
    let gone = b.icmp(IntPred::LLVMIntEQ, r, zero);
    let lost = b.select(gone, b.select(nothing, zero, all), lost);
    // An infinite result is larger than its operands, and a NaN says nothing.
    let known = b.icmp(IntPred::LLVMIntULT, operand, inf);
    b.select(known, lost, zero)
}
