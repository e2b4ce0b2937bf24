//! One file for each workload that has ended, or was stopped when only its calls were left, so that a run that was stopped
//! goes on.
use super::{TradeoffError, name_of};
use kerf_run::job::NOT_YET;
use kerf_tune::tradeoff::Tradeoff;
use std::path::{Path, PathBuf};

fn folder(dir: &Path) -> PathBuf {
    dir.join("workloads")
}

/// Writes a workload's result.
pub fn write(dir: &Path, t: &Tradeoff) -> Result<(), TradeoffError> {
    let to = folder(dir).join(format!("{}.json", t.name));
    let text = serde_json::to_string(t)?;
    std::fs::create_dir_all(folder(dir))
        .and_then(|()| kerf_files::write_whole(&to, &(text + "\n")))
        .map_err(|source| TradeoffError::Write { path: to, source })
}

/// Results of an earlier run in the same folder, with the positions of their workloads. Without `resume` a
/// folder that has some is refused: two runs would be in one table.
pub fn read(
    dir: &Path,
    paths: &[PathBuf],
    resume: bool,
) -> Result<Vec<(usize, Tradeoff)>, TradeoffError> {
    let mut all = Vec::new();
    for (i, path) in paths.iter().enumerate() {
        let from = folder(dir).join(format!("{}.json", name_of(path)));
        let Ok(text) = std::fs::read_to_string(&from) else {
            continue;
        };
        if !resume {
            return Err(TradeoffError::HasResults(dir.to_owned()));
        }
        let t: Tradeoff = serde_json::from_str(&text)
            .map_err(|source| TradeoffError::NoResult { path: from, source })?;
        // What was stopped before its end is run again; until then the file is what there is.
        if t.swept.not_chosen.as_deref() != Some(NOT_YET) {
            all.push((i, t));
        }
    }
    Ok(all)
}
