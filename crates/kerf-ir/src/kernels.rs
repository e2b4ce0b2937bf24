//! Kernels of a module and their parameters, by debug info where there is some and by use elsewhere.
mod bounds;
mod reach;

pub use bounds::{BlockBounds, block_bounds};
pub(crate) use reach::address_taken;
pub use reach::{reachable, retain, used_globals};

use crate::llvm::{Module, Opcode, Type, Value, demangle};
use kerf_num::Format;
use serde::{Deserialize, Serialize};

/// Kind of a scalar in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScalarKind {
    /// Floating point.
    Float(Format),
    /// Integer.
    Int {
        /// Width.
        bits: u32,
        /// Signed in the source.
        signed: bool,
    },
    /// Pointer.
    Ptr,
}

impl std::fmt::Display for ScalarKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScalarKind::Float(x) => write!(f, "{x}"),
            ScalarKind::Int { bits, signed } => {
                write!(f, "{}{bits}", if *signed { 'i' } else { 'u' })
            }
            ScalarKind::Ptr => f.write_str("ptr"),
        }
    }
}

impl ScalarKind {
    /// Bytes in memory.
    pub fn bytes(self) -> u64 {
        match self {
            ScalarKind::Float(f) => f.bytes() as u64,
            ScalarKind::Int { bits, .. } => u64::from(bits.div_ceil(8)),
            ScalarKind::Ptr => 8,
        }
    }
    fn parse(s: &str) -> Option<ScalarKind> {
        Some(match s {
            "f64" => ScalarKind::Float(Format::F64),
            "f32" => ScalarKind::Float(Format::F32),
            "f16" => ScalarKind::Float(Format::F16),
            "bf16" => ScalarKind::Float(Format::Bf16),
            "ptr" => ScalarKind::Ptr,
            _ => {
                let bits = s.get(1..)?.parse().ok()?;
                ScalarKind::Int {
                    bits,
                    signed: s.starts_with('i'),
                }
            }
        })
    }
    fn of_type(t: Type) -> Option<ScalarKind> {
        if let Some(f) = t.format() {
            Some(ScalarKind::Float(f))
        } else if t.is_int() {
            Some(ScalarKind::Int {
                bits: t.int_bits(),
                signed: true,
            })
        } else if t.is_ptr() {
            Some(ScalarKind::Ptr)
        } else {
            None
        }
    }
}

/// A scalar at a byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScalarAt {
    /// Byte offset.
    pub offset: u64,
    /// Kind.
    pub kind: ScalarKind,
}

/// What a kernel parameter is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ParamKind {
    /// A pointer to elements.
    Pointer {
        /// Address space of the parameter (3 for an OpenCL `__local` pointer).
        space: u32,
        /// Size of one element in bytes; 0 if unknown.
        element_bytes: u64,
        /// Scalars of one element.
        element: Vec<ScalarAt>,
    },
    /// A number.
    Scalar {
        /// Its kind.
        scalar: ScalarKind,
    },
    /// A struct (or vector) by value.
    Struct {
        /// Size in bytes.
        bytes: u64,
        /// Alignment in bytes.
        align: u32,
        /// Its scalars.
        fields: Vec<ScalarAt>,
    },
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// Name in the source, or `argN`.
    pub name: String,
    /// Type as the source spells it, or as inferred.
    pub type_name: String,
    /// Without debug info the type is a guess by use.
    pub inferred: bool,
    /// Does the kernel do anything with it?
    pub used: bool,
    /// What it is.
    #[serde(flatten)]
    pub kind: ParamKind,
}

/// One kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Symbol.
    pub symbol: String,
    /// As the source writes it, with template arguments: `axpy<double>`.
    pub name: String,
    /// Demangled signature.
    pub signature: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Bytes of static shared memory.
    pub static_shared_bytes: u64,
    /// Does it use dynamic shared memory?
    pub dynamic_shared: bool,
}

