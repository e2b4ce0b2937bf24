//! What becomes of an application's device code before it is finished, in `kerf cc` and in the runtime alike.
use crate::kernels::{KernelInfo, address_taken};
use crate::obstacles::{GRID_SYNC, obstacles};
use kerf_llvm::{Builder, Linkage, Module, Value, space};
use kerf_ptx::Unlifted;
use std::collections::BTreeMap;

/// What tables of virtual functions have in place of those without a body: NVIDIA's compiler has it, a GPU's driver
/// does not.
pub fn provide(m: &Module) {
    let missing = m.function("__cxa_pure_virtual");
    if let Some(f) = missing.filter(|f| f.is_declaration()) {
        let b = Builder::at_end(m.append_block(f, "entry"));
        b.intrinsic("llvm.trap", &[], &[]);
        b.unreachable();
        f.set_linkage(Linkage::LLVMInternalLinkage);
    }
}

/// Why the CPU cannot run some kernels, by symbol. Waiting for the whole grid is none: applications may launch so.
pub fn refused(
    m: &Module,
    infos: &[KernelInfo],
    unlifted: &[Unlifted],
) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for k in infos {
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
        let why: Vec<String> = obstacles(m, f, unlifted)
            .into_iter()
            .filter(|o| o.scope.stops_cpu() && o.what != GRID_SYNC)
            .map(|o| format!("{}: {}", o.what, o.why))
            .collect();
        if !why.is_empty() {
            out.insert(k.symbol.clone(), why.join("; "));
        }
    }
    out
}

/// May kernels of a module be loaded as several programs? Variables that change would be there more than once, and a
/// function's address that one kernel stores would be another kernel's of the other program.
pub fn separable(m: &Module) -> bool {
    let same_everywhere = |g: &Value| {
        g.ty().space() == space::SHARED
            || g.name().starts_with("llvm.")
            || (g.is_constant_global() && !g.is_declaration() && !g.is_externally_initialized())
    };
    let kernels = m.kernel_functions();
    let stored = kernels.first().map(|k| address_taken(*k));
    m.globals().iter().all(same_everywhere)
        && stored
            .unwrap_or_default()
            .iter()
            .all(|f| kernels.contains(f))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Module {
        let head = "target triple = \"nvptx64-nvidia-cuda\"\n";
        Module::parse(format!("{head}{text}").as_bytes(), "test").expect("it parses")
    }

    const KERNELS: &str = "define ptx_kernel void @a(ptr %p) {\n store double 1.0, ptr %p\n ret void\n}\n\
                           define ptx_kernel void @b(ptr %p) {\n store double 2.0, ptr %p\n ret void\n}\n";

    #[test]
    fn kernels_that_share_variables_stay_together() {
        assert!(separable(&module(KERNELS)));
        let shared = "@s = internal addrspace(3) global [8 x double] undef\n";
        assert!(separable(&module(&format!("{shared}{KERNELS}"))));
        let table = "@t = internal addrspace(4) constant [2 x double] [double 1.0, double 2.0]\n";
        assert!(separable(&module(&format!("{table}{KERNELS}"))));
        let counter = "@n = internal addrspace(1) global i32 0\n";
        assert!(!separable(&module(&format!("{counter}{KERNELS}"))));
        for kind in ["global", "constant"] {
            let c = format!("@c = addrspace(4) externally_initialized {kind} double 0.0\n");
            assert!(!separable(&module(&format!("{c}{KERNELS}"))), "{kind}");
        }
    }

    #[test]
    fn kernels_that_share_addresses_of_functions_stay_together() {
        let text = "@table = internal addrspace(4) constant [1 x ptr] [ptr @f]\n\
                    define internal void @f() {\n ret void\n}\n";
        assert!(!separable(&module(&format!("{text}{KERNELS}"))));
    }
}
