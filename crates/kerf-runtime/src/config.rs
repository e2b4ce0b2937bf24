//! What the environment says of a run: device, plan, checks, folders.
use crate::error::{CallFailure, code};
use crate::process::{this_library, var};
use kerf_exec::cpu::{SanitizeOptions, UnknownFaultKind};
use kerf_pass::{Plan, SiteFormat};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which allocations are held how.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffers {
    /// Format by number of the allocation.
    #[serde(default)]
    pub allocations: BTreeMap<usize, SiteFormat>,
}

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Device: `cpu` or `cuda`, with a number behind a colon.
    pub device: String,
    /// What is done to kernels.
    pub plan: Plan,
    /// Formats of allocations.
    pub buffers: Buffers,
    /// Where libdevice may be.
    pub libdevice: Option<PathBuf>,
    /// Undefined behaviour is looked for (CPU).
    pub memcheck: Option<SanitizeOptions>,
    /// Threads of the CPU executor.
    pub threads: usize,
    /// Kernels are compiled from bitcode although code is kept.
    pub compile: bool,
    /// Folder for what is compiled, for the next start.
    pub cache: Option<PathBuf>,
}

/// What is checked: nothing, everything (`KERF_MEMCHECK=1`), or all but races (`KERF_MEMCHECK=memory`). Kinds of
/// faults in `KERF_ALLOW` are let pass.
fn memcheck() -> Result<Option<SanitizeOptions>, CallFailure> {
    let races = match var("KERF_MEMCHECK").as_deref() {
        None | Some("0") => return Ok(None),
        Some(mode) => mode != "memory",
    };
    let allow = var("KERF_ALLOW").unwrap_or_default();
    let mut names = allow.split(',').filter(|n| !n.is_empty());
    let options = SanitizeOptions { races, allow: 0 };
    let allowed = names.try_fold(options, |o, n| o.allowing(n));
    let bad = |why: UnknownFaultKind| CallFailure::new(code::UNKNOWN, format!("KERF_ALLOW: {why}"));
    allowed.map(Some).map_err(bad)
}

/// libdevice: as told, beside this library, in a set-up above it, in a CUDA installation.
fn libdevice() -> Option<PathBuf> {
    let name = "nvvm/libdevice/libdevice.10.bc";
    let here = this_library().and_then(|p| Some(p.parent()?.to_owned()));
    let beside = here.iter().map(|h| h.join("libdevice.10.bc"));
    let above = here
        .iter()
        .flat_map(|h| h.ancestors())
        .map(|a| a.join(".kerf/cuda").join(name));
    let installed = [
        var("CUDA_HOME"),
        var("CUDA_PATH"),
        Some("/usr/local/cuda".into()),
    ];
    var("KERF_LIBDEVICE")
        .map(PathBuf::from)
        .into_iter()
        .chain(beside)
        .chain(above)
        .chain(
            installed
                .into_iter()
                .flatten()
                .map(|c| PathBuf::from(c).join(name)),
        )
        .find(|p| p.is_file())
}

/// Where `kerf` keeps what it compiles, and so do programs.
fn cache() -> Option<PathBuf> {
    if std::env::var_os("KERF_NO_CACHE").is_some() {
        return None;
    }
    let own = var("KERF_CACHE").map(PathBuf::from);
    let xdg = var("XDG_CACHE_HOME").map(|p| PathBuf::from(p).join("kerf"));
    let home = var("HOME").map(|p| PathBuf::from(p).join(".cache/kerf"));
    own.or(xdg).or(home).map(|p| p.join("programs"))
}

/// A plan by its file, and the formats of allocations beside it; nothing changes without a file.
pub fn read_plan(path: Option<&Path>) -> Result<(Plan, Buffers), CallFailure> {
    let Some(path) = path else {
        return Ok((Plan::default(), Buffers::default()));
    };
    let bad =
        |e: String| CallFailure::new(code::UNKNOWN, format!("KERF_PLAN={}: {e}", path.display()));
    let buffers = match std::fs::read_to_string(path.with_file_name("buffers.json")) {
        Ok(text) => serde_json::from_str(&text).map_err(|e| bad(format!("buffers.json: {e}")))?,
        Err(_) => Buffers::default(),
    };
    let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
    let plan = Plan::parse(&text).map_err(|e| bad(e.to_string()))?;
    if !plan.launch.is_empty() {
        let why = "`launch` has parameters of a workload, which no application has";
        return Err(bad(why.into()));
    }
    Ok((plan, buffers))
}

/// Reads the environment, and the files that it names.
pub fn configure() -> Result<Config, CallFailure> {
    configure_with_plan(var("KERF_PLAN").map(PathBuf::from).as_deref())
}

/// Reads the environment but for its plan.
pub fn configure_with_plan(plan: Option<&Path>) -> Result<Config, CallFailure> {
    let (plan, buffers) = read_plan(plan)?;
    Ok(Config {
        device: var("KERF_DEVICE").unwrap_or_else(|| "cpu".into()),
        plan,
        buffers,
        libdevice: libdevice(),
        memcheck: memcheck()?,
        threads: var("KERF_THREADS")
            .and_then(|v| v.parse().ok())
            .unwrap_or(0),
        compile: var("KERF_COMPILE").is_some_and(|v| v != "0"),
        cache: cache(),
    })
}
