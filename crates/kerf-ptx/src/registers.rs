//! The registers of one asm statement: what each holds, read and written as any type of its width.
use super::refusal::{Lifted, refuse};
use super::syntax::Operand;
use super::types::Ty;
use kerf_llvm::{Builder, Opcode, Type, TypeKind, Value};
use kerf_num::Format;
use std::collections::{HashMap, HashSet};

/// A register. PTX types its registers by width alone, so a value keeps the LLVM type that it was
/// made with and is reinterpreted only where an instruction reads it as another.
#[derive(Clone, Copy)]
pub(super) struct Register {
    /// Bits; a predicate has 1.
    pub width: u32,
    /// Type it was declared with, which tells what its bits stand for.
    pub declared: Ty,
    /// What it holds; nothing before the first write.
    pub value: Option<Value>,
    /// The upper half, where the register was made as `{0, half}`: the f32 that a bf16 widens to.
    pub widened: Option<Value>,
    /// Where it lives between the blocks of a function.
    pub slot: Option<Value>,
    /// Floating-point type that the function uses it as.
    pub kind: Option<Ty>,
}

/// What an operand number stands for.
#[derive(Clone, Copy)]
pub(super) enum Binding {
    /// A register, by index.
    Register(usize),
    /// A constant in the text.
    Immediate(u64),
}

/// All registers of a statement.
#[derive(Default)]
pub(super) struct Registers {
    /// The registers; indices never change.
    pub all: Vec<Register>,
    /// What `$n` is.
    pub arguments: Vec<Binding>,
    /// Registers that were given a value, each with what it was before, in order.
    pub changes: Vec<(usize, Register)>,
    scopes: Vec<HashMap<String, usize>>,
}

impl Registers {
    /// Adds a register and gives its index.
    pub fn add(&mut self, declared: Ty, value: Option<Value>) -> usize {
        self.all.push(Register {
            width: declared.width(),
            declared,
            value,
            widened: None,
            slot: None,
            kind: None,
        });
        self.all.len() - 1
    }
    /// Gives a register a value.
    pub fn set(&mut self, i: usize, value: Value) {
        self.changes.push((i, self.all[i]));
        self.all[i].value = Some(value);
        self.all[i].widened = None;
    }
    /// The registers that changed after the first `from` changes, each with what it was before them.
    pub fn changed_since(&self, from: usize) -> Vec<(usize, Register)> {
        let mut seen = HashSet::new();
        let later = self.changes[from..].iter();
        later.filter(|(i, _)| seen.insert(*i)).copied().collect()
    }
    /// `{`
    pub fn open(&mut self) {
        self.scopes.push(HashMap::new());
    }
    /// `}`
    pub fn close(&mut self) {
        self.scopes.pop();
    }
    /// `.reg`
    pub fn declare(&mut self, ty: Ty, names: &[String]) {
        for n in names {
            let i = self.add(ty, None);
            match self.scopes.last_mut() {
                Some(s) => s.insert(n.clone(), i),
                None => {
                    self.scopes.push(HashMap::from([(n.clone(), i)]));
                    None
                }
            };
        }
    }
    /// The register or constant that an operand names; nothing for a special register.
    pub fn find(&self, o: &Operand) -> Lifted<Option<Binding>> {
        match o {
            Operand::Arg(n) => match self.arguments.get(*n) {
                Some(b) => Ok(Some(*b)),
                None => refuse(format!("there is no operand ${n}")),
            },
            Operand::Name(n) => {
                let i = self.scopes.iter().rev().find_map(|s| s.get(n));
                Ok(i.map(|i| Binding::Register(*i)))
            }
            _ => Ok(None),
        }
    }
    /// Index of the register that an instruction writes.
    pub fn target(&self, o: &Operand) -> Lifted<usize> {
        match self.find(o)? {
            Some(Binding::Register(i)) => Ok(i),
            _ => match o {
                Operand::Name(n) => refuse(format!("{n} is not a register of this statement")),
                _ => refuse("a result goes to something that is no register"),
            },
        }
    }
}

/// Bits of a type that fits a register.
pub(super) fn type_bits(t: Type) -> Option<u32> {
    Some(match t.kind() {
        TypeKind::LLVMIntegerTypeKind => t.int_bits(),
        TypeKind::LLVMPointerTypeKind => 64,
        TypeKind::LLVMVectorTypeKind if t.element().is_ptr() => return None,
        TypeKind::LLVMVectorTypeKind => t.lanes() * type_bits(t.element())?,
        _ => super::types::bits(t.format()?),
    })
}

/// The bits of a value as an integer.
pub(super) fn as_int(b: &Builder, v: Value) -> Value {
    let t = v.ty();
    match type_bits(t) {
        _ if t.is_int() => v,
        _ if t.is_ptr() => b.cast(Opcode::LLVMPtrToInt, v, b.int_ty(64)),
        Some(w) => b.bitcast(v, b.int_ty(w)),
        None => v,
    }
}

/// A value reinterpreted as another type of the same width.
pub(super) fn reinterpret(b: &Builder, v: Value, to: Type) -> Value {
    if v.ty() == to {
        v
    } else if to.is_ptr() {
        if v.ty().is_ptr() {
            return b.cast(Opcode::LLVMAddrSpaceCast, v, to);
        }
        b.cast(Opcode::LLVMIntToPtr, as_int(b, v), to)
    } else if v.ty().is_ptr() {
        b.bitcast(as_int(b, v), to)
    } else {
        b.bitcast(v, to)
    }
}

impl Register {
    /// What the register holds, as `to`, a type of its width.
    pub fn read(&self, b: &Builder, to: Type) -> Value {
        match (self.value, self.widened) {
            (_, Some(half)) if to.format() == Some(Format::F32) => {
                let half = reinterpret(b, half, b.float_ty(Format::Bf16));
                b.cast(Opcode::LLVMFPExt, half, to)
            }
            (Some(v), _) => reinterpret(b, v, to),
            // Never written: PTX leaves the content open, zero keeps runs repeatable.
            (None, _) => to.zero(),
        }
    }
}
