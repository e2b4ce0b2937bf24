//! Loads and stores of a kernel: how many bytes, of what, and how neighbouring threads' lie.
use super::stride::{Slope, Strides};
use kerf_llvm::{Module, Opcode, Value, space};
use serde::{Deserialize, Serialize};

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Into the thread.
    Load,
    /// Out of it.
    Store,
    /// Both, in one step.
    Atomic,
}

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// Global memory; also where the kind is not known.
    Global,
    /// Shared memory of a block.
    Shared,
    /// A thread's own arrays.
    Local,
    /// Constant memory and kernel parameters.
    Constant,
}

/// What an address is derived from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// A parameter of the kernel, from 0.
    Parameter(usize),
    /// A variable of the program.
    Variable(String),
    /// An array of the thread.
    Array,
    /// Not known: a pointer from memory, or a choice between several.
    Unknown,
}

/// One load, store or atomic operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedAccess {
    /// Its block.
    pub block: usize,
    /// Which way.
    pub direction: Direction,
    /// Bytes of one execution.
    pub bytes: u64,
    /// What memory.
    pub memory: MemoryKind,
    /// What object.
    pub root: Root,
    /// Bytes between neighbouring threads.
    pub slope: Slope,
}

fn memory(root: Value, pointer: Value, byval: bool) -> MemoryKind {
    let of = |s: u32| match s {
        space::SHARED => Some(MemoryKind::Shared),
        space::LOCAL => Some(MemoryKind::Local),
        space::CONSTANT => Some(MemoryKind::Constant),
        space::GLOBAL => Some(MemoryKind::Global),
        _ => None,
    };
    if byval {
        return MemoryKind::Constant;
    }
    if root.opcode() == Some(Opcode::LLVMAlloca) {
        return MemoryKind::Local;
    }
    of(root.ty().space())
        .or_else(|| of(pointer.ty().space()))
        .unwrap_or(MemoryKind::Global)
}

/// Addresses that an instruction touches, with the number of bytes.
pub(super) fn touched(m: &Module, i: Value) -> Vec<(Value, u64, Direction)> {
    use Direction::*;
    match i.opcode() {
        Some(Opcode::LLVMLoad) => vec![(i.operand(0), m.size_of(i.ty()), Load)],
        Some(Opcode::LLVMStore) => vec![(i.operand(1), m.size_of(i.operand(0).ty()), Store)],
        Some(Opcode::LLVMAtomicRMW) => vec![(i.operand(0), m.size_of(i.ty()), Atomic)],
        Some(Opcode::LLVMAtomicCmpXchg) => {
            vec![(i.operand(0), m.size_of(i.operand(1).ty()), Atomic)]
        }
        Some(Opcode::LLVMCall) => {
            let name = i.callee_name().unwrap_or_default();
            // A copy whose length is not known here is not counted.
            let bytes = |args: &[Value]| args.get(2).and_then(|n| n.const_int()).unwrap_or(0);
            let args = i.args();
            if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") {
                let n = bytes(&args);
                vec![(args[1], n, Load), (args[0], n, Store)]
            } else if name.starts_with("llvm.memset.") {
                vec![(args[0], bytes(&args), Store)]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

/// The accesses that an instruction of a kernel makes.
pub(super) fn made_by(
    m: &Module,
    strides: &mut Strides,
    kernel: Value,
    i: Value,
    block: usize,
) -> Vec<CountedAccess> {
    let each = touched(m, i).into_iter();
    each.map(|(pointer, bytes, direction)| {
        let (memory, root) = object(kernel, pointer);
        CountedAccess {
            block,
            direction,
            bytes,
            memory,
            root,
            slope: strides.slope(pointer),
        }
    })
    .collect()
}

/// Choices between pointers that are followed.
const MOST_CHOICES: usize = 200;

/// Objects that an address may be derived from: both of a choice, all that a loop swaps.
fn objects(pointer: Value, known: &mut Vec<Value>, out: &mut Vec<Value>) {
    let object = pointer.underlying();
    if known.contains(&object) {
        return;
    }
    // Each is a call on the stack: what a longer chain of choices leads to is not known.
    if known.len() >= MOST_CHOICES {
        out.push(object);
        return;
    }
    known.push(object);
    match object.opcode() {
        Some(Opcode::LLVMPHI) => {
            for (v, _) in object.incoming() {
                objects(v, known, out);
            }
        }
        Some(Opcode::LLVMSelect) => {
            objects(object.operand(1), known, out);
            objects(object.operand(2), known, out);
        }
        _ => out.push(object),
    }
}

/// What an address of a kernel is derived from.
fn object(kernel: Value, pointer: Value) -> (MemoryKind, Root) {
    let mut all = Vec::new();
    objects(pointer, &mut Vec::new(), &mut all);
    let params = kernel.params();
    let mut each = all.into_iter().map(|object| {
        let parameter = params.iter().position(|p| *p == object);
        let byval = parameter.is_some_and(|p| kernel.byval(p as u32).is_some());
        let root = match parameter {
            Some(p) => Root::Parameter(p),
            None if object.is_global_var() => Root::Variable(object.name()),
            None if object.opcode() == Some(Opcode::LLVMAlloca) => Root::Array,
            None => Root::Unknown,
        };
        (memory(object, pointer, byval), root)
    });
    let Some((mut memory, mut root)) = each.next() else {
        return (MemoryKind::Global, Root::Unknown);
    };
    for (m, r) in each {
        if m != memory {
            memory = MemoryKind::Global;
        }
        if r != root {
            root = Root::Unknown;
        }
    }
    (memory, root)
}