/// `void ns::axpy<double>(double*)` -> `ns::axpy<double>`.
pub fn source_name(signature: &str) -> String {
    let mut depth = 0i32;
    let mut end = signature.len();
    for (i, c) in signature.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 && !signature[i..].starts_with("(anonymous namespace)") => {
                end = i;
                break;
            }
            _ => {}
        }
    }
    let head = &signature[..end];
    depth = 0;
    let mut start = 0;
    for (i, c) in head.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ' ' if depth == 0 => start = i + 1,
            _ => {}
        }
    }
    head[start..].to_owned()
}

fn parse_scalars(s: &str) -> Vec<ScalarAt> {
    s.split(',')
        .filter_map(|p| {
            let (o, k) = p.split_once(':')?;
            Some(ScalarAt {
                offset: o.parse().ok()?,
                kind: ScalarKind::parse(k)?,
            })
        })
        .collect()
}

/// Scalars of an LLVM type.
pub fn scalars_of(m: &Module, t: Type, base: u64, out: &mut Vec<ScalarAt>) {
    use crate::llvm::TypeKind::*;
    match t.kind() {
        LLVMStructTypeKind => {
            for (i, f) in t.fields().into_iter().enumerate() {
                scalars_of(m, f, base + m.field_offset(t, i as u32), out);
            }
        }
        LLVMArrayTypeKind | LLVMVectorTypeKind => {
            let n = if t.is_vector() {
                u64::from(t.lanes())
            } else {
                t.array_len()
            };
            let e = t.element();
            for i in 0..n.min(256) {
                scalars_of(m, e, base + i * m.size_of(e), out);
            }
        }
        _ => out.extend(ScalarKind::of_type(t).map(|kind| ScalarAt { offset: base, kind })),
    }
}

/// The type that a pointer parameter is mostly read or written as.
fn accessed_type(p: Value) -> Option<Type> {
    let mut seen = vec![p];
    let mut types: Vec<(Type, usize)> = Vec::new();
    let mut next = 0;
    while next < seen.len() && seen.len() < 10_000 {
        let v = seen[next];
        next += 1;
        for u in v.users() {
            let ty = match u.opcode() {
                Some(Opcode::LLVMLoad) => Some(u.ty()),
                Some(Opcode::LLVMStore) if u.operand(1) == v => Some(u.operand(0).ty()),
                Some(Opcode::LLVMAtomicRMW) if u.operand(0) == v => Some(u.operand(1).ty()),
                Some(
                    Opcode::LLVMGetElementPtr
                    | Opcode::LLVMAddrSpaceCast
                    | Opcode::LLVMPHI
                    | Opcode::LLVMSelect
                    | Opcode::LLVMBitCast,
                ) => {
                    if !seen.contains(&u) {
                        seen.push(u);
                    }
                    None
                }
                _ => None,
            };
            if let Some(t) = ty {
                match types.iter_mut().find(|(x, _)| *x == t) {
                    Some((_, n)) => *n += 1,
                    None => types.push((t, 1)),
                }
            }
        }
    }
    types.into_iter().max_by_key(|(_, n)| *n).map(|(t, _)| t)
}

fn param_without_debug(m: &Module, f: Value, i: u32, v: Value) -> Param {
    let name = if v.name().is_empty() {
        format!("arg{i}")
    } else {
        v.name()
    };
    let used = !v.users().is_empty();
    if let Some(t) = f.byval(i) {
        let mut fields = Vec::new();
        scalars_of(m, t, 0, &mut fields);
        let kind = ParamKind::Struct {
            bytes: m.size_of(t),
            align: m.align_of(t),
            fields,
        };
        return Param {
            name,
            type_name: t.print(),
            inferred: true,
            used,
            kind,
        };
    }
    let t = v.ty();
    if t.is_ptr() {
        let elem = accessed_type(v);
        let mut element = Vec::new();
        if let Some(e) = elem {
            scalars_of(m, e, 0, &mut element);
        }
        return Param {
            name,
            type_name: elem.map_or("ptr".into(), |e| format!("{}*", e.print())),
            inferred: true,
            used,
            kind: ParamKind::Pointer {
                space: t.space(),
                element_bytes: elem.map_or(0, |e| m.size_of(e)),
                element,
            },
        };
    }
    if let Some(scalar) = ScalarKind::of_type(t) {
        return Param {
            name,
            type_name: t.print(),
            inferred: true,
            used,
            kind: ParamKind::Scalar { scalar },
        };
    }
    let mut fields = Vec::new();
    scalars_of(m, t, 0, &mut fields);
    let kind = ParamKind::Struct {
        bytes: m.size_of(t),
        align: m.align_of(t),
        fields,
    };
    Param {
        name,
        type_name: t.print(),
        inferred: true,
        used,
        kind,
    }
}

