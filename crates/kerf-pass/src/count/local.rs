//! Local rounding error: what one operation would lose in a narrower format, all others as they are.
//!
//! Sums, products, quotients and multiply-adds are computed once more from operands rounded to the format's
//! digits, and rounded to them again; of everything else the value is rounded. All of it is in f64, by Veltkamp's
//! splitting, so exponents have no limits here: ranges are recorded apart.
use super::emit::{lanes, larger, operands, values};
use super::record::{LOCAL, LOCAL_VALUES, Local};
use kerf_ir::llvm::{Builder, Opcode, RealPred, Value};
use kerf_num::Format;

/// Formats that sites are compared with.
pub(super) const FORMATS: [Format; 3] = [Format::F32, Format::F16, Format::Bf16];

/// A single error counts at most this many units in the mean, so that one near-total cancellation does not
/// stand for all.
pub(super) const MOST: f64 = 1048576.0;

/// Parts of a unit in the sum of errors.
pub(super) const PARTS: f64 = 256.0;

/// One of a format's units: half a unit in the last place of 1.
pub(super) fn unit(f: Format) -> f64 {
    (-f64::from(f.mantissa_bits())).exp2()
}

/// Rounds to the digits of a format.
fn round(b: &Builder, x: Value, f: Format) -> Value {
    let wide = b.float_ty(Format::F64);
    let factor = f64::from(53 - f.mantissa_bits()).exp2() + 1.0;
    let c = b.bin(Opcode::LLVMFMul, x, wide.real(factor));
    let rest = b.bin(Opcode::LLVMFSub, c, x);
    b.bin(Opcode::LLVMFSub, c, rest)
}

/// As an f64. Poison becomes some number.
fn widened(b: &Builder, x: Value) -> Value {
    let wide = b.float_ty(Format::F64);
    let x = b.freeze(x);
    match x.ty().format() {
        Some(Format::F64) | None => x,
        Some(_) => b.cast(Opcode::LLVMFPExt, x, wide),
    }
}

/// Whether an operation is computed once more.
fn is_repeated(i: Value, op: &str) -> bool {
    match i.opcode() {
        Some(Opcode::LLVMCall) => matches!(op, "fma" | "fmuladd") && i.args().len() == 3,
        Some(code) => matches!(
            code,
            Opcode::LLVMFAdd | Opcode::LLVMFSub | Opcode::LLVMFMul | Opcode::LLVMFDiv
        ),
        None => false,
    }
}

/// The operation once more, from operands of one lane.
fn again(b: &Builder, i: Value, x: &[Value]) -> Option<Value> {
    match *x {
        [x, y] => Some(b.bin(i.opcode()?, x, y)),
        [x, y, z] => {
            let wide = b.float_ty(Format::F64);
            Some(b.intrinsic("llvm.fma", &[wide], &[x, y, z]))
        }
        _ => None,
    }
}

/// Takes the errors of a site's operation into its variables.
pub(super) fn see(b: &Builder, i: Value, op: &str, format: Format, slots: &[Value]) {
    let wide = b.float_ty(Format::F64);
    let i64t = b.int_ty(64);
    let add = |slot: usize, v: Value| {
        let sum = b.add(b.load(i64t, slots[slot]), b.zext_or_trunc(v, i64t));
        b.store(sum, slots[slot]);
    };
    for v in values(i) {
        let from: Vec<Vec<Value>> = match v == i && is_repeated(i, op) {
            true => operands(i).into_iter().map(|x| lanes(b, x)).collect(),
            false => Vec::new(),
        };
        for (l, value) in lanes(b, v).into_iter().enumerate() {
            let value = widened(b, value);
            let from: Vec<Value> = from.iter().map(|x| widened(b, x[l])).collect();
            let mut counted = false;
            for (k, f) in FORMATS.into_iter().enumerate() {
                if f.mantissa_bits() >= format.mantissa_bits() {
                    continue;
                }
                let rounded: Vec<Value> = from.iter().map(|x| round(b, *x, f)).collect();
                let result = again(b, i, &rounded).unwrap_or(value);
                let off = b.bin(Opcode::LLVMFSub, round(b, result, f), value);
                let relative = b.bin(Opcode::LLVMFDiv, off, value);
                let relative = b.intrinsic("llvm.fabs", &[wide], &[relative]);
                // Neither of zero nor of what is not finite.
                let known = b.fcmp(RealPred::LLVMRealOLT, relative, wide.real(f64::INFINITY));
                let relative = b.select(known, relative, wide.real(0.0));
                let Local { largest, sum } = LOCAL[k];
                // Bits of positive numbers have their order.
                let bits = b.bitcast(relative, i64t);
                let old = b.load(i64t, slots[largest]);
                b.store(larger(b, bits, old), slots[largest]);
                let units = b.bin(Opcode::LLVMFMul, relative, wide.real(PARTS / unit(f)));
                let most = wide.real(MOST * PARTS);
                let fits = b.fcmp(RealPred::LLVMRealOLT, units, most);
                let units = b.select(fits, units, most);
                add(sum, b.cast(Opcode::LLVMFPToSI, units, b.int_ty(32)));
                if !counted {
                    counted = true;
                    add(LOCAL_VALUES, known);
                }
            }
        }
    }
}
