//! Host code of the same source: pointers that it passes to kernels, and the copies that go through them.
//!
//! A kernel whose parameter becomes `float *` is launched with a pointer that has to become one too. The host keeps its
//! own numbers: copies to and from such a pointer convert. A pointer that is used in any other way keeps its format, and
//! with it the kernel's parameter.
use crate::ast::{AstNode, TextRange, Via, strip};
use crate::edits::{Clash, Edits};
use crate::source::SourceFile;
use crate::types::vector;
use std::collections::BTreeMap;

/// A copy between host and device through a pointer.
#[derive(Debug, Clone)]
pub struct Copied {
    /// The function's name.
    pub name: TextRange,
    /// What goes away: the comma and the kind.
    pub kind: TextRange,
    /// To the device?
    pub up: bool,
    /// Where the pointers are written: that of the device, that of the host. For vectors only.
    pub vectors: Option<(usize, usize)>,
}

/// What a use of a pointer is.
pub enum PointerUse {
    /// Nothing that minds its format.
    Harmless,
    /// A copy that converts.
    Copy(Copied),
    /// Something that is not followed.
    Other,
    /// With other pointers, by their declarations: all are alike.
    With(Vec<u64>),
}

fn callee(n: &AstNode) -> &str {
    n.inner
        .first()
        .map_or("", |c| strip(c).refers_name.as_str())
}

/// The declaration that an argument is, through casts that clang made.
pub fn variable(n: &AstNode) -> Option<u64> {
    let mut s = strip(n);
    // `(void *)p` is still the pointer, and so is `(void **)&p`.
    loop {
        s = match s.kind.as_str() {
            "CStyleCastExpr" if s.plain.contains("void") => strip(s.inner.last()?),
            "UnaryOperator" if s.opcode == "&" => strip(s.inner.last()?),
            _ => break,
        };
    }
    (s.kind == "DeclRefExpr").then_some(s.refers).flatten()
}

/// What a call does with a pointer that is one of its arguments.
pub fn pointer_use(
    call: &AstNode,
    pointer: u64,
    sources: &BTreeMap<usize, SourceFile>,
) -> PointerUse {
    let args = &call.inner[1.min(call.inner.len())..];
    match callee(call) {
        "cudaMalloc" | "cudaFree" | "cudaMemset" | "cudaMemsetAsync" | "cudaFreeAsync"
        | "cudaMallocAsync" => PointerUse::Harmless,
        "swap" => {
            let all: Option<Vec<u64>> = args.iter().map(variable).collect();
            all.map_or(PointerUse::Other, PointerUse::With)
        }
        "cudaMemcpy" => {
            let [to, from, _, kind, ..] = args else {
                return PointerUse::Other;
            };
            let up = variable(to) == Some(pointer);
            let way = strip(kind).refers_name.as_str();
            match (up, way) {
                (_, "cudaMemcpyDeviceToDevice") => match (variable(to), variable(from)) {
                    (Some(a), Some(b)) => PointerUse::With(vec![a, b]),
                    _ => PointerUse::Other,
                },
                (true, "cudaMemcpyHostToDevice") => copy(call, args, true, sources),
                (false, "cudaMemcpyDeviceToHost") => copy(call, args, false, sources),
                _ => PointerUse::Other,
            }
        }
        _ => PointerUse::Other,
    }
}

/// Numbers of the host that a copy can convert: what its pointer is of.
fn is_doubles(n: &AstNode) -> bool {
    let mut found = false;
    n.walk(&mut |c| {
        found |= c.plain.contains("double") && c.plain.contains('*');
        !found
    });
    found
}

/// Are they numbers in vectors, `double4`?
fn is_vectors(n: &AstNode) -> bool {
    let mut found = false;
    n.walk(&mut |c| {
        let t = c.plain.split('*').next().unwrap_or_default();
        found |= c.plain.contains('*') && vector(t).is_some();
        !found
    });
    found
}

fn copy(
    call: &AstNode,
    args: &[AstNode],
    up: bool,
    sources: &BTreeMap<usize, SourceFile>,
) -> PointerUse {
    let host = if up { &args[1] } else { &args[0] };
    let name = call.inner.first().and_then(|c| strip(c).begin);
    let (Some(name), Some(bytes), Some(kind)) = (name, args[2].end, args[3].end) else {
        return PointerUse::Other;
    };
    let Some(s) = sources.get(&name.file) else {
        return PointerUse::Other;
    };
    let text = [name, bytes, kind]
        .iter()
        .all(|p| p.via != Via::Macro && p.file == name.file);
    if !text || s.at(name) != "cudaMemcpy" || !is_doubles(host) {
        return PointerUse::Other;
    }
    // From the comma after the number of bytes, which may end with a parenthesis of its own.
    let between = s.slice(bytes.after(), kind.offset);
    let Some(comma) = between.find(',') else {
        return PointerUse::Other;
    };
    let device = if up { &args[0] } else { &args[1] };
    let vectors = match is_vectors(host) {
        false => None,
        true => match (device.begin, host.begin) {
            (Some(d), Some(h)) if d.via == Via::Text && h.via == Via::Text => {
                Some((d.offset, h.offset))
            }
            _ => return PointerUse::Other,
        },
    };
    PointerUse::Copy(Copied {
        vectors,
        name: name.range(),
        kind: TextRange {
            file: name.file,
            from: bytes.after() + comma,
            to: kind.after(),
        },
        up,
    })
}

impl Copied {
    /// Makes the copy convert to a type of the device.
    pub fn edit(&self, device: &str, e: &mut Edits) -> Result<(), Clash> {
        let file = self.name.file;
        if let Some((device_pointer, host_pointer)) = self.vectors {
            // Numbers one by one.
            let one = device.trim_end_matches(|c: char| c.is_ascii_digit());
            let host = match self.up {
                true => "(const double *)",
                false => "(double *)",
            };
            e.before(file, device_pointer, 1, &format!("({one} *)"))?;
            e.before(file, host_pointer, 1, host)?;
        }
        e.replace(self.name, self.helper())?;
        e.replace(self.kind, "")
    }

    /// The function that it becomes.
    pub fn helper(&self) -> &'static str {
        if self.up {
            "kerf_upload"
        } else {
            "kerf_download"
        }
    }
}
