//! Hardware counters of a workload's launches, by `ncu`.
use crate::fail::Failure;
use kerf_predict::sampled::counters::{self, LaunchCounters};
use std::path::{Path, PathBuf};
use std::process::Command;

fn parsed(text: &str, from: &str) -> Result<Vec<LaunchCounters>, Failure> {
    counters::parse(text).map_err(|e| Failure::new(format!("{from}: {e}")))
}

/// A table that somebody made.
pub fn read(path: &Path) -> Result<Vec<LaunchCounters>, Failure> {
    let from = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::new(format!("cannot read {from}: {e}")))?;
    parsed(&text, &from)
}

/// `ncu`, in the search path or where CUDA is usually installed.
fn profiler() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/cuda/bin", "/opt/nvidia/nsight-compute"].map(PathBuf::from);
    let mut all = std::env::split_paths(&path).chain(usual);
    all.find_map(|d| Some(d.join("ncu")).filter(|p| p.is_file()))
}

/// Runs the workload once under `ncu`.
pub fn count(
    workload: &Path,
    sizes: &[(String, i64)],
    gpu: i32,
) -> Result<Vec<LaunchCounters>, Failure> {
    let ncu = profiler().ok_or_else(|| {
        Failure::new("ncu was not found")
            .help("install Nsight Compute, or give a table that ncu --csv wrote: --counters FILE")
    })?;
    let exe = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let mut c = Command::new(&ncu);
    c.args(["--csv", "--target-processes", "all"]);
    // The first launch of each kernel, grid and block: a run may have thousands that are alike.
    c.args(["--filter-mode", "per-launch-config", "--launch-count", "1"]);
    c.args(["--clock-control", "none"]);
    c.args(["--metrics", &counters::requested_metrics()]);
    c.arg(exe).arg("run").arg(workload);
    c.args([
        "--device",
        "cuda",
        "--repeats",
        "1",
        "--gpu",
        &gpu.to_string(),
    ]);
    for (name, value) in sizes {
        c.args(["--size", &format!("{name}={value}")]);
    }
    let out = c
        .output()
        .map_err(|e| Failure::new(format!("{} cannot be run: {e}", ncu.display())))?;
    let text = String::from_utf8_lossy(&out.stdout);
    match counters::parse(&text) {
        Ok(all) => Ok(all),
        Err(e) => {
            let said = String::from_utf8_lossy(&out.stderr);
            let last = text
                .lines()
                .chain(said.lines())
                .rfind(|l| !l.trim().is_empty());
            Err(Failure::new(format!(
                "ncu: {e} (it ended with: {})",
                last.unwrap_or("nothing").trim()
            )))
        }
    }
}
