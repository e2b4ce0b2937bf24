//! Everything that is done with an object's address.
use super::content;
use super::find::Object;
use super::steps::{narrow_type, step};
use kerf_ir::sites::float_shape;
use kerf_llvm::{Module, Opcode, RmwOp, Value};
use kerf_num::Format;
use std::collections::BTreeSet;

/// What is done with an object.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Format of its numbers; none if nothing reads or writes it.
    pub format: Option<Format>,
    /// Address computations.
    pub steps: Vec<Value>,
    pub loads: Vec<Value>,
    pub stores: Vec<Value>,
    pub atomics: Vec<Value>,
    /// Fillings with zeros.
    pub fills: Vec<Value>,
    /// Copies of many whole elements, which stay copies: both ends are held in the same format.
    pub copies: Vec<Value>,
    /// Copies of a few elements (a struct), which are made number by number where an end is narrower.
    pub splits: Vec<Value>,
    /// Loads of integers that are stored again and nothing else: copies of small structs.
    pub words: Vec<Value>,
    /// All pointers to it.
    pub pointers: Vec<Value>,
    /// Pointers to something else that come together with one to it, in a choice or a copy.
    pub others: Vec<Value>,
}

impl Trace {
    /// Copies that are made as numbers where this is held in a narrower format.
    pub fn loose(&self) -> impl Iterator<Item = Value> {
        self.words.iter().chain(&self.splits).copied()
    }
    /// Leaves only what was not done before.
    pub fn keep(&mut self, done: &mut BTreeSet<Value>) {
        let lists = [
            &mut self.steps,
            &mut self.loads,
            &mut self.stores,
            &mut self.atomics,
            &mut self.fills,
            &mut self.copies,
        ];
        for l in lists {
            l.retain(|v| done.insert(*v));
        }
    }
    /// A number, or a vector of them, is read or written.
    fn access(&mut self, t: kerf_llvm::Type, verb: &str) -> Result<(), String> {
        let Some((f, _)) = float_shape(t) else {
            return Err(format!("it is {verb} as {}", t.print()));
        };
        match self.format.replace(f) {
            Some(other) if other != f => Err(format!("it holds both {other} and {f}")),
            _ => Ok(()),
        }
    }
}

/// Bytes that are copied number by number at most, as the GPU's code does it too.
const SPLIT: u64 = 128;

fn is_atomic(i: Value) -> bool {
    i.ordering() != kerf_llvm::Ordering::LLVMAtomicOrderingNotAtomic
}

fn plain(i: Value) -> Result<(), String> {
    match is_atomic(i) {
        true => Err("it is read or written atomically".into()),
        false => Ok(()),
    }
}

/// The load of an integer that is stored as it is, and for nothing else, of which this is part.
fn word(v: Value) -> Option<Value> {
    let simple = |i: Value| !i.is_volatile() && !is_atomic(i);
    let stored = |u: Value| {
        u.opcode() == Some(Opcode::LLVMStore) && u.operand(0) == v && u.operand(1) != v && simple(u)
    };
    let copy = v.opcode() == Some(Opcode::LLVMLoad)
        && v.ty().is_int()
        && simple(v)
        && v.users().into_iter().all(stored);
    copy.then_some(v)
}

fn atomic(i: Value, to: Format) -> Result<(), String> {
    use RmwOp::*;
    let known = matches!(
        i.rmw_op(),
        LLVMAtomicRMWBinOpFAdd
            | LLVMAtomicRMWBinOpFSub
            | LLVMAtomicRMWBinOpFMax
            | LLVMAtomicRMWBinOpFMin
            | LLVMAtomicRMWBinOpXchg
    );
    match (known, to) {
        (true, Format::F32) => Ok(()),
        (true, _) => Err(format!(
            "an atomic operation on it is not available in {to}"
        )),
        _ => Err("an atomic operation on it has no narrower form".into()),
    }
}

fn call(u: Value, v: Value, declared: bool, t: &mut Trace) -> Result<(), String> {
    let name = u.callee_name().unwrap_or_else(|| "a function".into());
    if name.starts_with("llvm.lifetime.") {
        return Ok(());
    }
    if name.starts_with("llvm.memset.") {
        let zero = u.operand(1).const_int() == Some(0);
        let known = u.operand(2).const_int().is_some();
        if zero && known && u.operand(3).const_int() == Some(0) {
            t.fills.push(u);
            return Ok(());
        }
        return Err("it is filled byte by byte".into());
    }
    if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") {
        if u.operand(2).const_int().is_none() || u.operand(3).const_int() != Some(0) {
            return Err("it is copied byte by byte".into());
        }
        if declared && u.operand(2).const_int().is_some_and(|n| n <= SPLIT) {
            t.splits.push(u);
            return Ok(());
        }
        t.copies.push(u);
        let ends = [u.operand(0), u.operand(1)];
        t.others.extend(ends.into_iter().filter(|e| *e != v));
        return Ok(());
    }
    Err(format!(
        "its address is given to {}",
        kerf_llvm::demangle(&name)
    ))
}

