//! Everything that is done with the address of a buffer of records.
use super::refusal::RecordRefusal;
use kerf_llvm::{Opcode, Value};

/// What is done with a buffer.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Loads, stores and atomic operations, each with the pointer that it goes through.
    pub accesses: Vec<Access>,
    /// Copies and fillings of few bytes.
    pub pieces: Vec<Value>,
    /// All pointers to it.
    pub pointers: Vec<Value>,
}

/// An access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub instruction: Value,
    /// Number of the operand that is the pointer.
    pub operand: u32,
}

/// Bytes that are copied or filled field by field at most.
const MOST_BYTES: u64 = 256;

fn call(u: Value) -> Result<(), RecordRefusal> {
    let name = u.callee_name().unwrap_or_else(|| "a function".into());
    let fill = name.starts_with("llvm.memset.");
    let copy = name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.");
    if !fill && !copy {
        let function = kerf_llvm::demangle(&name);
        return Err(RecordRefusal::AddressGiven { function });
    }
    if fill && u.operand(1).const_int() != Some(0) {
        return Err(RecordRefusal::FilledBytes);
    }
    let short = u.operand(2).const_int().is_some_and(|n| n <= MOST_BYTES);
    match short && u.operand(3).const_int() == Some(0) {
        true => Ok(()),
        false => Err(RecordRefusal::CopiedWhole),
    }
}

impl Trace {
    /// Takes in what an instruction does with a pointer `v` to the buffer.
    fn follow(&mut self, u: Value, v: Value) -> Result<(), RecordRefusal> {
        use Opcode::*;
        let mut access = |operand| {
            self.accesses.push(Access {
                instruction: u,
                operand,
            });
            Ok(())
        };
        match u.opcode() {
            Some(LLVMLoad) => access(0),
            Some(LLVMStore) if u.operand(0) == v => Err(RecordRefusal::AddressStored),
            Some(LLVMStore) => access(1),
            Some(LLVMAtomicRMW) if u.operand(1) == v => Err(RecordRefusal::AddressStored),
            Some(LLVMAtomicCmpXchg) if u.operand(1) == v || u.operand(2) == v => {
                Err(RecordRefusal::AddressStored)
            }
            Some(LLVMAtomicRMW | LLVMAtomicCmpXchg) => access(0),
            Some(
                LLVMGetElementPtr | LLVMAddrSpaceCast | LLVMBitCast | LLVMFreeze | LLVMPHI
                | LLVMSelect,
            ) => {
                if !self.pointers.contains(&u) {
                    self.pointers.push(u);
                }
                Ok(())
            }
            Some(LLVMICmp) => Ok(()),
            Some(LLVMCall) => {
                call(u)?;
                if !self.pieces.contains(&u) {
                    self.pieces.push(u);
                }
                Ok(())
            }
            Some(LLVMPtrToInt) => Err(RecordRefusal::AddressComputed),
            Some(other) => Err(RecordRefusal::AddressUsed {
                instruction: format!("{other:?}")["LLVM".len()..].to_owned(),
            }),
            None => Err(RecordRefusal::AddressUsed {
                instruction: "a constant".into(),
            }),
        }
    }

    /// Follows the address of a buffer.
    pub fn new(base: Value) -> Result<Trace, RecordRefusal> {
        let mut t = Trace {
            pointers: vec![base],
            ..Trace::default()
        };
        let mut next = 0;
        while let Some(v) = t.pointers.get(next).copied() {
            next += 1;
            let mut users = v.users();
            users.dedup();
            for u in users {
                t.follow(u, v)?;
            }
        }
        match t.pointers.iter().all(|v| t.leads_here_only(*v)) {
            true => Ok(t),
            false => Err(RecordRefusal::Connected),
        }
    }

    /// Whether a choice among pointers is one among those to the buffer.
    fn leads_here_only(&self, v: Value) -> bool {
        let sources = match v.opcode() {
            Some(Opcode::LLVMPHI) => v.incoming().into_iter().map(|p| p.0).collect(),
            Some(Opcode::LLVMSelect) => vec![v.operand(1), v.operand(2)],
            _ => Vec::new(),
        };
        let null = |s: &Value| s.is_constant() && *s == s.ty().zero();
        let known = |s: &Value| self.pointers.contains(s) || s.is_undef() || null(s);
        sources.iter().all(known)
    }
}
