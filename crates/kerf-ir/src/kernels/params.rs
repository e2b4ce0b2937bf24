//! Parameters of kernels: their kinds, and the scalars and members that they are made of.
use kerf_llvm::{Module, Opcode, Type, Value};
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
    /// Named members of a struct, where debug info tells them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
}

/// A member of a struct.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Byte offset.
    pub offset: u64,
    /// Name; of a member of a struct in the struct both, `inner_x`.
    pub name: String,
    /// Type as the source spells it.
    pub type_name: String,
    /// Size of what a pointer leads to; 0 if unknown.
    pub element_bytes: u64,
    /// Scalars of what a pointer leads to.
    pub element: Vec<ScalarAt>,
}

/// Members as the shim writes them.
fn parse_members(text: &str) -> Vec<Member> {
    let one = |m: &str| {
        let parts: Vec<&str> = m.split('|').collect();
        let [offset, name, type_name, bytes, scalars] = parts[..] else {
            return None;
        };
        Some(Member {
            offset: offset.parse().ok()?,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            element_bytes: bytes.parse().ok()?,
            element: parse_scalars(scalars),
        })
    };
    text.split(';').filter_map(one).collect()
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

/// Scalars of one type that are listed: more than any kernel's parameters have.
const MOST_SCALARS: usize = 1 << 15;

/// Scalars of an LLVM type; of a longer one than [`MOST_SCALARS`] the first.
pub fn scalars_of(m: &Module, t: Type, base: u64, out: &mut Vec<ScalarAt>) {
    use kerf_llvm::TypeKind::*;
    if out.len() >= MOST_SCALARS {
        return;
    }
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
            members: Vec::new(),
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
            members: Vec::new(),
        };
    }
    if let Some(scalar) = ScalarKind::of_type(t) {
        return Param {
            name,
            type_name: t.print(),
            inferred: true,
            used,
            kind: ParamKind::Scalar { scalar },
            members: Vec::new(),
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
        members: Vec::new(),
    }
}

/// The parameters of a kernel.
pub(super) fn params(m: &Module, f: Value) -> Vec<Param> {
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
            let space = kerf_llvm::space::SHARED;
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
                    p.members = d.get(7).map_or(Vec::new(), |m| parse_members(m));
                }
            }
            p
        })
        .collect()
}
