//! Lifts inline PTX into LLVM IR.
//!
//! CUDA's headers, and some kernels, write instructions as text: `asm("{add.f16 %0,%1,%2;}" ...)`.
//! To a compiler such a call is opaque, so no tuner sees the addition in it and no CPU can run it.
//! Here each call of inline assembly is parsed and replaced by IR that means the same: floating
//! point as `fadd half` and its kin, integers and bits as plain IR, and what only the hardware has
//! (lane exchange, barriers, approximations, directed rounding) as NVVM intrinsics. What cannot be
//! translated stays in place and is reported with the reason.
//!
//! Approximations without an intrinsic of their own become something more exact: `rcp.approx.f32`
//! a division and `tanh.approx` a call of libdevice's `tanhf`.
#![warn(missing_docs)]

use kerf_llvm::{Builder, Module, Opcode, Type, TypeKind, Value, sys};
use lifter::Asm;
use refusal::{Lifted, refuse};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

mod address;
mod async_copy;
mod atomics;
mod bitwise;
mod body_parser;
mod call_graph;
mod calls;
mod carry;
mod collective;
mod compare;
mod constraint;
mod convert;
mod declarations;
mod declared_types;
mod element_types;
mod file_parser;
mod file_syntax;
mod flat;
mod float_arith;
mod float_functions;
mod function;
mod guard;
mod inference;
mod integer;
mod lexer;
mod lifter;
mod matrix;
mod memory;
mod moves;
mod narrow_integers;
mod ordering;
mod origins;
mod parser;
mod permute;
mod pointers;
mod refusal;
mod registers;
mod rounding;
mod signature;
mod small_float;
mod source_lines;
mod syntax;
mod translate;
mod types;
mod variables;
mod video;

pub use translate::{PtxError, translate};

#[cfg(test)]
mod tests;

/// What the inline assembly begins with that stands for a refused statement of a PTX file: a comment, so that code for
/// the other kernels of the file is PTX that an assembler takes.
pub const REFUSED: &str = "// refused: ";

/// A call of inline assembly that was left in place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unlifted {
    /// Function that it is in.
    pub function: String,
    /// The PTX, as LLVM IR spells it.
    pub text: String,
    /// Why it was not translated.
    pub reason: String,
    /// Source position, `file:line:column`, that of the outermost caller where it was inlined.
    pub location: Option<String>,
    /// Is it a statement of a PTX file? Then nothing of its function was translated, and no device can run it.
    #[serde(default)]
    pub whole_function: bool,
}

/// Replaces each call of inline PTX that can be translated; gives the others.
pub fn lift(m: &Module) -> Vec<Unlifted> {
    let before: HashSet<Value> = m.functions().into_iter().collect();
    let mut out = Vec::new();
    m.kernel_functions().into_iter().for_each(lift_exits);
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let asm = f.instructions().into_iter().filter(is_asm_call);
        let refused = |c: &Value| c.callee().asm_text().0.starts_with(REFUSED);
        let calls: Vec<Value> = asm.filter(|c| !refused(c)).collect();
        if calls.is_empty() {
            continue;
        }
        let parsed: Vec<Lifted<Asm>> = calls.iter().map(|c| parse(*c)).collect();
        // A statement that reads the carry of another stays, and so must the one that sets it.
        let carry_crosses = parsed
            .iter()
            .flatten()
            .any(|a| carry::takes_carry(&a.statements));
        for (call, asm) in calls.into_iter().zip(parsed) {
            let done = asm.and_then(|a| {
                if carry_crosses && carry::leaves_carry(&a.statements) {
                    return refuse("the carry flag is left for another asm statement");
                }
                lift_call(m, call, &a)
            });
            if let Err(why) = done {
                out.push(Unlifted {
                    function: f.name(),
                    text: call.callee().asm_text().0,
                    reason: why.0,
                    location: location(call),
                    whole_function: false,
                });
            }
        }
    }
    for f in m.functions() {
        // Declarations that only a refused attempt needed.
        if f.is_declaration() && !before.contains(&f) && f.users().is_empty() {
            f.delete_function();
        }
    }
    out
}

