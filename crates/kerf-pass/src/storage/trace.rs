//! Everything that is done with an object's address.
use super::content;
use super::find::Object;
use super::refusal::{AccessVerb, StorageRefusal};
use super::steps::{narrow_type, step};
use kerf_ir::sites::float_shape;
use kerf_llvm::{Module, Opcode, RmwOp, Value};
use kerf_num::{Format, StorageFormat};
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
    fn access(&mut self, t: kerf_llvm::Type, verb: AccessVerb) -> Result<(), StorageRefusal> {
        let Some((f, _)) = float_shape(t) else {
            let accessed = t.print();
            return Err(StorageRefusal::AccessedAs { verb, accessed });
        };
        match self.format.replace(f) {
            Some(first) if first != f => Err(StorageRefusal::MixedFormats { first, second: f }),
            _ => Ok(()),
        }
    }
}

/// Bytes that are copied number by number at most, as the GPU's code does it too.
const SPLIT: u64 = 128;

fn is_atomic(i: Value) -> bool {
    i.ordering() != kerf_llvm::Ordering::LLVMAtomicOrderingNotAtomic
}

fn plain(i: Value) -> Result<(), StorageRefusal> {
    match is_atomic(i) {
        true => Err(StorageRefusal::AtomicAccess),
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

fn atomic(i: Value, to: StorageFormat) -> Result<(), StorageRefusal> {
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
        (true, StorageFormat::Float(Format::F32)) => Ok(()),
        (true, _) => Err(StorageRefusal::AtomicFormat(to)),
        _ => Err(StorageRefusal::AtomicOperation),
    }
}

fn call(u: Value, v: Value, declared: bool, t: &mut Trace) -> Result<(), StorageRefusal> {
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
        return Err(StorageRefusal::FilledBytes);
    }
    if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") {
        if u.operand(2).const_int().is_none() || u.operand(3).const_int() != Some(0) {
            return Err(StorageRefusal::CopiedBytes);
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
    let function = kerf_llvm::demangle(&name);
    Err(StorageRefusal::AddressGiven { function })
}

/// Takes in what an instruction does with a pointer `v` to the object; `seen` are all of them so far.
fn follow(
    t: &mut Trace,
    seen: &mut Vec<Value>,
    (u, v): (Value, Value),
    declared: bool,
    to: StorageFormat,
) -> Result<(), StorageRefusal> {
    use Opcode::*;
    match u.opcode() {
        Some(LLVMLoad) if word(u).is_some() => t.words.push(u),
        Some(LLVMStore) if u.operand(0) != v && word(u.operand(0)).is_some() => {
            t.words.push(u.operand(0));
        }
        Some(LLVMLoad) => {
            plain(u)?;
            t.access(u.ty(), AccessVerb::Read)?;
            t.loads.push(u);
        }
        Some(LLVMStore) if u.operand(0) != v => {
            plain(u)?;
            t.access(u.operand(0).ty(), AccessVerb::Written)?;
            t.stores.push(u);
        }
        Some(LLVMStore) => return Err(StorageRefusal::AddressStored),
        Some(LLVMAtomicRMW) if u.operand(1) != v => {
            t.access(u.ty(), AccessVerb::Updated)?;
            atomic(u, to)?;
            t.atomics.push(u);
        }
        Some(LLVMAtomicCmpXchg) => return Err(StorageRefusal::CompareExchange),
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
        Some(LLVMPtrToInt) => return Err(StorageRefusal::AddressComputed),
        Some(other) => {
            let instruction = format!("{other:?}")["LLVM".len()..].to_owned();
            return Err(StorageRefusal::AddressUsed { instruction });
        }
        None if u.is_constant() && !u.is_global_var() && u.users().is_empty() => {} // of no use
        None => return Err(StorageRefusal::AddressInConstant),
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
fn uses(object: Object, declared: bool, to: StorageFormat) -> Result<Trace, StorageRefusal> {
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
fn narrows(
    m: &Module,
    object: Object,
    t: &Trace,
    from: Format,
    to: StorageFormat,
) -> Result<(), StorageRefusal> {
    let parts = |w: &Value| !w.ty().int_bits().is_multiple_of(8 * from.bytes() as u32);
    if let Some(w) = t.words.iter().find(|w| parts(w)) {
        let word = w.ty().print();
        return Err(StorageRefusal::CopiedAs { word });
    }
    let whole = |u: &Value| {
        let n = u.operand(2).const_int().unwrap_or(0);
        n.is_multiple_of(from.bytes() as u64)
    };
    if !t.fills.iter().chain(&t.copies).chain(&t.splits).all(whole) {
        return Err(StorageRefusal::PartOfElement);
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
                return Err(StorageRefusal::MixedContent);
            }
            if let Some(x) = g.initializer().and_then(|c| content::not_held(c, to)) {
                let value = format!("{x:e}");
                return Err(StorageRefusal::ContentNotHeld { value });
            }
            Some(g.global_type())
        }
    };
    // Dynamic shared memory has no size: as much as the host gives is always enough.
    let whole = whole.filter(|w| m.size_of(*w) > 0 || !t.words.is_empty());
    match whole.filter(|w| narrow_type(m, *w, from, to).is_none()) {
        Some(w) => Err(StorageRefusal::DeclaredAs {
            declared: w.print(),
        }),
        None => Ok(()),
    }
}

/// Follows an object's address; the reason if it cannot be held in another format. `declared` is what the source says
/// that it holds, for what is only copied.
pub(super) fn trace(
    m: &Module,
    object: Object,
    declared: Option<Format>,
    to: StorageFormat,
) -> Result<Trace, StorageRefusal> {
    let mut t = uses(object, declared.is_some(), to)?;
    if t.format.is_none()
        && [&t.copies, &t.words, &t.splits]
            .iter()
            .all(|l| l.is_empty())
    {
        return Ok(t);
    }
    let Some(from) = t.format.or(declared) else {
        return Err(StorageRefusal::Untyped);
    };
    t.format = Some(from);
    let other = to != from.into();
    if to.bytes() >= from.bytes() && other {
        return Err(StorageRefusal::NoWider { own: from });
    }
    if let Some(s) = to.scaled() {
        s.check_for(from)?;
    }
    if other {
        narrows(m, object, &t, from, to)?;
    }
    Ok(t)
}

fn is_null(v: Value) -> bool {
    v.is_constant() && v == v.ty().zero()
}
