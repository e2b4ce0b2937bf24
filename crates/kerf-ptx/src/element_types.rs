//! Types of memory, told from the instructions that touch it: fields of structs by value, elements of arrays that the text
//! declares as bytes.
use kerf_llvm::{Module, Opcode, Type, Value, space};
use std::collections::BTreeMap;

/// Pointers to one object that are looked at.
const MOST_POINTERS: usize = 10_000;

/// An access: at which byte, where that is a constant, and of which type.
struct TypedAccess {
    by: Value,
    offset: Option<u64>,
    ty: Type,
}

/// All accesses of an object; none if its address goes elsewhere.
fn accesses(m: &Module, object: Value) -> Option<Vec<TypedAccess>> {
    use Opcode::*;
    let mut out = Vec::new();
    let mut pointers: Vec<(Value, Option<u64>)> = vec![(object, Some(0))];
    let mut next = 0;
    while let Some((v, offset)) = pointers.get(next).copied() {
        next += 1;
        if pointers.len() > MOST_POINTERS {
            return None;
        }
        for u in v.users() {
            // A constant that nothing uses any more is still listed.
            if u.is_constant() && !u.is_global_var() && u.users().is_empty() {
                continue;
            }
            let moved = match super::origins::operation(u) {
                Some(LLVMLoad) => {
                    let ty = u.ty();
                    out.push(TypedAccess { by: u, offset, ty });
                    continue;
                }
                Some(LLVMStore) if u.operand(0) != v => {
                    let ty = u.operand(0).ty();
                    out.push(TypedAccess { by: u, offset, ty });
                    continue;
                }
                Some(LLVMAtomicRMW) if u.operand(1) != v => {
                    let ty = u.ty();
                    out.push(TypedAccess { by: u, offset, ty });
                    continue;
                }
                Some(LLVMGetElementPtr) => constant_step(m, u).zip(offset).map(|(a, b)| a + b),
                Some(LLVMAddrSpaceCast | LLVMBitCast) => offset,
                Some(LLVMPHI | LLVMSelect) => None,
                Some(LLVMICmp) => continue,
                _ => return None,
            };
            if !pointers.iter().any(|(p, _)| *p == u) {
                pointers.push((u, moved));
            }
        }
    }
    Some(out)
}

fn constant_step(m: &Module, gep: Value) -> Option<u64> {
    let operands = gep.operands();
    match operands.as_slice() {
        [_, index] => Some(index.const_int()?.checked_mul(m.size_of(gep.gep_type()))?),
        _ => None,
    }
}

/// Fields for a part of a struct that the kernel does not read: as the field before it or behind it, where these fit,
/// since members of one type stand together; else words, else bytes.
fn unread(m: &Module, at: u64, bytes: u64, neighbours: &[Option<Type>], out: &mut Vec<Type>) {
    let number = |t: &Type| t.is_int() || t.is_float();
    let near = neighbours.iter().flatten().copied().filter(number);
    for t in near.chain([m.int_ty(32), m.int_ty(8)]) {
        let size = m.size_of(t);
        if size > 0 && at.is_multiple_of(size) && bytes.is_multiple_of(size) {
            out.extend(std::iter::repeat_n(t, (bytes / size) as usize));
            return;
        }
    }
}

