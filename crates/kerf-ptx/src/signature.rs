//! Functions of a file in LLVM's types, their parameters and results.
//!
//! A kernel takes what its launches give: numbers, pointers and structs by value. Which 64-bit parameters are pointers is
//! seen once the body is lifted ([`super::pointers`]); until then those that may be one have a pointer's type. Other
//! functions take integers, and structs by their address.
use super::file_syntax::{BodyStatement, FunctionText, StateSpace, Variable};
use super::flat::flatten;
use super::inference::float_registers;
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::syntax::Operand;
use super::types::Ty;
use kerf_llvm::{Builder, Module, Opcode, Type, Value, space};
use std::collections::HashMap;

/// A declared function.
#[derive(Clone)]
pub(super) struct Declared {
    /// The function.
    pub f: Value,
    /// Its text.
    pub text: FunctionText,
}

/// All functions by name.
#[derive(Default)]
pub(super) struct Signatures {
    /// The functions.
    pub all: HashMap<String, Declared>,
}

/// Functions of CUDA's device runtime with the types that clang gives them: `p` is a pointer, numbers are bits.
const RUNTIME: [(&str, &str, &[&str]); 4] = [
    ("vprintf", "32", &["p", "p"]),
    ("malloc", "p", &["64"]),
    ("free", "", &["p"]),
    ("__assertfail", "", &["p", "p", "32", "p", "64"]),
];

/// The LLVM type of a scalar parameter of a function that is no kernel.
fn scalar_type(m: &Module, v: &Variable) -> Type {
    m.int_ty(v.ty.width().max(8))
}

/// Types by which a kernel's parameters are read: a floating-point one where a register that holds a number is loaded.
fn read_types(text: &FunctionText) -> HashMap<String, Ty> {
    let mut out = HashMap::new();
    let Some(Ok(body)) = text.body.as_deref().map(flatten) else {
        return out;
    };
    let kinds = float_registers(&body);
    for (s, _) in text.body.as_deref().unwrap_or_default() {
        let BodyStatement::Do(i) = s else { continue };
        let ([Operand::Name(to), Operand::Memory(from, offset)], "ld") =
            (i.operands.as_slice(), i.opcode())
        else {
            continue;
        };
        if let (Operand::Name(p), Operand::Int(0)) = (from.as_ref(), offset.as_ref())
            && let Some(kind) = kinds.get(to)
        {
            out.insert(p.clone(), *kind);
        }
    }
    out
}

fn kernel_type(m: &Module, v: &Variable, read: &HashMap<String, Ty>) -> Type {
    let b = Builder::of_constants(m);
    if v.is_array() {
        return m.ptr_ty(0);
    }
    if v.points_to == Some(StateSpace::Shared) {
        return m.ptr_ty(space::SHARED);
    }
    let read = read.get(&v.name).filter(|t| t.width() == v.ty.width());
    match (v.ty, read) {
        (t @ (Ty::Float(_) | Ty::Float2(_)), _) => t.llvm(&b),
        (_, Some(t)) if !v.pointer => t.llvm(&b),
        (t, _) if t.width() == 64 => m.ptr_ty(0),
        (t, _) => m.int_ty(t.width().max(8)),
    }
}

/// Declares a function of the file.
pub(super) fn declare(m: &Module, text: &FunctionText) -> Lifted<Declared> {
    let runtime = RUNTIME
        .iter()
        .find(|(name, ..)| *name == text.name && text.body.is_none());
    let ty = match runtime {
        Some((_, result, params)) => {
            let of = |code: &str| match code.parse() {
                Ok(bits) => m.int_ty(bits),
                Err(_) if code == "p" => m.ptr_ty(0),
                Err(_) => m.void_ty(),
            };
            let params: Vec<Type> = params.iter().map(|p| of(p)).collect();
            of(result).function(&params)
        }
        None => own_type(m, text)?,
    };
    let f = m.add_function(&text.name, ty);
    if text.entry {
        describe_kernel(m, text, f);
    }
    Ok(Declared {
        f,
        text: text.clone(),
    })
}