/// A thread that exits in a kernel returns from it. In a function that was not inlined it stays, and is
/// refused.
fn lift_exits(kernel: Value) {
    let mut any = false;
    for call in kernel.instructions().into_iter().filter(is_asm_call) {
        if call
            .callee()
            .asm_text()
            .0
            .trim()
            .trim_end_matches(';')
            .trim()
            != "exit"
        {
            continue;
        }
        let before = call.block();
        call.split_before();
        if let Some(jump) = before.terminator() {
            jump.erase();
            Builder::at_end(before).ret(None);
            any = true;
        }
    }
    if any {
        kernel.remove_unreachable();
    }
}

/// Erases inline assembly without effects whose results nobody uses. LLVM keeps it, because it does
/// not know that it returns; cooperative groups write some in every kernel.
pub fn drop_unused(m: &Module) {
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        for call in f.instructions().into_iter().filter(is_asm_call) {
            // SAFETY: the callee is inline assembly.
            let effects = unsafe { sys::LLVMGetInlineAsmHasSideEffects(call.callee().0) != 0 };
            if !effects && call.users().is_empty() {
                call.erase();
            }
        }
    }
}

fn is_asm_call(i: &Value) -> bool {
    i.opcode() == Some(Opcode::LLVMCall) && i.callee().is_inline_asm()
}

fn location(call: Value) -> Option<String> {
    let all = call.location()?;
    let part: Vec<&str> = all.split('\t').collect();
    Some(format!(
        "{}:{}:{}",
        part.get(5)?,
        part.get(3)?,
        part.get(4)?
    ))
}

fn parse(call: Value) -> Lifted<Asm> {
    let callee = call.callee();
    let (template, constraints) = callee.asm_text();
    // SAFETY: the callee is inline assembly.
    let side_effects = unsafe { sys::LLVMGetInlineAsmHasSideEffects(callee.0) != 0 };
    Ok(Asm {
        statements: parser::parse(&template)?,
        constraints: constraint::parse(&constraints)?,
        side_effects,
    })
}

/// Types of the results of a call: the fields of a struct, or the one.
fn results(call: Value) -> Vec<Type> {
    let t = call.ty();
    match t.kind() {
        TypeKind::LLVMVoidTypeKind => Vec::new(),
        TypeKind::LLVMStructTypeKind => t.fields(),
        _ => vec![t],
    }
}

fn lift_call(m: &Module, call: Value, asm: &Asm) -> Lifted<()> {
    let types = results(call);
    attempt(m, call, asm, &types)?;
    let values = lifter::emit(asm, call, &call.args(), &types)?;
    match values.as_slice() {
        [] => call.erase(),
        [v] if call.ty() == v.ty() => call.become_value(*v),
        all => {
            let b = Builder::before(call);
            let whole = call.ty().poison();
            let v = all
                .iter()
                .zip(0..)
                .fold(whole, |s, (v, k)| b.insert(s, *v, k));
            call.become_value(v);
        }
    }
    Ok(())
}

/// Emits the code in a function of its own first, where a refusal half way leaves no trace.
fn attempt(m: &Module, call: Value, asm: &Asm, types: &[Type]) -> Lifted<()> {
    let arguments = call.args();
    let params: Vec<Type> = arguments.iter().map(|a| a.ty()).collect();
    let f = m.add_function("kerf.inline_ptx.attempt", m.void_ty().function(&params));
    let end = Builder::at_end(m.append_block(f, "")).ret(None);
    let arguments: Vec<Value> = arguments
        .iter()
        .zip(f.params())
        .map(|(a, p)| if a.is_constant() { *a } else { p })
        .collect();
    let done = lifter::emit(asm, end, &arguments, types);
    f.delete_function();
    done.map(|_| ())
}
