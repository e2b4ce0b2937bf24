//! What a variable of the program holds before anything ran, in a narrower format.
use kerf_llvm::{Type, TypeKind, Value};
use kerf_num::StorageFormat;
use kerf_num::scaled::StorageLoss;

fn is_zero(v: Value) -> bool {
    v == v.ty().zero()
}

/// How many parts a constant of a type has; none if it is a number.
fn parts(t: Type) -> Option<u64> {
    match t.kind() {
        TypeKind::LLVMArrayTypeKind => Some(t.array_len()),
        TypeKind::LLVMVectorTypeKind => Some(t.lanes().into()),
        TypeKind::LLVMStructTypeKind => Some(t.fields().len() as u64),
        _ => None,
    }
}

/// Is a constant made of numbers and nothing else, in arrays and structs of any shape?
pub(super) fn is_plain(v: Value) -> bool {
    if is_zero(v) || v.is_undef() {
        return true;
    }
    match parts(v.ty()) {
        None => v.const_real().is_some(),
        Some(n) => (0..n as u32).all(|i| v.lane_constant(i).is_some_and(is_plain)),
    }
}

/// A number of a plain constant that a format does not hold, if there is one.
pub(super) fn not_held(v: Value, to: StorageFormat) -> Option<f64> {
    if is_zero(v) || v.is_undef() {
        return None;
    }
    match parts(v.ty()) {
        None => {
            let x = v.const_real()?;
            (to.encode_with_loss(x).1 != StorageLoss::None).then_some(x)
        }
        Some(n) => (0..n as u32).find_map(|i| not_held(v.lane_constant(i)?, to)),
    }
}

/// A plain constant as one of a type of the same shape, each number rounded once.
pub(super) fn narrowed(v: Value, t: Type, to: StorageFormat) -> Value {
    if is_zero(v) {
        return t.zero();
    }
    if v.is_undef() {
        return t.undef();
    }
    let n = parts(t).unwrap_or(0) as u32;
    let all = |of: &dyn Fn(u32) -> Type| -> Vec<Value> {
        (0..n)
            .filter_map(|i| Some(narrowed(v.lane_constant(i)?, of(i), to)))
            .collect()
    };
    match t.kind() {
        TypeKind::LLVMArrayTypeKind => t.element().array_of(&all(&|_| t.element())),
        TypeKind::LLVMVectorTypeKind => Type::vector_of(&all(&|_| t.element())),
        TypeKind::LLVMStructTypeKind => {
            let fields = t.fields();
            t.struct_of(&all(&|i| fields[i as usize]))
        }
        _ => {
            let x = v.const_real().unwrap_or(0.0);
            match to {
                StorageFormat::Float(_) => t.real(x),
                StorageFormat::Scaled(s) => t.int(s.encode(x)),
            }
        }
    }
}
