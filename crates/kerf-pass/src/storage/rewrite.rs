//! Loads, stores and steps of an object, over narrower elements.
use super::codes;
use super::content;
use super::find::Object;
use super::losses::LossCounter;
use super::steps::{Step, element_type, narrow_type, step};
use super::trace::Trace;
use kerf_llvm::{Builder, Module, Opcode, Type, Value};
use kerf_num::scaled::ScaledFormat;
use kerf_num::{Format, StorageFormat};

fn like(t: Type, f: Type) -> Type {
    if t.is_vector() {
        f.vector(t.lanes())
    } else {
        f
    }
}

/// A value in the narrow format, from before it was widened if it was.
fn narrowed(b: &Builder, v: Value, to: Format) -> Value {
    let t = like(v.ty(), b.float_ty(to));
    if v.opcode() == Some(Opcode::LLVMFPExt) {
        let x = v.operand(0);
        let f = x.ty().element().format();
        if f == Some(to) {
            return x;
        }
        if to == Format::F32 {
            return b.cast(Opcode::LLVMFPExt, x, t); // from f16 or bf16
        }
    }
    b.cast(Opcode::LLVMFPTrunc, v, t)
}

/// Gives users the wide value, and those that round it to where it came from the narrow one.
fn widened(b: &Builder, i: Value, narrow: Value) {
    let wide = b.cast(Opcode::LLVMFPExt, narrow, i.ty());
    for u in i.users() {
        match u.opcode() {
            Some(Opcode::LLVMFPTrunc) if u.ty() == narrow.ty() => u.become_value(narrow),
            Some(Opcode::LLVMFPExt) => u.set_operand(0, narrow),
            _ => {}
        }
    }
    i.become_value(wide);
    if wide.is_instruction() && wide.users().is_empty() {
        wide.erase();
    }
}

/// Gives users the numbers of codes. A number of a code is exact in every format that holds the scaled one, so that what
/// rounds it to such a format has it as it is.
fn decoded(b: &Builder, i: Value, codes: Value, s: ScaledFormat) {
    let v = each_lane(b, codes, |code| codes::decode(b, code, s));
    for u in i.users() {
        let rounds = u.opcode() == Some(Opcode::LLVMFPTrunc);
        if rounds && u.ty().element().format() == v.ty().element().format() {
            u.become_value(v);
        }
    }
    let own = i.ty().element().format().unwrap_or(Format::F64);
    let wide = crate::convert::words(b, v, own);
    i.become_value(wide);
}

/// The codes of numbers, from before they were widened if they were.
fn encoded(b: &Builder, v: Value, s: ScaledFormat, counter: Option<&LossCounter>) -> Value {
    let x = match v.opcode() {
        Some(Opcode::LLVMFPExt) => v.operand(0),
        _ => v,
    };
    each_lane(b, x, |x| codes::encode(b, x, s, counter))
}

/// Something for a value, or for each lane of a vector.
fn each_lane(b: &Builder, v: Value, of: impl Fn(Value) -> Value) -> Value {
    if !v.ty().is_vector() {
        return of(v);
    }
    let all = (0..v.ty().lanes()).map(|k| (k, of(b.lane(v, k))));
    let set = |whole: Option<Value>, (k, x): (u32, Value)| {
        let whole = whole.unwrap_or_else(|| x.ty().vector(v.ty().lanes()).poison());
        Some(b.set_lane(whole, x, k))
    };
    all.fold(None, set).unwrap_or(v)
}

fn scaled_align(i: Value, from: Format, to: StorageFormat) -> u32 {
    (i.align() * to.bytes() as u32 / from.bytes() as u32).max(1)
}

fn rewrite_step(m: &Module, gep: Value, from: Format, to: StorageFormat) {
    let Ok(s) = step(m, gep, from, to) else {
        return; // checked before
    };
    let b = Builder::before(gep);
    let base = gep.operand(0);
    let indices: Vec<Value> = gep.operands().into_iter().skip(1).collect();
    let new = match s {
        Step::Over(t) => b.gep(t, base, &indices, gep.is_inbounds()),
        Step::Bytes(n) => b.gep(b.int_ty(8), base, &[b.i64(n as u64)], gep.is_inbounds()),
        Step::Shifted { by } => {
            let i = indices[0];
            let n = b.bin(Opcode::LLVMAShr, i, i.ty().int(u64::from(by)));
            b.gep(element_type(m, to), base, &[n], gep.is_inbounds())
        }
    };
    gep.become_value(new);
}

