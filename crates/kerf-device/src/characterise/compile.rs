//! Probes compiled, assembled and looked at, on all cores.
use super::CharacteriseOptions;
use crate::operation::{Operation, find};
use crate::probe::sass::{self, Unplanned};
use crate::probe::{self, Probe};
use crate::profile::Sass;
use kerf_exec::{ExecError, cuda};
use kerf_llvm::LlvmError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A probe that was compiled, assembled and looked at.
pub(super) struct Ready {
    pub probe: Probe,
    pub binary: Vec<u8>,
    pub sass: Option<Sass>,
}

/// Why a probe cannot be measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeFailure {
    #[error(transparent)]
    Compile(#[from] LlvmError),
    #[error(transparent)]
    Assemble(#[from] ExecError),
    #[error("{0}")]
    File(#[from] std::io::Error),
    #[error("{}: {source}", tool.display())]
    Start {
        tool: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: {message}", tool.display())]
    Disassemble { tool: PathBuf, message: String },
    #[error("rejected: {0}")]
    Rejected(#[from] Box<Unplanned>),
}

fn disassemble(tool: &Path, binary: &[u8]) -> Result<String, ProbeFailure> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), binary)?;
    let name = tool.file_name().unwrap_or_default().to_string_lossy();
    let flag = match name.starts_with("cuobjdump") {
        true => "-sass",
        false => "-c",
    };
    let out = std::process::Command::new(tool)
        .arg(flag)
        .arg(file.path())
        .output()
        .map_err(|source| ProbeFailure::Start {
            tool: tool.to_owned(),
            source,
        })?;
    if !out.status.success() {
        return Err(ProbeFailure::Disassemble {
            tool: tool.to_owned(),
            message: String::from_utf8_lossy(&out.stderr).trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn ready(probe: Probe, o: &CharacteriseOptions) -> Result<Ready, ProbeFailure> {
    let binary = cuda::link(&probe.ptx, o.ordinal)?;
    let sass = match &o.disassembler {
        None => None,
        Some(tool) => {
            let listing = disassemble(tool, &binary)?;
            Some(sass::examine(&probe, &listing)?)
        }
    };
    Ok(Ready {
        probe,
        binary,
        sass,
    })
}

pub(super) type Compiled = BTreeMap<String, Result<Ready, ProbeFailure>>;

/// Compiles probes on all cores.
pub(super) fn compile(
    operations: &[Operation],
    pairs: &[(&str, &str)],
    arch: &str,
    o: &CharacteriseOptions,
) -> Compiled {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Compiled::new());
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let n = operations.len();
    let build = |i: usize| -> Option<(String, Result<Ready, ProbeFailure>)> {
        let (key, built) = if let Some(op) = operations.get(i) {
            (op.key.clone(), probe::build(op, o.libraries, arch))
        } else if let Some(op) = operations.get(i - n) {
            (
                format!("{}+back", op.key),
                probe::build_round_trip(op, o.libraries, arch),
            )
        } else {
            let (a, b) = pairs[i - 2 * n];
            (
                format!("{a}+{b}"),
                probe::build_pair(&find(a)?, &find(b)?, o.libraries, arch),
            )
        };
        let result = match built {
            Ok(None) => return None,
            Ok(Some(p)) => ready(p, o),
            Err(e) => Err(e.into()),
        };
        Some((key, result))
    };
    std::thread::scope(|s| {
        for _ in 0..cores {
            s.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= 2 * n + pairs.len() {
                        return;
                    }
                    if let Some((key, r)) = build(i)
                        && let Ok(mut all) = all.lock()
                    {
                        all.insert(key, r);
                    }
                }
            });
        }
    });
    all.into_inner().unwrap_or_default()
}
