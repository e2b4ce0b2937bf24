//! Lifts small modules and folds them to constants, which are compared with what a GPU gives.
use super::*;
use kerf_llvm::{PassOptions, TargetMachine};

mod files;
mod floats;
mod integers;
mod matrices;
mod memory;
mod refusals;

/// LLVM's spelling of a template.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\5C")
        .replace('\n', "\\0A")
        .replace('"', "\\22")
}

/// A module with a function `f` whose body is one call of inline assembly, given as IR types.
fn module(params: &str, ret: &str, text: &str, constraints: &str, args: &str) -> Module {
    let text = escaped(text);
    let call = format!("call {ret} asm sideeffect \"{text}\", \"{constraints}\"({args})");
    let body = match ret {
        "void" => format!("  {call}\n  ret void"),
        _ => format!("  %r = {call}\n  ret {ret} %r"),
    };
    let ir = format!("define {ret} @f({params}) {{\n{body}\n}}\n");
    Module::parse(ir.as_bytes(), "test").unwrap_or_else(|e| panic!("{e}\n{ir}"))
}

/// Lifts all of a module and checks it.
fn lifted(m: Module) -> Module {
    let left = lift(&m);
    assert!(left.is_empty(), "{left:?}");
    m.verify().unwrap_or_else(|e| panic!("{e}\n{}", m.print()));
    m
}

/// The IR that a statement becomes.
fn text_of(params: &str, ret: &str, text: &str, constraints: &str, args: &str) -> String {
    lifted(module(params, ret, text, constraints, args)).print()
}

/// What a statement of constants comes to, as the operand of `ret`.
fn fold(ret: &str, text: &str, constraints: &str, args: &str) -> String {
    let m = lifted(module("", ret, text, constraints, args));
    let machine = TargetMachine::host().unwrap();
    machine
        .run_passes(&m, "sccp,instcombine,simplifycfg", PassOptions::default())
        .unwrap();
    let f = m.function("f").unwrap();
    let last = f.blocks()[0].terminator().unwrap();
    assert!(last.operand(0).is_constant(), "{}", m.print());
    last.operand(0).print()
}

/// The same where the result is one integer.
fn number(ret: &str, text: &str, constraints: &str, args: &str) -> u64 {
    let v = fold(ret, text, constraints, args);
    let n: i64 = v
        .split(' ')
        .next_back()
        .unwrap()
        .parse()
        .unwrap_or_else(|_| panic!("{v}"));
    let bits: u32 = ret[1..].parse().unwrap();
    n as u64 & (u64::MAX >> (64 - bits))
}

/// Why a statement is left alone.
fn reason(params: &str, ret: &str, text: &str, constraints: &str, args: &str) -> String {
    let m = module(params, ret, text, constraints, args);
    let before = m.print();
    let left = lift(&m);
    assert_eq!(
        m.print(),
        before,
        "a refused statement leaves the module as it was"
    );
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].text, text);
    assert_eq!(left[0].function, "f");
    left[0].reason.clone()
}
