//! `fma` of f16 and bf16 for GPUs that have no such instruction.
//!
//! LLVM would compute it in f32 and round a second time, which can give another result than the one
//! rounding of `fma`. In f64 the product is exact; the sum is rounded to odd, from which the narrow
//! format rounds correctly (Boldo and Melquiond 2008).
use kerf_llvm::{Builder, IntPred, Module, Opcode, RealPred, Value};
use kerf_num::Format;

fn exact(b: &Builder, args: &[Value]) -> Value {
    let (double, bits) = (b.float_ty(Format::F64), b.int_ty(64));
    let wide: Vec<Value> = args
        .iter()
        .map(|a| b.cast(Opcode::LLVMFPExt, *a, double))
        .collect();
    let add = |x, y| b.bin(Opcode::LLVMFAdd, x, y);
    let sub = |x, y| b.bin(Opcode::LLVMFSub, x, y);
    let p = b.bin(Opcode::LLVMFMul, wide[0], wide[1]);
    let c = wide[2];
    let s = add(p, c);
    // What the sum lost (Knuth's two-sum); NaN where it is not finite.
    let t = sub(s, p);
    let e = add(sub(p, sub(s, t)), sub(c, t));
    let up = b.fcmp(RealPred::LLVMRealOGT, e, double.zero());
    let down = b.fcmp(RealPred::LLVMRealOLT, e, double.zero());
    let positive = b.fcmp(RealPred::LLVMRealOGT, s, double.zero());
    let word = b.bitcast(s, bits);
    let even = b.icmp(IntPred::LLVMIntEQ, b.and(word, bits.int(1)), bits.zero());
    let away = b.icmp(IntPred::LLVMIntEQ, up, positive);
    let step = b.select(away, bits.int(1), bits.int(u64::MAX));
    let odd = b.add(word, step);
    let moves = b.and(b.or(up, down), even);
    let r = b.bitcast(b.select(moves, odd, word), double);
    b.cast(Opcode::LLVMFPTrunc, r, args[0].ty())
}

/// Writes out what the architecture of this capability has no instruction for.
pub(crate) fn expand(m: &Module, capability: u64) {
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        for i in f.instructions() {
            let fma = i
                .callee_name()
                .is_some_and(|n| n.starts_with("llvm.fma.") || n.starts_with("llvm.fmuladd."));
            let missing = match i.ty().element().format() {
                Some(Format::F16) => capability < 53,
                Some(Format::Bf16) => capability < 80,
                _ => false,
            };
            if !fma || !missing {
                continue;
            }
            let (b, args) = (Builder::before(i), i.args());
            let r = match i.ty().is_vector() {
                false => exact(&b, &args),
                true => (0..i.ty().lanes()).fold(i.ty().poison(), |v, k| {
                    let lanes: Vec<Value> = args.iter().map(|a| b.lane(*a, k)).collect();
                    b.set_lane(v, exact(&b, &lanes), k)
                }),
            };
            i.become_value(r);
        }
    }
}