fn own_type(m: &Module, text: &FunctionText) -> Lifted<Type> {
    let read = read_types(text);
    let mut params = Vec::new();
    for v in &text.params {
        params.push(match (text.entry, v.is_array()) {
            (true, _) => kernel_type(m, v, &read),
            (false, true) => m.ptr_ty(0),
            (false, false) => scalar_type(m, v),
        });
    }
    let result = match text.results.as_slice() {
        [] => m.void_ty(),
        [v] if v.is_array() => {
            params.push(m.ptr_ty(0));
            m.void_ty()
        }
        [v] => scalar_type(m, v),
        _ => return refuse(format!("{} gives several results", text.name)),
    };
    Ok(result.function(&params))
}

fn extents(all: &[u64]) -> String {
    let all: Vec<String> = all.iter().map(u64::to_string).collect();
    all.join(",")
}

fn describe_kernel(m: &Module, text: &FunctionText, f: Value) {
    f.set_call_conv(kerf_llvm::CC_PTX_KERNEL);
    let p = &text.performance;
    for (key, value) in [
        ("nvvm.maxntid", extents(&p.max_threads)),
        ("nvvm.reqntid", extents(&p.required_threads)),
        ("nvvm.minctasm", extents(p.min_blocks.as_slice())),
        ("nvvm.maxnreg", extents(p.max_registers.as_slice())),
    ] {
        if !value.is_empty() {
            f.add_fn_attr(key, &value);
        }
    }
    for (i, v) in text.params.iter().enumerate() {
        // Compilers number the parameters of a kernel; other names are its author's.
        let numbered = v.name == format!("{}_param_{i}", text.name);
        if !numbered {
            f.params()[i].set_name(v.name.trim_start_matches('%'));
        }
        if let (true, Some(n)) = (v.is_array(), v.elements()) {
            let t = m.int_ty(8).array(n * v.element_bytes());
            f.set_byval(i as u32, t, v.alignment());
        }
    }
}

impl Signatures {
    /// Gives the parameters of a function, and its result, addresses that `ld.param` and `st.param` reach.
    pub fn bind_parameters(&self, text: &FunctionText, f: Value, l: &mut Lifter) -> Lifted<()> {
        let values = f.params();
        let mut bound = Vec::new();
        for (v, value) in text.params.iter().zip(&values) {
            let address = match v.is_array() {
                true => *value,
                false => {
                    let slot = l.b.alloca(value.ty());
                    l.b.store(*value, slot);
                    slot
                }
            };
            bound.push((v.name.clone(), address));
        }
        for v in &text.results {
            let address = match (v.is_array(), values.last()) {
                (true, Some(last)) => *last,
                (true, None) => return refuse("a result has no place"),
                (false, _) => {
                    let slot = l.b.alloca(l.b.int_ty(v.ty.width().max(8)));
                    l.b.store(slot.allocated_type().zero(), slot);
                    slot
                }
            };
            bound.push((v.name.clone(), address));
        }
        if let Some(symbols) = &mut l.symbols {
            symbols.extend(bound);
        }
        Ok(())
    }

    /// Returns from a function.
    pub fn give_back(&self, text: &FunctionText, l: &Lifter, b: &Builder) {
        let slot = match text.results.as_slice() {
            [v] if !v.is_array() => l.symbol(&Operand::Name(v.name.clone())),
            _ => None,
        };
        b.ret(slot.map(|s| b.load(s.allocated_type(), s)));
    }
}

/// An integer as an argument of type `t`.
pub(super) fn as_argument(b: &Builder, v: Value, t: Type) -> Value {
    match (t.is_ptr(), v.ty().is_ptr()) {
        (true, false) => b.cast(Opcode::LLVMIntToPtr, v, t),
        (false, true) => b.cast(Opcode::LLVMPtrToInt, v, t),
        _ => v,
    }
}
