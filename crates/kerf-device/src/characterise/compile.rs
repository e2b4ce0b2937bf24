//! Probes compiled, assembled and looked at, on all cores.
use super::CharacteriseOptions;
use crate::operation::{Operation, find};
use crate::probe::{self, Probe, sass};
use crate::profile::Sass;
use kerf_exec::cuda;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A probe that was compiled, assembled and looked at.
pub(super) struct Ready {
    pub probe: Probe,
    pub binary: Vec<u8>,
    pub sass: Option<Sass>,
}

fn disassemble(tool: &PathBuf, binary: &[u8]) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    std::fs::write(file.path(), binary).map_err(|e| e.to_string())?;
    let name = tool
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let flag = if name.starts_with("cuobjdump") {
        "-sass"
    } else {
        "-c"
    };
    let out = std::process::Command::new(tool)
        .arg(flag)
        .arg(file.path())
        .output()
        .map_err(|e| format!("{}: {e}", tool.display()))?;
    if !out.status.success() {
        return Err(format!(
            "{}: {}",
            tool.display(),
            String::from_utf8_lossy(&out.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn ready(probe: Probe, o: &CharacteriseOptions) -> Result<Ready, String> {
    let binary = cuda::link(&probe.ptx, o.ordinal).map_err(|e| e.to_string())?;
    let sass = match &o.disassembler {
        None => None,
        Some(tool) => {
            let listing = disassemble(tool, &binary)?;
            Some(sass::examine(&probe, &listing).map_err(|e| format!("rejected: {e}"))?)
        }
    };
    Ok(Ready {
        probe,
        binary,
        sass,
    })
}

pub(super) type Compiled = BTreeMap<String, Result<Ready, String>>;

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
    let build = |i: usize| -> Option<(String, Result<Ready, String>)> {
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
            Err(e) => Err(e.to_string()),
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
