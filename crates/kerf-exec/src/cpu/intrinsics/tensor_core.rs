//! Products of matrices: a lane leaves its registers in a frame on its stack, and takes the result from there.
use super::calls::{runtime, site_number};
use crate::cpu::lead::Lead;
use crate::cpu::tensor_core::FRAME_BYTES;
use kerf_ir::tensor_core::Multiply;
use kerf_llvm::{Builder, Module, Type, TypeKind, Value};

/// Name of the frame, of which a function has one.
const FRAME: &str = "kerf.fragments";

/// The frame of the function that an instruction is in.
fn frame(i: Value) -> Option<Value> {
    let entry = *i.block().function().blocks().first()?;
    let first = entry.first_non_phi()?;
    if first.name() == FRAME {
        return Some(first);
    }
    let b = Builder::before(first);
    let frame = b.alloca(b.int_ty(8).array(FRAME_BYTES));
    frame.set_align(16);
    frame.set_name(FRAME);
    Some(frame)
}

fn bytes(t: Type) -> u64 {
    match t.format() {
        Some(f) if !t.is_vector() => f.bytes() as u64,
        _ => 4,
    }
}

/// `mma.sync` and `wmma.mma`.
pub(super) fn lower(m: &Module, b: &Builder, lead: &Lead, i: Value) -> Option<Value> {
    let form = Multiply::parse(&i.callee_name()?)?;
    let frame = frame(i)?;
    let mut at = 0;
    let mut next = |t: Type| {
        let p = b.offset(frame, b.i64(at));
        at += bytes(t);
        p
    };
    for v in i.args() {
        let p = next(v.ty());
        b.store(v, p).set_align(4);
    }
    let mut args = lead.all();
    args.extend([b.i64(form.encode()), frame, b.i64(site_number(i))]);
    runtime(m, "kerf_multiply_matrices", m.void_ty(), &args, b);
    let t = i.ty();
    let mut take = |t: Type| {
        let p = next(t);
        let v = b.load(t, p);
        v.set_align(4);
        v
    };
    if t.kind() != TypeKind::LLVMStructTypeKind {
        return Some(take(t));
    }
    let fields = t.fields().into_iter().zip(0..);
    Some(fields.fold(t.poison(), |s, (f, k)| b.insert(s, take(f), k)))
}
