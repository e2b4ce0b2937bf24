//! Digests of content.
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// SHA-256 of bytes, in hex.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

/// A file that was changed so short a time ago may be changed again without another time of its last change: file systems
/// count in steps of some milliseconds.
const SETTLED: Duration = Duration::from_millis(20);

/// What a file is known by as long as it does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    place: (u64, u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileVersion {
    /// The version of a file; none where it was changed just now, so that a later version may look the same.
    pub fn new(m: &Metadata) -> Option<FileVersion> {
        let changed = Duration::new(m.ctime().max(0) as u64, m.ctime_nsec().max(0) as u32);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        if now.is_ok_and(|now| now < changed + SETTLED) {
            return None;
        }
        Some(FileVersion {
            place: (m.dev(), m.ino(), m.size()),
            modified: (m.mtime(), m.mtime_nsec()),
            changed: (m.ctime(), m.ctime_nsec()),
        })
    }
}

/// Files that are remembered, at most: a source has some four hundred headers.
const REMEMBERED: usize = 1 << 14;

static DIGESTS: Mutex<Option<HashMap<PathBuf, (FileVersion, String)>>> = Mutex::new(None);

/// SHA-256 of a file's content, in hex. A process reads each version of a file once: a source has hundreds of headers, which
/// all sources share.
pub fn sha256_of_file(path: &Path) -> std::io::Result<String> {
    let version = FileVersion::new(&std::fs::metadata(path)?);
    let all = || DIGESTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(version) = version
        && let Some((of, digest)) = all().as_ref().and_then(|known| known.get(path))
        && *of == version
    {
        return Ok(digest.clone());
    }
    let digest = sha256(&std::fs::read(path)?);
    if let Some(version) = version {
        let mut all = all();
        let known = all.get_or_insert_default();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(path.to_owned(), (version, digest.clone()));
    }
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_has_another_digest() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("f");
        let settle = || std::thread::sleep(SETTLED + Duration::from_millis(30));
        for text in ["one", "two", "six"] {
            // At once, after a while, and again.
            std::fs::write(&path, text).expect("written");
            for _ in 0..3 {
                let digest = sha256_of_file(&path).expect("read");
                assert_eq!(digest, sha256(text.as_bytes()));
                settle();
            }
        }
        // Another file in its place, of the same size.
        let other = dir.path().join("g");
        std::fs::write(&other, "ten").expect("written");
        std::fs::rename(&other, &path).expect("renamed");
        assert_eq!(sha256_of_file(&path).expect("read"), sha256(b"ten"));
        std::fs::remove_file(&path).expect("removed");
        assert!(sha256_of_file(&path).is_err());
    }
}
