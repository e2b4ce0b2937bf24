//! `__managed__` variables, which clang does not have: device variables with a mark (`cuda/host.h`).
//!
//! Host code has a variable of its own for each, without its first value; that travels with the device
//! code, and the runtime keeps both equal.
use crate::blob::Managed;
use kerf_llvm::{Module, Type, TypeKind, Value};

const MARK: &[u8] = b"kerf.managed";

/// Writes the bytes of a constant; false where there are addresses in it.
fn bytes(m: &Module, v: Value, t: Type, out: &mut [u8]) -> bool {
    let mut put = |b: &[u8]| {
        let n = b.len().min(out.len());
        out[..n].copy_from_slice(&b[..n]);
        true
    };
    let inner = |at: u64, e: Type, i: u32, out: &mut [u8]| match v.lane_constant(i) {
        Some(x) => bytes(m, x, e, &mut out[at as usize..]),
        None => false,
    };
    if v.is_undef() {
        return true;
    }
    if let (Some(x), true) = (v.const_int(), t.is_int()) {
        return put(&x.to_le_bytes()[..(m.size_of(t) as usize).min(8)]);
    }
    if let (Some(x), Some(f)) = (v.const_real(), t.format()) {
        return match f {
            kerf_num::Format::F64 => put(&x.to_le_bytes()),
            kerf_num::Format::F32 => put(&(x as f32).to_le_bytes()),
            _ => false,
        };
    }
    match t.kind() {
        TypeKind::LLVMArrayTypeKind | TypeKind::LLVMVectorTypeKind => {
            let e = t.element();
            let n = if t.is_vector() {
                u64::from(t.lanes())
            } else {
                t.array_len()
            };
            (0..n).all(|i| inner(i * m.size_of(e), e, i as u32, out))
        }
        TypeKind::LLVMStructTypeKind => t
            .fields()
            .into_iter()
            .enumerate()
            .all(|(i, e)| inner(m.field_offset(t, i as u32), e, i as u32, out)),
        // A null pointer is zeros; any other address is not known yet.
        _ => v.print().ends_with("null"),
    }
}

/// The marked variables of a module, and the module without marks.
pub fn take(m: &Module) -> Vec<Managed> {
    let Some(marks) = m.global("llvm.global.annotations") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in marks.initializer().map(Value::operands).unwrap_or_default() {
        let text = entry.operand(1);
        let text = if text.is_global_var() {
            text
        } else {
            text.operand(0)
        };
        let is_mark = text
            .initializer()
            .and_then(Value::const_string)
            .is_some_and(|s| s.starts_with(MARK));
        let var = entry.operand(0);
        let var = if var.is_global_var() {
            var
        } else {
            var.operand(0)
        };
        if !is_mark || !var.is_global_var() {
            continue;
        }
        let t = var.global_type();
        let mut first = vec![0; m.size_of(t) as usize];
        let known = var.initializer().is_none_or(|v| bytes(m, v, t, &mut first));
        found.push(Managed {
            symbol: var.name(),
            first: match known && first.iter().any(|b| *b != 0) {
                true => first.iter().map(|b| format!("{b:02x}")).collect(),
                false => String::new(),
            },
        });
    }
    marks.delete_global();
    found
}
