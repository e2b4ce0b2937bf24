//! A double that goes to another lane of the warp as two halves, recognised as one move.
use kerf_llvm::{Builder, Opcode, Value};

/// A double moved by two shuffles of 32 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shuffle {
    /// What is moved.
    pub value: Value,
    /// Shuffle of its lower half.
    pub low: Value,
    /// Shuffle of its upper half.
    pub high: Value,
}

fn call_of(v: Value, names: &[&str]) -> bool {
    v.callee_name().is_some_and(|n| names.contains(&n.as_str()))
}

fn is(v: Value, op: Opcode) -> bool {
    v.opcode() == Some(op)
}

/// The double whose bits an i64 is.
fn double_of(bits: Value) -> Option<Value> {
    let x = is(bits, Opcode::LLVMBitCast).then(|| bits.operand(0))?;
    (x.ty().format() == Some(kerf_num::Format::F64)).then_some(x)
}

/// The double whose lower half this is.
fn low_half_of(v: Value) -> Option<Value> {
    match v.opcode()? {
        Opcode::LLVMTrunc => double_of(v.operand(0)),
        _ => call_of(v, &["llvm.nvvm.d2i.lo", "__nv_double2loint"]).then(|| v.args()[0]),
    }
}

/// The double whose upper half this is.
fn high_half_of(v: Value) -> Option<Value> {
    match v.opcode()? {
        Opcode::LLVMTrunc => {
            let s = v.operand(0);
            let by = is(s, Opcode::LLVMLShr) && s.operand(1).const_int() == Some(32);
            by.then(|| double_of(s.operand(0))).flatten()
        }
        _ => call_of(v, &["llvm.nvvm.d2i.hi", "__nv_double2hiint"]).then(|| v.args()[0]),
    }
}

/// Lower and upper half that a double is put together from.
fn halves(v: Value) -> Option<(Value, Value)> {
    let low = |v: Value| is(v, Opcode::LLVMZExt).then(|| v.operand(0));
    let high = |v: Value| {
        let by = is(v, Opcode::LLVMShl) && v.operand(1).const_int() == Some(32);
        by.then(|| low(v.operand(0))).flatten()
    };
    if is(v, Opcode::LLVMBitCast) && v.ty().format() == Some(kerf_num::Format::F64) {
        let or = v.operand(0);
        if !is(or, Opcode::LLVMOr) {
            return None;
        }
        let (p, q) = (or.operand(0), or.operand(1));
        return match (high(p), high(q)) {
            (Some(h), None) => Some((low(q)?, h)),
            (None, Some(h)) => Some((low(p)?, h)),
            _ => None,
        };
    }
    if call_of(v, &["llvm.nvvm.lohi.i2d"]) {
        return Some((v.args()[0], v.args()[1]));
    }
    call_of(v, &["__nv_hiloint2double"]).then(|| (v.args()[1], v.args()[0]))
}

/// The move that a double is the result of.
pub(crate) fn find(v: Value) -> Option<Shuffle> {
    let (low, high) = halves(v)?;
    let name = low.callee_name()?;
    let plain = name.starts_with("llvm.nvvm.shfl.sync.") && name.ends_with(".i32");
    if !plain || high.callee_name()? != name || low == high {
        return None;
    }
    let (a, b) = (low.args(), high.args());
    let same = a.len() == 4 && (a[0], a[2], a[3]) == (b[0], b[2], b[3]);
    // All in one block, so that the same threads take part wherever in it the move happens.
    let together = low.block() == v.block() && high.block() == v.block();
    let value = low_half_of(a[1])?;
    let whole = low.ty() == high.ty() && high_half_of(b[1])? == value;
    (same && together && whole).then_some(Shuffle { value, low, high })
}

/// One shuffle of a value of at most 32 bits, to where the two of `s` would bring it.
pub(crate) fn build(b: &Builder, s: &Shuffle, v: Value) -> Value {
    let i32t = b.int_ty(32);
    let bits = 8 * v.ty().format().map_or(4, |f| f.bytes() as u32);
    let word = b.zext_or_trunc(b.bitcast(v, b.int_ty(bits)), i32t);
    let mut args = s.low.args();
    args[1] = word;
    let moved = b.call(s.low.callee(), &args);
    b.bitcast(b.zext_or_trunc(moved, b.int_ty(bits)), v.ty())
}

/// Erases the shuffles of a move, and what only they used, once nothing uses them any more.
pub(crate) fn clean(s: &Shuffle) {
    let mut queue = vec![s.low, s.high];
    while let Some(v) = queue.pop() {
        let shuffle = v == s.low || v == s.high;
        let users = v.users();
        if let [one] = users.as_slice()
            && shuffle
            && matches!(one.opcode(), Some(Opcode::LLVMZExt))
        {
            // The way from the shuffle to the double that is gone.
            if let [shl] = one.users().as_slice()
                && shl.opcode() == Some(Opcode::LLVMShl)
            {
                erase_chain(*shl);
            }
            erase_chain(*one);
        }
        if v.users().is_empty() {
            let operand = v.operand(if shuffle { 1 } else { 0 });
            v.erase();
            if operand.is_instruction()
                && operand.users().is_empty()
                && matches!(
                    operand.opcode(),
                    Some(Opcode::LLVMTrunc | Opcode::LLVMLShr | Opcode::LLVMBitCast)
                )
            {
                queue.push(operand);
            }
        }
    }
}

/// Erases an instruction whose users are unused integer operations.
fn erase_chain(v: Value) {
    for u in v.users() {
        if u.opcode() == Some(Opcode::LLVMOr) && u.users().is_empty() {
            u.erase();
        }
    }
    if v.users().is_empty() {
        v.erase();
    }
}
