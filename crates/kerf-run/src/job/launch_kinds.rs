//! Launches of a workload that are alike.
use super::JobError;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_workload::expand::{ArgValue, ConcreteLaunch, ConcreteStep, expand};
use kerf_workload::workload::Workload;
use std::collections::BTreeMap;

/// Launches of a workload that are alike: one kernel, one grid, one block.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchKind {
    /// Symbol of the kernel.
    pub symbol: String,
    /// Its name.
    pub name: String,
    /// How many there are in a run.
    pub repeats: u64,
    /// The first of them.
    pub launch: ConcreteLaunch,
    /// Others have other numbers among their arguments.
    pub varies: bool,
}

impl LaunchKind {
    /// Blocks.
    pub fn blocks(&self) -> u64 {
        self.launch.grid.iter().map(|x| u64::from(*x)).product()
    }
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.launch.block.iter().product()
    }
    pub(super) fn flat(&self) -> bool {
        self.launch.grid[1..] == [1, 1]
    }
}

/// Arguments but for buffers, which swaps exchange.
fn numbers(l: &ConcreteLaunch) -> Vec<&ArgValue> {
    let buffer = |a: &&ArgValue| !matches!(a, ArgValue::Buffer { .. });
    l.args.iter().filter(buffer).collect()
}

/// Launches of a workload by kind, in their order.
pub fn kinds(
    workload: &Workload,
    kernels: &[KernelInfo],
    params: &BTreeMap<String, i64>,
) -> Result<Vec<LaunchKind>, JobError> {
    let mut all: Vec<LaunchKind> = Vec::new();
    for step in expand(workload, params)? {
        let ConcreteStep::Launch(l) = step? else {
            continue;
        };
        let k = kernels::find(kernels, &l.kernel)
            .map_err(|_| JobError::Input(format!("the source has no kernel `{}`", l.kernel)))?;
        let alike = all.iter_mut().find(|x| {
            x.symbol == k.symbol
                && (x.launch.grid, x.launch.block, x.launch.shared) == (l.grid, l.block, l.shared)
        });
        match alike {
            Some(x) => {
                x.repeats += 1;
                x.varies |= numbers(&x.launch) != numbers(&l);
            }
            None => all.push(LaunchKind {
                symbol: k.symbol.clone(),
                name: k.name.clone(),
                repeats: 1,
                launch: l,
                varies: false,
            }),
        }
    }
    Ok(all)
}
