//! Packing workloads for a machine without a compiler or a network.
//!
//! Each workload's source is replaced by its prepared bitcode, input files are copied, and the
//! workload file is rewritten to point at them. Everything else in it stays as it was.
use crate::run::WorkloadSession;
use kerf_clang::compile::{CompileError, Toolchain};
use kerf_ir::kernels;
use kerf_ir::program;
use kerf_workload::mistakes::Mistakes;
use kerf_workload::workload::{SizesFor, Workload};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why a bundle could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The workload file is wrong.
    #[error("{0}")]
    Workload(Mistakes),
    /// Its source does not compile.
    #[error("{0}")]
    Compile(#[from] CompileError),
    /// A file could not be written or read.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Too many programs.
    #[error(
        "{0}: the values of its macros make more than {MOST_VARIANTS} programs; help: list fewer values in [launch_space], or add constraints"
    )]
    Variants(String),
    /// Two workloads have one name.
    #[error("two workloads are named {0}")]
    Twice(String),
}

/// Programs of one workload for other values of macros, at most.
const MOST_VARIANTS: usize = 256;

fn file_error(path: &Path) -> impl Fn(std::io::Error) -> BundleError + '_ {
    move |e| BundleError::File {
        path: path.to_owned(),
        why: e.to_string(),
    }
}

/// Replaces `init = { file = ".." }` entries, copying the files.
fn copy_inputs(
    doc: &mut toml_edit::DocumentMut,
    from: &Path,
    to: &Path,
    stem: &str,
) -> Result<(), BundleError> {
    let Some(buffers) = doc
        .get_mut("buffer")
        .and_then(|b| b.as_array_of_tables_mut())
    else {
        return Ok(());
    };
    for b in buffers.iter_mut() {
        let Some(init) = b.get_mut("init").and_then(|i| i.as_table_like_mut()) else {
            continue;
        };
        let Some(path) = init.get("file").and_then(|f| f.as_str()).map(PathBuf::from) else {
            continue;
        };
        let source = from.join(&path);
        let name = format!(
            "{stem}-{}",
            path.file_name().unwrap_or_default().to_string_lossy()
        );
        std::fs::copy(&source, to.join(&name)).map_err(file_error(&source))?;
        init.insert("file", toml_edit::value(name));
    }
    Ok(())
}

/// Checks the workload against its program here, where both can still be changed.
fn fits(w: &Workload, p: &program::Program) -> Result<(), BundleError> {
    let m = p.module()?;
    let (kernels, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let session = WorkloadSession::plain(w, &kernels, &globals);
    session.check().map(|_| ()).map_err(BundleError::Workload)
}

/// Compiles programs for other values of macros, several at a time.
fn write_variants(
    tools: &Toolchain,
    w: &Workload,
    all: &[(PathBuf, BTreeMap<String, i64>)],
) -> Result<(), BundleError> {
    let params: Vec<BTreeMap<String, i64>> = all.iter().map(|(_, p)| p.clone()).collect();
    let programs = crate::compile::programs(w, tools, &params);
    for ((file, _), program) in all.iter().zip(programs) {
        std::fs::write(file, &program?.bitcode).map_err(file_error(file))?;
    }
    Ok(())
}

/// Packs one workload into `out`; gives the name of the new workload file.
pub fn pack(tools: &Toolchain, path: &Path, out: &Path) -> Result<String, BundleError> {
    let w = Workload::read(path, &[]).map_err(BundleError::Workload)?;
    let at_full_sizes =
        Workload::read_for(path, &[], SizesFor::Gpu).map_err(BundleError::Workload)?;
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let target = out.join(format!("{stem}.toml"));
    if target.exists() {
        return Err(BundleError::Twice(stem));
    }
    let p = crate::compile::own_program(&w, tools)?;
    fits(&w, &p)?;
    fits(&at_full_sizes, &p)?;
    let bc = format!("{stem}.bc");
    std::fs::write(out.join(&bc), &p.bitcode).map_err(file_error(&out.join(&bc)))?;
    let others = crate::compile::variants(&w, &at_full_sizes, &out.join(&bc), MOST_VARIANTS);
    write_variants(
        tools,
        &w,
        &others.ok_or(BundleError::Variants(stem.clone()))?,
    )?;
    let text = std::fs::read_to_string(path).map_err(file_error(path))?;
    let bad = |e: toml_edit::TomlError| BundleError::File {
        path: path.to_owned(),
        why: e.to_string(),
    };
    let mut doc: toml_edit::DocumentMut = text.parse().map_err(bad)?;
    doc["source"] = toml_edit::value(bc);
    doc.remove("flags");
    let free = w.macros().free;
    if !free.is_empty() {
        let names: toml_edit::Array = free.iter().map(String::as_str).collect();
        doc["launch_space"]["macros"] = toml_edit::value(names);
        // The source, which may say these, stays behind.
        let own = w.launch_space.default_params().into_iter();
        let own: toml_edit::InlineTable =
            own.map(|(n, v)| (n, toml_edit::Value::from(v))).collect();
        doc["launch_space"]["default"] = toml_edit::value(own);
    }
    let from = path.parent().unwrap_or(Path::new("."));
    copy_inputs(&mut doc, from, out, &stem)?;
    std::fs::write(&target, doc.to_string()).map_err(file_error(&target))?;
    Ok(format!("{stem}.toml"))
}
