//! One file for each workload that has ended, or was stopped when only its calls were left, so that a run that was stopped
//! goes on.
use crate::fail::Failure;
use crate::files;
use kerf_run::job::NOT_YET;
use kerf_tune::tradeoff::Tradeoff;
use std::path::{Path, PathBuf};

fn folder(dir: &Path) -> PathBuf {
    dir.join("workloads")
}

fn name_of(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Writes a workload's result.
pub fn write(dir: &Path, t: &Tradeoff) -> Result<(), Failure> {
    let to = folder(dir).join(format!("{}.json", t.name));
    let fail = |e: std::io::Error| Failure::new(format!("cannot write {}: {e}", to.display()));
    std::fs::create_dir_all(folder(dir)).map_err(fail)?;
    let text = serde_json::to_string(t).map_err(|e| Failure::new(e.to_string()))?;
    files::write_whole(&to, &(text + "\n")).map_err(fail)
}

/// Results of an earlier run in the same folder, with the positions of their workloads. Without `resume` a
/// folder that has some is refused: two runs would be in one table.
pub fn read(
    dir: &Path,
    paths: &[PathBuf],
    resume: bool,
) -> Result<Vec<(usize, Tradeoff)>, Failure> {
    let mut all = Vec::new();
    for (i, path) in paths.iter().enumerate() {
        let from = folder(dir).join(format!("{}.json", name_of(path)));
        let Ok(text) = std::fs::read_to_string(&from) else {
            continue;
        };
        if !resume {
            return Err(Failure::new(format!("{} has results", dir.display()))
                .help("--resume goes on there; or choose another folder with --out"));
        }
        let t: Tradeoff = serde_json::from_str(&text).map_err(|e| {
            Failure::new(format!("{} is no result: {e}", from.display()))
                .help("delete it, and the workload is run again")
        })?;
        // What was stopped before its end is run again; until then the file is what there is.
        if t.swept.not_chosen.as_deref() != Some(NOT_YET) {
            all.push((i, t));
        }
    }
    Ok(all)
}
