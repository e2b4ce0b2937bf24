//! Sites: the floating-point operations of a kernel, numbered in a stable order.
use crate::groups;
use crate::kernels::reachable;
use kerf_llvm::{Module, Opcode, Type, Value};
use kerf_num::Format;
use serde::Serialize;

/// Where something is in the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Location {
    /// File as the compiler named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

/// One floating-point operation.
#[derive(Debug, Clone, Serialize)]
pub struct Site {
    /// Number within its kernel, from 0, in instruction order.
    pub id: usize,
    /// Operation: `fadd`, `fma`, `exp`, `load`, `phi`, `fpext`, ...
    pub op: String,
    /// Format that it computes in; of the operand for comparisons, stores and conversions to integer.
    pub format: Format,
    /// Lanes, where it works on a vector.
    pub lanes: u32,
    /// Source position.
    pub location: Option<Location>,
    /// Source variable that holds the result.
    pub variable: Option<String>,
    /// Number of loops around it.
    pub loop_depth: u32,
    /// Device function that it is in, where that was not inlined.
    pub function: Option<String>,
    /// Group that it belongs to (see [`crate::groups`]).
    pub group: usize,
}

/// Sites together with the instructions they stand for (valid while the module is).
pub struct SiteMap {
    /// The sites.
    pub sites: Vec<Site>,
    /// Instruction of each.
    pub instructions: Vec<Value>,
}

/// Format and lanes of a floating-point type or vector.
pub fn float_shape(t: Type) -> Option<(Format, u32)> {
    let lanes = t.lanes();
    t.element()
        .format()
        .map(|f| (f, lanes))
        .filter(|_| t.is_vector() || t.is_float())
}

/// Short name of a math call: `__nv_expf` -> `exp`, `llvm.fma.f64` -> `fma`.
pub fn math_name(callee: &str) -> Option<String> {
    if let Some(n) = callee.strip_prefix("__nv_") {
        let base = n
            .strip_suffix('f')
            .filter(|b| !matches!(*b, "er" | "normcd" | "mod"));
        return Some(base.unwrap_or(n).to_owned());
    }
    let n = callee.strip_prefix("llvm.")?;
    if let Some(rest) = n.strip_prefix("nvvm.") {
        return Some(rest.to_owned());
    }
    let mut parts = n.split('.');
    parts.next().map(str::to_owned)
}

/// Operation name and format of an instruction, if it is a site.
pub fn classify(i: Value) -> Option<(String, Format, u32)> {
    use Opcode::*;
    let of = |name: &str, t: Type| float_shape(t).map(|(f, l)| (name.to_owned(), f, l));
    match i.opcode()? {
        LLVMFAdd => of("fadd", i.ty()),
        LLVMFSub => of("fsub", i.ty()),
        LLVMFMul => of("fmul", i.ty()),
        LLVMFDiv => of("fdiv", i.ty()),
        LLVMFRem => of("frem", i.ty()),
        LLVMFNeg => of("fneg", i.ty()),
        LLVMFCmp => of("fcmp", i.operand(0).ty()),
        LLVMSelect => of("select", i.ty()),
        LLVMPHI => of("phi", i.ty()),
        LLVMLoad => of("load", i.ty()),
        LLVMStore => of("store", i.operand(0).ty()),
        LLVMFPExt => of("fpext", i.ty()),
        LLVMFPTrunc => of("fptrunc", i.ty()),
        LLVMSIToFP => of("sitofp", i.ty()),
        LLVMUIToFP => of("uitofp", i.ty()),
        LLVMFPToSI => of("fptosi", i.operand(0).ty()),
        LLVMFPToUI => of("fptoui", i.operand(0).ty()),
        LLVMAtomicRMW => of("atomicrmw", i.ty()),
        LLVMCall => {
            let name = i.callee_name();
            let shape = float_shape(i.ty())
                .or_else(|| i.args().iter().find_map(|a| float_shape(a.ty())))?;
            let op = match &name {
                Some(n) => math_name(n).unwrap_or_else(|| "call".to_owned()),
                None if i.callee().is_inline_asm() => "asm".to_owned(),
                None => "call".to_owned(),
            };
            Some((op, shape.0, shape.1))
        }
        _ => None,
    }
}

