//! Kernels of a module and their parameters, by debug info where there is some and by use elsewhere.
mod bounds;
mod params;
mod reach;
mod short_name;

pub use bounds::{BlockBounds, block_bounds};
pub use params::{Member, Param, ParamKind, ScalarAt, ScalarKind, scalars_of};
pub(crate) use reach::address_taken;
pub use reach::{reachable, retain, used_globals};
pub use short_name::{file_stem, shortened};

use crate::written::written_parameters;
use kerf_llvm::{Module, demangle};
use params::params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
    /// Parameters through which it may write; none where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<BTreeSet<usize>>,
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
                if g.ty().space() == kerf_llvm::space::SHARED {
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
                written: written_parameters(f),
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
    use kerf_llvm::space;
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
