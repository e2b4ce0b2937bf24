//! Steps through an object: address computations in elements of another size.
use kerf_ir::llvm::{Module, Opcode, Type, Value};
use kerf_num::Format;

/// How an address computation looks when elements are narrower.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// The same indices over another type.
    Over(Type),
    /// A constant number of bytes.
    Bytes(i64),
    /// A number of elements: the index, which is in units of bytes, shifted right.
    Shifted { by: u32 },
}

/// The type with numbers of one format replaced; none if it has anything else, or would not shrink in
/// proportion.
pub(super) fn narrow_type(m: &Module, t: Type, from: Format, to: Format) -> Option<Type> {
    use kerf_ir::llvm::TypeKind::*;
    let new = match t.kind() {
        LLVMArrayTypeKind => narrow_type(m, t.element(), from, to)?.array(t.array_len()),
        LLVMVectorTypeKind => narrow_type(m, t.element(), from, to)?.vector(t.lanes()),
        LLVMStructTypeKind => {
            let fields = t
                .fields()
                .into_iter()
                .map(|f| narrow_type(m, f, from, to))
                .collect::<Option<Vec<_>>>()?;
            m.struct_ty(&fields)
        }
        _ if t.format() == Some(from) => m.float_ty(to),
        _ => return None,
    };
    let (old, now) = (m.size_of(t), m.size_of(new));
    (old * to.bytes() as u64 == now * from.bytes() as u64).then_some(new)
}

/// A power of two that divides an integer, whatever its value.
fn multiple(v: Value) -> u64 {
    multiple_of(v, &mut Vec::new())
}

/// The same; what is being looked at already divides by all that the rest of its loop does.
fn multiple_of(v: Value, open: &mut Vec<Value>) -> u64 {
    const MOST: u64 = 1 << 16;
    if let Some(c) = v.const_int() {
        return 1 << c.trailing_zeros().min(16);
    }
    let mut of = |i: u32| multiple_of(v.operand(i), open);
    match v.opcode() {
        Some(Opcode::LLVMShl) => {
            let by = v.operand(1).const_int().unwrap_or(0).min(16);
            (of(0) << by).min(MOST)
        }
        Some(Opcode::LLVMMul) => (of(0) * of(1)).min(MOST),
        Some(Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMOr) => of(0).min(of(1)),
        Some(Opcode::LLVMAnd) => of(0).max(of(1)),
        Some(Opcode::LLVMZExt | Opcode::LLVMSExt | Opcode::LLVMTrunc | Opcode::LLVMFreeze) => of(0),
        Some(Opcode::LLVMSelect) => of(1).min(of(2)),
        Some(Opcode::LLVMPHI) => {
            if open.contains(&v) {
                return MOST;
            }
            open.push(v);
            let all = v.incoming().into_iter();
            all.map(|(x, _)| multiple_of(x, open)).min().unwrap_or(1)
        }
        _ => 1,
    }
}

/// How an address computation is to be written; the reason if it cannot be.
pub(super) fn step(m: &Module, gep: Value, from: Format, to: Format) -> Result<Step, String> {
    let t = gep.gep_type();
    if let Some(new) = narrow_type(m, t, from, to) {
        return Ok(Step::Over(new));
    }
    let (size, element) = (m.size_of(t), from.bytes() as u64);
    let indices = gep.operands().len() - 1;
    if indices != 1 {
        return Err(format!("its elements are {}", t.print()));
    }
    if size.is_multiple_of(element) {
        return Ok(Step::Over(match size / element {
            1 => m.float_ty(to),
            n => m.float_ty(to).array(n),
        }));
    }
    let index = gep.operand(1);
    if let Some(c) = index.const_int() {
        let bits = index.ty().int_bits();
        let c = ((c << (64 - bits)) as i64) >> (64 - bits);
        let bytes = c * size as i64;
        return match bytes % element as i64 {
            0 => Ok(Step::Bytes(bytes / element as i64 * to.bytes() as i64)),
            _ => Err(format!("a step of {bytes} bytes leads into an element")),
        };
    }
    match size == 1 && multiple(index).is_multiple_of(element) {
        true => Ok(Step::Shifted {
            by: element.trailing_zeros(),
        }),
        false => Err(format!(
            "a step in units of {size} bytes may lead into an element"
        )),
    }
}