/// The best position for a reader: the innermost one in the main source, else the outermost.
pub fn location(i: Value, main: &str) -> Option<Location> {
    if let Some((line, column)) = i.location_in(main) {
        return Some(Location {
            file: main.to_owned(),
            line,
            column,
        });
    }
    let s = i.location()?;
    let p: Vec<&str> = s.split('\t').collect();
    Some(Location {
        file: (*p.get(5)?).to_owned(),
        line: p.get(3)?.parse().ok()?,
        column: p.get(4)?.parse().ok()?,
    })
}

/// The innermost position that is in the main source or in a file of its folder, such as one that it includes; else
/// as [`location`]. Where several instructions were made one, LLVM gives line 0: such positions are passed over.
pub fn innermost_location(i: Value, main: &str) -> Option<Location> {
    let chain = i.location_chain().unwrap_or_default();
    let main = std::path::absolute(main).ok();
    let folder = main.as_deref().and_then(std::path::Path::parent);
    let of_user = chain.lines().find_map(|l| {
        let p: Vec<&str> = l.split('\t').collect();
        let (file, line, column) = (
            *p.first()?,
            p.get(1)?.parse().ok()?,
            p.get(2)?.parse().ok()?,
        );
        let near = folder.is_some_and(|f| std::path::Path::new(file).starts_with(f));
        (near && line != 0).then(|| Location {
            file: file.to_owned(),
            line,
            column,
        })
    });
    of_user.or_else(|| location(i, &main?.to_string_lossy()))
}

/// All sites of a kernel.
pub fn sites(m: &Module, kernel: Value) -> SiteMap {
    let main = m.source_name();
    let mut out = SiteMap {
        sites: Vec::new(),
        instructions: Vec::new(),
    };
    for f in reachable(kernel) {
        let depths = f.loop_depths();
        let function = (f != kernel).then(|| kerf_llvm::demangle(&f.name()));
        for (b, depth) in f.blocks().into_iter().zip(depths) {
            for i in b.instructions() {
                let Some((op, format, lanes)) = classify(i) else {
                    continue;
                };
                out.sites.push(Site {
                    id: out.sites.len(),
                    op,
                    format,
                    lanes,
                    location: location(i, &main),
                    variable: i.variable_name(),
                    loop_depth: depth,
                    function: function.clone(),
                    group: 0,
                });
                out.instructions.push(i);
            }
        }
    }
    let formats = out.sites.iter().map(|s| s.format);
    let each: Vec<(Value, Format)> = out.instructions.iter().copied().zip(formats).collect();
    for (site, group) in out.sites.iter_mut().zip(groups::assign(&each)) {
        site.group = group;
    }
    out
}

/// Number of executions-independent instruction counts by kind, for `inspect`.
pub fn histogram(kernel: Value) -> std::collections::BTreeMap<String, usize> {
    let mut h = std::collections::BTreeMap::new();
    for f in reachable(kernel) {
        for i in f.instructions() {
            let name = match (classify(i), i.opcode()) {
                (Some((op, fmt, _)), _) => format!("{op}.{fmt}"),
                (None, Some(Opcode::LLVMCall)) => match i.callee_name() {
                    Some(n) if n.starts_with("llvm.dbg") || n.starts_with("llvm.lifetime") => {
                        continue;
                    }
                    Some(n) => math_name(&n).unwrap_or_else(|| "call".into()),
                    None => "call".into(),
                },
                (None, Some(op)) => format!("{op:?}").trim_start_matches("LLVM").to_lowercase(),
                (None, None) => continue,
            };
            *h.entry(name).or_insert(0) += 1;
        }
    }
    h
}
