//! Loads and stores of a kernel: how many bytes, of what, and how neighbouring threads' lie.
use kerf_ir::address::slope::{Slope, Strides};
use kerf_ir::address::{AccessDirection, touched};
use kerf_llvm::{Module, Opcode, Value, space};
use serde::{Deserialize, Serialize};

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
    pub direction: AccessDirection,
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

/// The accesses that an instruction of a kernel makes.
pub(super) fn made_by(
    m: &Module,
    strides: &mut Strides,
    kernel: Value,
    i: Value,
    block: usize,
) -> Vec<CountedAccess> {
    let each = touched(m, i).into_iter();
    each.map(|t| {
        let (memory, root) = object(kernel, t.pointer);
        CountedAccess {
            block,
            direction: t.direction,
            bytes: t.bytes,
            memory,
            root,
            slope: strides.slope(t.pointer),
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