/// A new variable of the narrow type in place of an array.
pub(super) fn object(m: &Module, object: Object, from: Format, to: StorageFormat) {
    match object {
        Object::Parameter(p) => {
            // What was promised of the address held for the wide elements.
            let f = p.argument_function();
            if let Some(k) = f.params().iter().position(|q| *q == p) {
                for a in ["align", "dereferenceable", "dereferenceable_or_null"] {
                    f.remove_param_attr(k as u32, a);
                }
            }
        }
        Object::Local(a) => {
            if let Some(t) = narrow_type(m, a.allocated_type(), from, to) {
                let new = Builder::before(a).alloca(t);
                new.set_align(scaled_align(a, from, to));
                let name = a.name();
                a.become_value(new);
                new.set_name(&name);
            }
        }
        Object::Variable(g) => {
            if let Some(t) = narrow_type(m, g.global_type(), from, to) {
                let new = m.add_global(t, "", g.ty().space());
                if let Some(first) = g.initializer() {
                    new.set_initializer(content::narrowed(first, t, to));
                }
                // The host fills it as before, and vector accesses may count on its alignment.
                new.copy_global(g);
                let name = g.name();
                g.replace_with(new);
                g.delete_global();
                new.set_name(&name);
            }
        }
        Object::Shared(g) => {
            if let Some(t) = narrow_type(m, g.global_type(), from, to) {
                let new = m.add_global(t, "", g.ty().space());
                if g.initializer().is_some() {
                    new.set_initializer(t.undef());
                }
                new.set_linkage(g.linkage());
                // Vector accesses may count on more than the element's own alignment.
                new.set_align(g.align().max(1));
                let name = g.name();
                g.replace_with(new);
                g.delete_global();
                new.set_name(&name);
            }
        }
    }
}

/// Numbers in place of an integer that is loaded and stored.
pub(super) fn retype(load: Value, from: Format) {
    let b = Builder::before(load);
    let number = b.float_ty(from);
    let t = match load.ty().int_bits() / (8 * from.bytes() as u32) {
        1 => number,
        n => number.vector(n),
    };
    let new = b.load(t, load.operand(0));
    new.set_align(load.align());
    if load.is_marked("invariant.load") {
        new.mark("invariant.load");
    }
    for s in load.users() {
        let store = Builder::before(s).store(new, s.operand(1));
        store.set_align(s.align());
        s.erase();
    }
    load.erase();
}

/// Number by number, all read before any is written, in place of a copy of a struct.
pub(super) fn split(copy: Value, from: Format) {
    let b = Builder::before(copy);
    let number = b.float_ty(from);
    let (to, source) = (copy.operand(0), copy.operand(1));
    let n = copy.operand(2).const_int().unwrap_or(0) / from.bytes() as u64;
    let at = |p: Value, k: u64| b.gep(number, p, &[b.i64(k)], true);
    let read: Vec<Value> = (0..n).map(|k| b.load(number, at(source, k))).collect();
    for (k, v) in (0..).zip(read) {
        b.store(v, at(to, k));
    }
    copy.erase();
}

/// A load of narrower elements.
fn load(m: &Module, i: Value, (from, to): (Format, StorageFormat)) {
    let b = Builder::before(i);
    let narrow = b.load(like(i.ty(), element_type(m, to)), i.operand(0));
    narrow.set_align(scaled_align(i, from, to));
    narrow.set_volatile(i.is_volatile());
    if i.is_marked("invariant.load") {
        narrow.mark("invariant.load");
    }
    match to {
        StorageFormat::Float(_) => widened(&b, i, narrow),
        StorageFormat::Scaled(s) => decoded(&b, i, narrow, s),
    }
}

/// A store of narrower elements.
fn store(i: Value, (from, to): (Format, StorageFormat), counter: Option<&LossCounter>) {
    let b = Builder::before(i);
    let wide = i.operand(0);
    let narrow = match to {
        StorageFormat::Float(f) => narrowed(&b, wide, f),
        StorageFormat::Scaled(s) => encoded(&b, wide, s, counter),
    };
    let new = b.store(narrow, i.operand(1));
    new.set_align(scaled_align(i, from, to));
    new.set_volatile(i.is_volatile());
    i.erase();
    if wide.opcode() == Some(Opcode::LLVMFPExt) && wide.users().is_empty() {
        wide.erase();
    }
}

/// Everything that is done with an object, over narrower elements.
pub(super) fn accesses(
    m: &Module,
    t: &Trace,
    formats: (Format, StorageFormat),
    counter: Option<&LossCounter>,
) {
    let (from, to) = formats;
    for i in &t.loads {
        load(m, *i, formats);
    }
    for i in &t.stores {
        store(*i, formats, counter);
    }
    if let StorageFormat::Float(f) = to {
        for i in &t.atomics {
            let b = Builder::before(*i);
            let v = narrowed(&b, i.operand(1), f);
            let old = b.atomic_rmw(i.rmw_op(), i.operand(0), v);
            widened(&b, *i, old);
        }
    }
    let narrower =
        |i: &Value| i.operand(2).const_int().unwrap_or(0) * to.bytes() as u64 / from.bytes() as u64;
    for i in &t.fills {
        let b = Builder::before(*i);
        let args = [
            i.operand(0),
            i.operand(1),
            i.operand(2).ty().int(narrower(i)),
            i.operand(3),
        ];
        b.intrinsic("llvm.memset", &[args[0].ty(), args[2].ty()], &args);
        i.erase();
    }
    for i in &t.copies {
        let b = Builder::before(*i);
        let args = [
            i.operand(0),
            i.operand(1),
            i.operand(2).ty().int(narrower(i)),
            i.operand(3),
        ];
        let name = match i
            .callee_name()
            .is_some_and(|n| n.starts_with("llvm.memmove"))
        {
            true => "llvm.memmove",
            false => "llvm.memcpy",
        };
        b.intrinsic(name, &[args[0].ty(), args[1].ty(), args[2].ty()], &args);
        i.erase();
    }
    for s in &t.steps {
        rewrite_step(m, *s, from, to);
    }
}
