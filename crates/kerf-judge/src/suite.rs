//! Folders of candidates: each subfolder has an original, its workload and any number of candidates.
//!
//! `original.*` is the original's source, `candidate*.*` are candidates, `w.toml` is the workload. A candidate with another
//! launch has a workload file of its own beside it, of its name: `candidate_tiled.cu`, `candidate_tiled.toml`.
use kerf_clang::compile::Language;
use std::path::{Path, PathBuf};

/// The workload file of a subfolder.
pub const WORKLOAD: &str = "w.toml";

/// A candidate of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteEntry {
    /// Subfolder and file, for readers.
    pub name: String,
    /// The original's source.
    pub original: PathBuf,
    /// The workload, where there is one.
    pub workload: Option<PathBuf>,
    /// The candidate's source.
    pub candidate: PathBuf,
    /// Its own workload, where it has one.
    pub candidate_workload: Option<PathBuf>,
}

/// Why a folder is no suite.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A subfolder has candidates and not exactly one original.
    #[error("{path} has {count} files original.*, expected one")]
    Originals {
        /// The subfolder.
        path: PathBuf,
        /// How many there are.
        count: usize,
    },
    /// There are no candidates.
    #[error("{0} has no subfolder with files candidate*.*")]
    Empty(PathBuf),
}

fn listed(path: &Path) -> Result<Vec<PathBuf>, SuiteError> {
    let unreadable = |source| SuiteError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let entries = std::fs::read_dir(path).map_err(unreadable)?;
    let all: Result<Vec<PathBuf>, std::io::Error> = entries.map(|e| Ok(e?.path())).collect();
    let mut all = all.map_err(unreadable)?;
    all.sort();
    Ok(all)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Candidates of one subfolder.
fn entries_in(folder: &Path) -> Result<Vec<SuiteEntry>, SuiteError> {
    let sources: Vec<PathBuf> = listed(folder)?
        .into_iter()
        .filter(|p| p.is_file() && Language::from_path(p).is_some())
        .collect();
    let candidates: Vec<&PathBuf> = sources
        .iter()
        .filter(|p| stem(p).starts_with("candidate"))
        .collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let originals: Vec<&PathBuf> = sources.iter().filter(|p| stem(p) == "original").collect();
    let [original] = originals[..] else {
        return Err(SuiteError::Originals {
            path: folder.to_owned(),
            count: originals.len(),
        });
    };
    let existing = |p: PathBuf| p.is_file().then_some(p);
    let of_folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let entry = |c: &&PathBuf| SuiteEntry {
        name: format!("{of_folder}/{}", stem(c)),
        original: original.clone(),
        workload: existing(folder.join(WORKLOAD)),
        candidate: (*c).clone(),
        candidate_workload: existing(c.with_extension("toml")),
    };
    Ok(candidates.iter().map(entry).collect())
}

/// All candidates of a folder's subfolders, in the order of their names.
pub fn entries(folder: &Path) -> Result<Vec<SuiteEntry>, SuiteError> {
    let mut all = Vec::new();
    for sub in listed(folder)?.into_iter().filter(|p| p.is_dir()) {
        all.extend(entries_in(&sub)?);
    }
    match all.is_empty() {
        true => Err(SuiteError::Empty(folder.to_owned())),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_its_subfolders() {
        let dir = tempfile::tempdir().expect("a folder");
        let put = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "").expect("written");
        };
        assert!(matches!(entries(dir.path()), Err(SuiteError::Empty(_))));
        for name in [
            "b/original.cu",
            "b/w.toml",
            "b/candidate_2.cl",
            "b/candidate_1.cu",
            "b/candidate_1.toml",
            "a/original.cu",
            "a/candidate.cu",
            "c/notes.txt",
        ] {
            put(name);
        }
        let all = entries(dir.path()).expect("a suite");
        let names: Vec<&str> = all.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["a/candidate", "b/candidate_1", "b/candidate_2"]);
        assert!(all[0].workload.is_none() && all[1].workload.is_some());
        assert!(all[1].candidate_workload.is_some() && all[2].candidate_workload.is_none());
        put("a/original.cl");
        let two = entries(dir.path());
        assert!(matches!(two, Err(SuiteError::Originals { count: 2, .. })));
    }
}
