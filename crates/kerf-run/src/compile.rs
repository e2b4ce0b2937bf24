//! The program of a workload: its source compiled for values of launch parameters that are macros.
use kerf_clang::compile::{CompileError, Toolchain};
use kerf_ir::program::Program;
use kerf_workload::Workload;
use kerf_workload::macros::{Params, is_compiled};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bitcode of a bundle for some values of macros, beside the one for the file's own.
fn variant(source: &Path, values: &Params) -> PathBuf {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let all: Vec<String> = values.iter().map(|(n, v)| format!("{n}={v}")).collect();
    source.with_file_name(format!("{stem}@{}.bc", all.join(",")))
}

/// Its program with launch parameters at some values; those that are left out have their own.
pub fn program(w: &Workload, tools: &Toolchain, params: &Params) -> Result<Program, CompileError> {
    if !is_compiled(&w.source) {
        let p = kerf_ir::program::load(tools, &w.source, &w.flags_at(params));
        return p.map_err(|e| hinted(w, e));
    }
    let changed = w.changed_macros(params);
    let mut values = w.macros().values(&w.launch_space.default_params());
    let source = match changed.is_empty() {
        true => w.source.clone(),
        false => {
            values.extend(changed);
            variant(&w.source, &values)
        }
    };
    kerf_ir::program::load(tools, &source, &w.flags)
}

/// Programs at several values of launch parameters, in their order, compiled side by side on all cores.
pub fn programs(
    w: &Workload,
    tools: &Toolchain,
    all: &[Params],
) -> Vec<Result<Program, CompileError>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(params) = all.get(i) else {
                return done;
            };
            done.push((i, program(w, tools, params)));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, Result<Program, CompileError>)> = std::thread::scope(|s| {
        let workers: Vec<_> = (0..cores.min(all.len())).map(|_| s.spawn(work)).collect();
        let ended = workers.into_iter().map(|w| w.join());
        ended
            .flat_map(|r| r.unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect()
    });
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, p)| p).collect()
}

/// Says of names that a source does not know, and that are launch parameters, how it can.
fn hinted(w: &Workload, e: CompileError) -> CompileError {
    let CompileError::Rejected { path, mut messages } = e else {
        return e;
    };
    for (name, _) in &w.launch_space.params {
        if messages.contains(&format!("undeclared identifier '{name}'")) {
            messages.push_str(&format!(
                "\n{name} is a launch parameter: `macros = [\"{name}\"]` in [launch_space] defines it for the source"
            ));
        }
    }
    CompileError::Rejected { path, messages }
}

/// Its program as the file has it.
pub fn own_program(w: &Workload, tools: &Toolchain) -> Result<Program, CompileError> {
    program(w, tools, &Params::new())
}

/// Files that a bundle has for other values of macros, each with the parameters to compile it for, of the workload at the
/// CPU's sizes and at full ones: constraints may be about sizes. `source` is the bundle's. None if there are more than `most`.
pub(crate) fn variants(
    w: &Workload,
    at_full_sizes: &Workload,
    source: &Path,
    most: usize,
) -> Option<Vec<(PathBuf, Params)>> {
    let macros = w.macros();
    if macros.free.is_empty() {
        return Some(Vec::new());
    }
    let own = macros.values(&w.launch_space.default_params());
    let mut out: BTreeMap<Params, Params> = BTreeMap::new();
    let of_both = [w, at_full_sizes].into_iter();
    for p in of_both.flat_map(|w| w.launch_space.configurations()) {
        let values = macros.values(&p);
        if values != own {
            out.entry(values).or_insert(p);
        }
        if out.len() > most {
            return None;
        }
    }
    let all = out.into_iter();
    Some(all.map(|(v, p)| (variant(source, &v), p)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_lies_beside_its_bundle() {
        let values = Params::from([("TILE".into(), 8), ("A".into(), -1)]);
        assert_eq!(
            variant(Path::new("d/m.bc"), &values),
            Path::new("d/m@A=-1,TILE=8.bc")
        );
    }
}
