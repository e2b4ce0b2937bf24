//! Checks before memory accesses, for `--memcheck`.
use super::STRUCT_SUFFIX;
use super::lead::Lead;
use kerf_ir::llvm::{Builder, Linkage, Module, Opcode, Type, TypeKind, Value, space};

/// A memory access that `--memcheck` watches.
#[derive(Debug, Clone)]
pub struct AccessSite {
    /// Where in the source.
    pub location: String,
    /// Kernel or function.
    pub function: String,
    /// `load`, `store` or `atomic`.
    pub kind: &'static str,
    /// Required alignment.
    pub align: u32,
    /// Variable that the address derives from, where that is known at compile time.
    pub object: Option<String>,
}

/// A variable of the program that memcheck has to know.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Symbol in the object.
    pub symbol: String,
    /// Size.
    pub bytes: usize,
    /// Bytes of one element.
    pub element: usize,
}

/// What an instruction touches: address, bytes, kind and required alignment.
fn touched(m: &Module, i: Value) -> Vec<(Value, Value, &'static str, u32)> {
    let size = |t: Type| m.int_ty(64).int(m.size_of(t));
    match i.opcode() {
        Some(Opcode::LLVMLoad) => vec![(i.operand(0), size(i.ty()), "load", i.align())],
        Some(Opcode::LLVMStore) => {
            vec![(i.operand(1), size(i.operand(0).ty()), "store", i.align())]
        }
        Some(Opcode::LLVMAtomicRMW) => {
            vec![(i.operand(0), size(i.ty()), "atomic", m.align_of(i.ty()))]
        }
        Some(Opcode::LLVMAtomicCmpXchg) => {
            let t = i.operand(1).ty();
            vec![(i.operand(0), size(t), "atomic", m.align_of(t))]
        }
        Some(Opcode::LLVMCall) => {
            let (Some(n), a) = (i.callee_name(), i.args()) else {
                return Vec::new();
            };
            // Structs are copied, and arrays cleared, in one operation.
            match a.as_slice() {
                [to, from, bytes, ..]
                    if n.starts_with("llvm.memcpy.") || n.starts_with("llvm.memmove.") =>
                {
                    vec![(*from, *bytes, "load", 1), (*to, *bytes, "store", 1)]
                }
                [to, _, bytes, ..] if n.starts_with("llvm.memset.") => {
                    vec![(*to, *bytes, "store", 1)]
                }
                [at, ..] if n.starts_with("llvm.nvvm.atomic.") => {
                    vec![(*at, size(i.ty()), "atomic", m.align_of(i.ty()))]
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Variables that a pointer may lead to (tables, virtual tables), made visible under their names.
pub(super) fn name_variables(m: &Module) -> Vec<Variable> {
    let mut out = Vec::new();
    for (k, g) in m.globals().into_iter().enumerate() {
        if g.is_declaration() || g.ty().space() == space::SHARED {
            continue;
        }
        if g.name().is_empty() {
            g.set_name(&format!("kerf.variable.{k}"));
        }
        g.set_linkage(Linkage::LLVMExternalLinkage);
        let t = g.global_type();
        let bytes = m.size_of(t) as usize;
        let array = t.kind() == TypeKind::LLVMArrayTypeKind && t.array_len() > 0;
        let element = if array {
            bytes / t.array_len() as usize
        } else {
            bytes
        };
        out.push(Variable {
            symbol: g.name(),
            bytes,
            element: element.max(1),
        });
    }
    out
}

/// Whether an address is an object's, at a place that no run changes.
fn fixed(p: Value, object: Value) -> bool {
    let mut p = p;
    while p.0 != object.0 {
        let step = matches!(
            p.opcode(),
            Some(Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast)
        );
        if p.is_constant() {
            return true;
        }
        if !step || p.operands()[1..].iter().any(|o| !o.is_constant()) {
            return false;
        }
        p = p.operand(0);
    }
    true
}

/// Bytes of a thread's own variable; 0 where only a run tells.
fn own_bytes(m: &Module, object: Value) -> u64 {
    let count = object.operand(0).const_int().unwrap_or(0);
    m.size_of(object.allocated_type()) * count
}

/// A variable's name for people: `cB` for `__const._Z3rk4Pdi.cB` and for `cB.i`.
fn named(symbol: &str) -> String {
    let name = kerf_ir::llvm::demangle(symbol);
    let name = name.rsplit("::").next().unwrap_or(&name);
    let name = name
        .strip_prefix("__const.")
        .and_then(|n| n.rsplit('.').next())
        .unwrap_or(name);
    let name = name.split('.').next().unwrap_or(name);
    let name = if name.is_empty() {
        "a local array"
    } else {
        name
    };
    name.to_owned()
}

pub(super) fn watch_accesses(m: &Module, accesses: &mut Vec<AccessSite>) {
    let main = m.source_name();
    let (ptr, i32t, i64t) = (m.ptr_ty(0), m.int_ty(32), m.int_ty(64));
    let check = m.declare(
        "kerf_check",
        m.void_ty()
            .function(&[ptr, i32t, i32t, i32t, ptr, i64t, ptr, i64t, i32t]),
    );
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let all = f
            .instructions()
            .into_iter()
            .flat_map(|i| touched(m, i).into_iter().map(move |t| (i, t)));
        for (i, (p, bytes, kind, align)) in all.collect::<Vec<_>>() {
            let object = p.underlying();
            let global = object.is_global_var();
            // The thread's own memory and constants, at a fixed place; the storage of a struct argument.
            let own = object.opcode() == Some(Opcode::LLVMAlloca);
            let argument = object.is_argument() && object.name().ends_with(STRUCT_SUFFIX);
            if argument || ((own || (global && object.ty().space() == 0)) && fixed(p, object)) {
                continue;
            }
            let extent = match (global, own) {
                (true, _) => m.size_of(object.global_type()),
                (_, true) => own_bytes(m, object),
                _ => 0,
            };
            if own && extent == 0 {
                continue;
            }
            let location = kerf_ir::sites::location(i, &main).map_or_else(String::new, |l| {
                format!("{}:{}:{}", l.file, l.line, l.column)
            });
            accesses.push(AccessSite {
                location,
                function: kerf_ir::kernels::source_name(&kerf_ir::llvm::demangle(&f.name())),
                kind,
                align,
                object: (global || own).then(|| named(&object.name())),
            });
            let b = Builder::before(i);
            let flat = |v: Value| {
                if v.ty().space() == 0 {
                    v
                } else {
                    b.cast(Opcode::LLVMAddrSpaceCast, v, ptr)
                }
            };
            let known = global || own || (object.is_argument() && object.ty().is_ptr());
            let base = if known { flat(object) } else { ptr.zero() };
            let mut a = Lead::of(f).all();
            let number = b.i32(accesses.len() as u32 - 1);
            let bytes = b.zext_or_trunc(bytes, i64t);
            a.extend([flat(p), bytes, base, b.i64(extent), number]);
            b.call(check, &a);
        }
    }
}