fn params(m: &Module, f: Value) -> Vec<Param> {
    let local = f.fn_attr(crate::prepare::LOCAL_PARAMS).unwrap_or_default();
    let local: Vec<usize> = local.split(',').filter_map(|n| n.parse().ok()).collect();
    let mut plain: Vec<Param> = f
        .params()
        .into_iter()
        .enumerate()
        .map(|(i, v)| param_without_debug(m, f, i as u32, v))
        .collect();
    for i in local {
        if let Some(p) = plain.get_mut(i) {
            let space = crate::llvm::space::SHARED;
            p.kind = ParamKind::Pointer {
                space,
                element_bytes: 0,
                element: Vec::new(),
            };
            p.type_name = "local pointer".into();
        }
    }
    let Some(debug) = f.debug_params() else {
        return plain;
    };
    let lines: Vec<Vec<&str>> = debug.lines().map(|l| l.split('\t').collect()).collect();
    if lines.len() != plain.len() {
        return plain;
    }
    plain
        .into_iter()
        .zip(lines)
        .map(|(mut p, d)| {
            if d.len() < 7 {
                return p;
            }
            if !d[0].is_empty() {
                p.name = d[0].to_owned();
            }
            p.type_name = d[1].to_owned();
            p.inferred = false;
            match &mut p.kind {
                ParamKind::Pointer {
                    element,
                    element_bytes,
                    ..
                } => {
                    let s = parse_scalars(d[6]);
                    if !s.is_empty() {
                        *element = s;
                        *element_bytes = d[5].parse().unwrap_or(0);
                    }
                }
                ParamKind::Scalar { scalar } => {
                    // The machine type decides the width, the source the signedness.
                    if let [one] = parse_scalars(d[3])[..]
                        && one.kind.bytes() == scalar.bytes()
                    {
                        *scalar = one.kind;
                    }
                }
                ParamKind::Struct { fields, .. } => {
                    let s = parse_scalars(d[3]);
                    if !s.is_empty() {
                        *fields = s;
                    }
                }
            }
            p
        })
        .collect()
}

/// All kernels, in source order.
pub fn kernels(m: &Module) -> Vec<KernelInfo> {
    m.kernel_functions()
        .into_iter()
        .map(|f| {
            let symbol = f.name();
            let signature = demangle(&symbol);
            let mut static_shared_bytes = 0;
            let mut dynamic_shared = false;
            for g in used_globals(f) {
                if g.ty().space() == crate::llvm::space::SHARED {
                    let bytes = m.size_of(g.global_type());
                    if g.is_declaration() || bytes == 0 {
                        dynamic_shared = true;
                    } else {
                        static_shared_bytes += bytes;
                    }
                }
            }
            KernelInfo {
                name: source_name(&signature),
                signature,
                params: params(m, f),
                symbol,
                static_shared_bytes,
                dynamic_shared,
            }
        })
        .collect()
}

/// A `__constant__` or `__device__` variable.
#[derive(Debug, Clone, Serialize)]
pub struct GlobalInfo {
    /// Symbol.
    pub symbol: String,
    /// Name in the source.
    pub name: String,
    /// Type in the source.
    pub type_name: String,
    /// Address space.
    pub space: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// Its scalars (the first few of an array).
    pub scalars: Vec<ScalarAt>,
    /// Does the source give it content other than zeros?
    #[serde(skip)]
    pub filled: bool,
}

