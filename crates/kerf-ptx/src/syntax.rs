//! Statements of PTX, parsed.
use super::refusal::{Lifted, refuse};
use super::types::Ty;

/// An operand of an instruction.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    /// Operand of the asm statement.
    Arg(usize),
    /// Register or special register.
    Name(String),
    /// Integer literal, its low 64 bits.
    Int(u64),
    /// Literal by its f16 bits.
    F16(u16),
    /// Literal by its f32 bits.
    F32(u32),
    /// Literal by its f64 bits.
    F64(u64),
    /// `_`, where a result is not wanted.
    Sink,
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `[base + offset]`
    Memory(Box<Operand>, Box<Operand>),
    /// `symbol + bytes`, the address of a variable's part.
    Beyond(Box<Operand>, u64),
    /// `!p`
    Not(Box<Operand>),
    /// `p|q`
    Pair(Box<Operand>, Box<Operand>),
}

/// An instruction. Its modifiers are taken off one by one; what is left over was not understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Instruction {
    /// Guard predicate, and whether it is negated.
    pub guard: Option<(Operand, bool)>,
    /// Opcode as written, for messages.
    pub name: String,
    /// Modifiers not taken yet, in order.
    pub modifiers: Vec<String>,
    /// Operands.
    pub operands: Vec<Operand>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.reg .type names`
    Registers(Ty, Vec<String>),
    /// An instruction.
    Do(Instruction),
}

impl Instruction {
    /// Opcode without modifiers.
    pub fn opcode(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
    /// Takes a modifier; was it there?
    pub fn flag(&mut self, name: &str) -> bool {
        let at = self.modifiers.iter().position(|m| m == name);
        at.map(|i| self.modifiers.remove(i)).is_some()
    }
    /// Takes the first modifier that is one of `names`.
    pub fn pick<'n>(&mut self, names: &[&'n str]) -> Option<&'n str> {
        let (i, name) = self
            .modifiers
            .iter()
            .enumerate()
            .find_map(|(i, m)| names.iter().find(|n| *n == m).map(|n| (i, *n)))?;
        self.modifiers.remove(i);
        Some(name)
    }
    /// Takes all modifiers that begin with `prefix`, as cache hints do.
    pub fn drop_hints(&mut self, prefix: &str) {
        self.modifiers.retain(|m| !m.starts_with(prefix));
    }
    /// Takes the first modifier that is a type.
    pub fn ty(&mut self) -> Lifted<Ty> {
        match self.optional_ty() {
            Some(t) => Ok(t),
            None => self.unsupported(),
        }
    }
    /// Takes the first modifier that is a type, if there is one.
    pub fn optional_ty(&mut self) -> Option<Ty> {
        let (i, t) = self
            .modifiers
            .iter()
            .enumerate()
            .find_map(|(i, m)| Some((i, Ty::parse(m)?)))?;
        self.modifiers.remove(i);
        Some(t)
    }
    /// Operand `i`.
    pub fn operand(&self, i: usize) -> Lifted<Operand> {
        match self.operands.get(i) {
            Some(o) => Ok(o.clone()),
            None => refuse(format!("{} has too few operands", self.name)),
        }
    }
    /// Checks the number of operands.
    pub fn arity(&self, n: usize) -> Lifted<()> {
        if self.operands.len() == n {
            return Ok(());
        }
        refuse(format!(
            "{} with {} operands is not known",
            self.name,
            self.operands.len()
        ))
    }
    /// Refuses the instruction as a whole.
    pub fn unsupported<T>(&self) -> Lifted<T> {
        refuse(format!("{} is not supported", self.name))
    }
    /// Checks that every modifier was understood.
    pub fn finish(&self) -> Lifted<()> {
        match self.modifiers.first() {
            None => Ok(()),
            Some(m) => refuse(format!("modifier .{m} of {} is not supported", self.name)),
        }
    }
}