/// Gives struct parameter `i` of a kernel the fields that the kernel reads.
pub(super) fn settle_struct(m: &Module, kernel: Value, i: u32, align: u32) {
    let Some(bytes) = kernel.byval(i).map(|t| m.size_of(t)) else {
        return;
    };
    let p = kernel.params()[i as usize];
    let mut fields: BTreeMap<u64, Type> = BTreeMap::new();
    for a in accesses(m, p).unwrap_or_default() {
        let Some(at) = a.offset else { return };
        let (lanes, one) = (u64::from(a.ty.lanes()), a.ty.element());
        for k in 0..lanes {
            let at = at + k * m.size_of(one);
            match fields.insert(at, one) {
                Some(old) if old != one => return,
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    let mut end = 0;
    for (at, ty) in fields {
        if at < end {
            return;
        }
        if at > end {
            let near = [all.last().copied(), Some(ty)];
            unread(m, end, at - end, &near, &mut all);
        }
        all.push(ty);
        end = at + m.size_of(ty);
    }
    if end > bytes {
        return;
    }
    if end < bytes {
        let near = [all.last().copied()];
        unread(m, end, bytes - end, &near, &mut all);
    }
    let t = m.struct_ty(&all);
    if m.size_of(t) == bytes {
        kernel.set_byval(i, t, align);
    }
}

/// Makes accesses of a kernel's buffers ones of numbers that only move bits, as copies and stores of constants do: where the
/// kernel's symbol says what its parameter points to, or all other accesses are of one format.
pub(super) fn settle_buffers(m: &Module, kernel: Value) {
    let params = kernel.params();
    let declared = super::declared_types::pointee_formats(&kernel.name(), params.len());
    for (p, declared) in params.into_iter().zip(declared) {
        if !p.ty().is_ptr() || p.is_byval_argument() {
            continue;
        }
        let Some(all) = accesses(m, p) else {
            continue;
        };
        let constant = |a: &TypedAccess| {
            let store = a.by.opcode() == Some(Opcode::LLVMStore);
            store && a.ty.is_int() && a.by.operand(0).is_constant()
        };
        let mut others = all.iter().filter(|a| !constant(a)).map(|a| a.ty.element());
        let first = others.next().filter(|t| t.is_float());
        let common = first.filter(|t| others.all(|o| o == *t));
        let Some(t) = declared.map(|f| m.float_ty(f)).or(common) else {
            continue;
        };
        for a in &all {
            if a.ty.element().is_int() && m.size_of(a.ty.element()) == m.size_of(t) {
                move_number(a.by, t);
            }
        }
    }
}

/// Is it a load or store that may be made one of another type?
fn is_plain(access: Value) -> bool {
    matches!(access.opcode(), Some(Opcode::LLVMLoad | Opcode::LLVMStore))
        && !access.is_volatile()
        && access.ordering() == kerf_llvm::Ordering::LLVMAtomicOrderingNotAtomic
}

/// The same load, of another type of the same size.
fn load_as(load: Value, ty: Type) -> Value {
    let b = kerf_llvm::Builder::before(load);
    let v = b.load(ty, load.operand(0));
    v.set_align(load.align());
    if load.is_marked("invariant.load") {
        v.mark("invariant.load");
    }
    v
}

/// Makes a load or store of integers one of numbers of the same width. Where a number goes from one object straight to
/// another, the load is one of numbers too.
fn move_number(access: Value, number: Type) {
    let like = |t: Type| match t.is_vector() {
        true => number.vector(t.lanes()),
        false => number,
    };
    if !is_plain(access) {
        return;
    }
    let b = kerf_llvm::Builder::before(access);
    if access.opcode() == Some(Opcode::LLVMLoad) {
        let v = load_as(access, like(access.ty()));
        access.become_value(b.bitcast(v, access.ty()));
        return;
    }
    let bits = access.operand(0);
    let copied = bits.opcode() == Some(Opcode::LLVMLoad) && bits.users().len() == 1;
    let v = match copied && is_plain(bits) {
        true => load_as(bits, like(bits.ty())),
        false => b.bitcast(bits, like(bits.ty())),
    };
    b.store(v, access.operand(1)).set_align(access.align());
    access.erase();
}

/// Gives arrays of bytes the type of the elements that they are read and written as.
pub(super) fn settle_objects(m: &Module) {
    for g in m.globals() {
        let t = g.global_type();
        let bytes = t.kind() == kerf_llvm::TypeKind::LLVMArrayTypeKind
            && t.element() == m.int_ty(8)
            && t.array_len() > 0;
        let known = matches!(
            g.ty().space(),
            space::SHARED | space::CONSTANT | space::GLOBAL
        );
        if let (true, true, Some(element)) = (bytes, known, element(m, g)) {
            retype(m, g, element);
        }
    }
}

/// The one type that all accesses of an array have, which may be by vectors of it.
fn element(m: &Module, g: Value) -> Option<Type> {
    let all = accesses(m, g)?;
    let first = all.first()?.ty.element();
    let one = all.iter().all(|a| a.ty.element() == first);
    let size = m.size_of(first);
    let fits = size > 1
        && g.global_type().array_len().is_multiple_of(size)
        && u64::from(g.align()) >= size
        && (first.is_int() || first.is_float());
    (one && fits).then_some(first)
}

fn retype(m: &Module, g: Value, element: Type) {
    let size = m.size_of(element);
    let n = g.global_type().array_len() / size;
    let t = element.array(n);
    let content = match g.initializer() {
        None => None,
        Some(c) if c.is_undef() => Some(t.undef()),
        Some(c) if c == c.ty().zero() => Some(t.zero()),
        Some(c) => match numbers(m, c, element, n) {
            Some(c) => Some(c),
            None => return,
        },
    };
    let new = m.add_global(t, "", g.ty().space());
    new.copy_global(g);
    if let Some(c) = content {
        new.set_initializer(c);
    }
    let name = g.name();
    g.replace_with(new);
    g.delete_global();
    new.set_name(&name);
}

/// Bytes as numbers, low byte first.
fn numbers(m: &Module, bytes: Value, element: Type, n: u64) -> Option<Value> {
    let size = m.size_of(element);
    let b = kerf_llvm::Builder::of_constants(m);
    let mut all = Vec::new();
    for k in 0..n {
        let mut bits = 0u64;
        for j in 0..size {
            let at = u32::try_from(k * size + j).ok()?;
            bits |= bytes.lane_constant(at)?.const_int()? << (8 * j);
        }
        let whole = m.int_ty(size as u32 * 8).int(bits);
        all.push(b.bitcast(whole, element));
    }
    Some(element.array_of(&all))
}
