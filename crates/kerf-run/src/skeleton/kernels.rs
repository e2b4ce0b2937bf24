//! The kernels that a first workload file launches, with what their code tells.
use super::KernelKnowledge;
use kerf_ir::address::extent;
use kerf_ir::kernels;
use kerf_ir::kernels::GlobalInfo;
use kerf_llvm::Module;

/// Why there is nothing to launch.
#[derive(Debug, thiserror::Error)]
pub enum KernelsError {
    /// The program has no kernels.
    #[error("there is no kernel")]
    None,
    /// None has the name that was asked for.
    #[error("a kernel of that name is not in the file")]
    Unknown {
        /// The names that there are.
        known: Vec<String>,
    },
}

/// The kernels of these names, in their order; all where no name is given.
pub fn kernel_knowledge(
    m: &Module,
    names: &[String],
) -> Result<Vec<KernelKnowledge>, KernelsError> {
    let all = kernels::kernels(m);
    if all.is_empty() {
        return Err(KernelsError::None);
    }
    let chosen = match names.is_empty() {
        true => all,
        false => {
            let find = |name: &String| kernels::find(&all, name).cloned();
            let found: Result<Vec<_>, _> = names.iter().map(find).collect();
            found.map_err(|known| KernelsError::Unknown { known })?
        }
    };
    let known = chosen.into_iter().filter_map(|kernel| {
        let function = m.function(&kernel.symbol)?;
        Some(KernelKnowledge {
            extents: extent::extents(m, function),
            bounds: kernels::block_bounds(m, function),
            kernel,
        })
    });
    Ok(known.collect())
}

/// Variables that kernels use.
pub fn used_globals(m: &Module, known: &[KernelKnowledge]) -> Vec<GlobalInfo> {
    let used: Vec<String> = known
        .iter()
        .filter_map(|k| m.function(&k.kernel.symbol))
        .flat_map(kernels::used_globals)
        .map(|g| g.name())
        .collect();
    let mut globals = kernels::globals(m);
    globals.retain(|g| used.contains(&g.symbol));
    globals
}