/// Variables of the module that the host can reach: not tables that are constants of the program.
pub fn globals(m: &Module) -> Vec<GlobalInfo> {
    use crate::llvm::space;
    m.globals()
        .into_iter()
        .filter(|g| {
            matches!(g.ty().space(), space::GLOBAL | space::CONSTANT) && !g.is_declaration()
        })
        .filter(|g| !g.name().starts_with(".str") && !g.name().starts_with("__const."))
        .filter(|g| g.is_externally_initialized() || !g.is_constant_global())
        .map(|g| {
            let debug = g.debug_global().unwrap_or_default();
            let d: Vec<&str> = debug.split('\t').collect();
            let symbol = g.name();
            let mut scalars = Vec::new();
            scalars_of(m, g.global_type(), 0, &mut scalars);
            scalars.truncate(16);
            GlobalInfo {
                name: d
                    .first()
                    .filter(|n| !n.is_empty())
                    .map_or_else(|| source_name(&demangle(&symbol)), |n| (*n).to_owned()),
                type_name: d
                    .get(1)
                    .filter(|n| !n.is_empty())
                    .map_or_else(|| g.global_type().print(), |n| (*n).to_owned()),
                space: g.ty().space(),
                bytes: m.size_of(g.global_type()),
                filled: g
                    .initializer()
                    .is_some_and(|c| c != c.ty().zero() && !c.is_undef()),
                scalars,
                symbol,
            }
        })
        .collect()
}

/// Finds a kernel by the name a user writes: symbol, full name, name without template arguments,
/// or without namespaces, as long as it is unique. The error lists what there is.
pub fn find<'a>(all: &'a [KernelInfo], wanted: &str) -> Result<&'a KernelInfo, Vec<String>> {
    let clean = |s: &str| s.replace(' ', "");
    let w = clean(wanted);
    let base = |k: &KernelInfo| k.name.split('<').next().unwrap_or_default().to_owned();
    let tail = |s: &str| s.rsplit("::").next().unwrap_or_default().to_owned();
    let tests: [&dyn Fn(&KernelInfo) -> bool; 5] = [
        &|k| k.symbol == wanted,
        &|k| clean(&k.name) == w || clean(&k.signature) == w,
        &|k| base(k) == w,
        &|k| clean(&tail(&k.name)) == w,
        &|k| tail(&base(k)) == w,
    ];
    for t in tests {
        let mut hits = all.iter().filter(|k| t(k));
        if let (Some(k), None) = (hits.next(), hits.next()) {
            return Ok(k);
        }
    }
    Err(all.iter().map(|k| k.name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_the_source_writes_them() {
        assert_eq!(
            source_name("void axpy<double>(double*, int)"),
            "axpy<double>"
        );
        assert_eq!(source_name("ns::k(float*)"), "ns::k");
        assert_eq!(source_name("plain"), "plain");
        assert_eq!(
            source_name("void (anonymous namespace)::k<(int)3>(int)"),
            "(anonymous namespace)::k<(int)3>"
        );
    }

    #[test]
    fn the_host_reaches_variables_and_no_tables() {
        let m = Module::parse(
            b"target triple = \"nvptx64-nvidia-cuda\"
@c = addrspace(4) externally_initialized constant [2 x double] [double 1.0, double 2.0]
@z = addrspace(4) externally_initialized constant double 0.0
@d = addrspace(1) externally_initialized global i32 1
@_ZZ1kE1t = internal addrspace(4) constant [1 x double] [double 3.0]",
            "m.ll",
        )
        .expect("parses");
        let all = globals(&m);
        let all: Vec<_> = all.iter().map(|g| (g.name.as_str(), g.filled)).collect();
        assert_eq!(all, [("c", true), ("z", false), ("d", true)]);
    }

    #[test]
    fn unwanted_kernels_go_unless_something_refers_to_them() {
        let m = Module::parse(
            b"target triple = \"nvptx64-nvidia-cuda\"
@table = global [1 x ptr] [ptr @c]
define ptx_kernel void @a() {
  ret void
}
define ptx_kernel void @b() {
  ret void
}
define ptx_kernel void @c() {
  ret void
}",
            "k.ll",
        )
        .expect("parses");
        retain(&m, |k| k.name() == "a");
        let left: Vec<String> = m.kernel_functions().iter().map(|k| k.name()).collect();
        assert_eq!(left, ["a", "c"]);
    }
}
