//! Calls into the runtime, and the number under which it knows a place in the program.
use kerf_llvm::{Builder, Module, Type, Value};

pub(super) fn runtime(m: &Module, name: &str, ret: Type, args: &[Value], b: &Builder) -> Value {
    let types: Vec<Type> = args.iter().map(|v| v.ty()).collect();
    b.call(m.declare(name, ret.function(&types)), args)
}

pub(super) fn pure_runtime(
    m: &Module,
    name: &str,
    ret: Type,
    args: &[Value],
    b: &Builder,
) -> Value {
    let types: Vec<Type> = args.iter().map(|v| v.ty()).collect();
    let f = m.declare(name, ret.function(&types));
    let c = b.call(f, args);
    f.mark_pure();
    c
}

pub(super) fn site_number(i: Value) -> u64 {
    let line = i
        .location()
        .and_then(|l| l.split('\t').nth(3).and_then(|n| n.parse::<u64>().ok()))
        .unwrap_or(0);
    // The address tells call sites of one line apart; only equality within a run matters.
    (line << 32) | ((i.0 as u64 >> 4) & 0xffff_ffff)
}