/// Takes in what an instruction does with a pointer `v` to the object; `seen` are all of them so far.
fn follow(
    t: &mut Trace,
    seen: &mut Vec<Value>,
    (u, v): (Value, Value),
    declared: bool,
    to: Format,
) -> Result<(), String> {
    use Opcode::*;
    match u.opcode() {
        Some(LLVMLoad) if word(u).is_some() => t.words.push(u),
        Some(LLVMStore) if u.operand(0) != v && word(u.operand(0)).is_some() => {
            t.words.push(u.operand(0));
        }
        Some(LLVMLoad) => {
            plain(u)?;
            t.access(u.ty(), "read")?;
            t.loads.push(u);
        }
        Some(LLVMStore) if u.operand(0) != v => {
            plain(u)?;
            t.access(u.operand(0).ty(), "written")?;
            t.stores.push(u);
        }
        Some(LLVMStore) => return Err("its address is stored".into()),
        Some(LLVMAtomicRMW) if u.operand(1) != v => {
            t.access(u.ty(), "updated")?;
            atomic(u, to)?;
            t.atomics.push(u);
        }
        Some(LLVMAtomicCmpXchg) => return Err("it is compared and exchanged".into()),
        Some(LLVMGetElementPtr) => {
            if !seen.contains(&u) {
                t.steps.push(u);
                seen.push(u);
            }
        }
        Some(LLVMAddrSpaceCast | LLVMBitCast | LLVMFreeze | LLVMPHI | LLVMSelect) => {
            if !seen.contains(&u) {
                seen.push(u);
            }
        }
        Some(LLVMICmp) => {}
        Some(LLVMCall) => call(u, v, declared, t)?,
        Some(LLVMPtrToInt) => return Err("its address is computed with".into()),
        Some(other) => {
            let other = format!("{other:?}");
            return Err(format!("its address is used by {}", &other[4..]));
        }
        None if u.is_constant() && !u.is_global_var() && u.users().is_empty() => {} // of no use
        None => return Err("its address is part of a constant".into()),
    }
    Ok(())
}

/// Pointers to something else that choices among the pointers `seen` come from.
fn foreign_sources(seen: &[Value]) -> Vec<Value> {
    let mut others = Vec::new();
    for v in seen {
        let sources = match v.opcode() {
            Some(Opcode::LLVMPHI) => v.incoming().into_iter().map(|p| p.0).collect(),
            Some(Opcode::LLVMSelect) => vec![v.operand(1), v.operand(2)],
            _ => Vec::new(),
        };
        let foreign = |s: &Value| !seen.contains(s) && !s.is_undef() && !is_null(*s);
        others.extend(sources.into_iter().filter(foreign));
    }
    others
}

/// Everything that is done with an object's address.
fn uses(object: Object, declared: bool, to: Format) -> Result<Trace, String> {
    let mut t = Trace::default();
    let mut seen = vec![object.address()];
    let mut next = 0;
    while let Some(v) = seen.get(next).copied() {
        next += 1;
        let mut users = v.users();
        users.dedup();
        for u in users {
            follow(&mut t, &mut seen, (u, v), declared, to)?;
        }
    }
    t.others.extend(foreign_sources(&seen));
    t.others.retain(|o| !seen.contains(o));
    t.pointers = seen;
    Ok(t)
}

/// Whether what is done with an object can be done in a narrower format; the reason if not.
fn narrows(m: &Module, object: Object, t: &Trace, from: Format, to: Format) -> Result<(), String> {
    let parts = |w: &Value| !w.ty().int_bits().is_multiple_of(8 * from.bytes() as u32);
    if let Some(w) = t.words.iter().find(|w| parts(w)) {
        return Err(format!("it is copied as {}", w.ty().print()));
    }
    let whole = |u: &Value| {
        let n = u.operand(2).const_int().unwrap_or(0);
        n.is_multiple_of(from.bytes() as u64)
    };
    if !t.fills.iter().chain(&t.copies).chain(&t.splits).all(whole) {
        return Err("a part of an element is copied or filled".into());
    }
    for s in &t.steps {
        step(m, *s, from, to)?;
    }
    let whole = match object {
        Object::Parameter(_) => None,
        // The launch says how large it is, so its type says nothing.
        Object::Shared(g) if m.size_of(g.global_type()) == 0 => None,
        Object::Shared(g) => Some(g.global_type()),
        Object::Local(a) => Some(a.allocated_type()),
        Object::Variable(g) => {
            if g.initializer().is_some_and(|c| !content::is_plain(c)) {
                return Err("its first content is more than numbers".into());
            }
            Some(g.global_type())
        }
    };
    // Dynamic shared memory has no size: as much as the host gives is always enough.
    let whole = whole.filter(|w| m.size_of(*w) > 0 || !t.words.is_empty());
    match whole.filter(|w| narrow_type(m, *w, from, to).is_none()) {
        Some(w) => Err(format!("it is declared as {}", w.print())),
        None => Ok(()),
    }
}

/// Follows an object's address; the reason if it cannot be held in another format. `declared` is what the source says
/// that it holds, for what is only copied.
pub(super) fn trace(
    m: &Module,
    object: Object,
    declared: Option<Format>,
    to: Format,
) -> Result<Trace, String> {
    let mut t = uses(object, declared.is_some(), to)?;
    if t.format.is_none()
        && [&t.copies, &t.words, &t.splits]
            .iter()
            .all(|l| l.is_empty())
    {
        return Ok(t);
    }
    let Some(from) = t.format.or(declared) else {
        return Err("it is only copied, and nothing says what it holds".into());
    };
    t.format = Some(from);
    if to.bytes() >= from.bytes() && to != from {
        return Err(format!("it holds {from}, which is no wider"));
    }
    if to != from {
        narrows(m, object, &t, from, to)?;
    }
    Ok(t)
}

fn is_null(v: Value) -> bool {
    v.is_constant() && v == v.ty().zero()
}
