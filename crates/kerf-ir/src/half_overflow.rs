//! Conversions of integers to f16 that may overflow.
//!
//! LLVM 22 makes `sitofp i32 %x to float` of `fpext half (sitofp i32 %x to half) to float` where the integer has no
//! more significant bits than a half. It does not ask for the exponent: of `1 << 30` the first is 2^30 and the second
//! infinity. The same happens to truncations. An integer that is limited to ±65535 has the same half, since 65520 is
//! infinity already, and as nothing is known of its low bits LLVM leaves it alone.
use kerf_llvm::{Builder, Module, Opcode, Type, Value};
use kerf_num::Format;

/// The largest integer of 16 bits, which is beyond the largest half.
const BEYOND: i64 = 65_535;

fn constant(t: Type, v: i64) -> Value {
    match t.is_vector() {
        true => Type::vector_of(&vec![t.element().int(v as u64); t.lanes() as usize]),
        false => t.int(v as u64),
    }
}

fn element(t: Type) -> Type {
    match t.is_vector() {
        true => t.element(),
        false => t,
    }
}

/// Was this done to the operand before?
fn is_limited(v: Value) -> bool {
    (v.callee_name()).is_some_and(|n| n.starts_with("llvm.umin.") || n.starts_with("llvm.smax."))
}

/// Limits the operand of every conversion of a wide integer to f16.
pub fn limit_halves(m: &Module) {
    for i in m.functions().iter().flat_map(|f| f.instructions()) {
        let signed = match i.opcode() {
            Some(Opcode::LLVMSIToFP) => true,
            Some(Opcode::LLVMUIToFP) => false,
            _ => continue,
        };
        let x = i.operand(0);
        let t = x.ty();
        let wide = element(t).int_bits() > 16;
        if !wide
            || element(i.ty()).format() != Some(Format::F16)
            || x.is_constant()
            || is_limited(x)
        {
            continue;
        }
        let b = Builder::before(i);
        let most = constant(t, BEYOND);
        let limited = match signed {
            true => {
                let least = constant(t, -BEYOND);
                let below = b.intrinsic("llvm.smin", &[t], &[x, most]);
                b.intrinsic("llvm.smax", &[t], &[below, least])
            }
            false => b.intrinsic("llvm.umin", &[t], &[x, most]),
        };
        i.set_operand(0, limited);
    }
}
