//! The lock of a folder: it goes with the process that has it, whatever ends that.
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the file that is locked. It holds the owner's process number and when it came, in seconds since 1970.
const FILE: &str = ".lock";

/// Why a folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error(
        "{folder} is in use by {owner}; help: wait for its end, or choose another folder with --out"
    )]
    Held {
        /// Folder.
        folder: String,
        /// Process and since when, as far as it is known.
        owner: String,
    },
    /// The file cannot be made or locked.
    #[error(
        "cannot lock {path}: {why}; help: check the folder's permissions, or choose another with --out"
    )]
    File {
        /// File.
        path: String,
        /// Why.
        why: String,
    },
}

/// A folder that no other process uses while this exists.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    _file: File,
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Best effort: a file that nobody holds is taken over.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A date and time in UTC, from seconds since 1970 (Howard Hinnant's civil_from_days).
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = match month < 10 {
        true => (month + 3, 0),
        false => (month - 9, 1),
    };
    let (h, m, s) = (rest / 3600, rest / 60 % 60, rest % 60);
    let year = era * 400 + year + next;
    format!("{year}-{month:02}-{date:02} {h:02}:{m:02}:{s:02} UTC")
}

/// What the file says of its owner.
fn owner(text: &str) -> String {
    let mut words = text.split_whitespace();
    let pid = words.next().and_then(|w| w.parse::<u32>().ok());
    let since = words.next().and_then(|w| w.parse::<u64>().ok());
    match (pid, since) {
        (Some(pid), Some(since)) => format!("process {pid}, since {}", utc(since)),
        // It was killed while it wrote, and another has come: or it is about to write.
        _ => "another process".into(),
    }
}

impl FolderLock {
    /// Takes a folder that exists.
    pub fn take(folder: &Path) -> Result<FolderLock, LockError> {
        let path = folder.join(FILE);
        let fail = |e: std::io::Error| LockError::File {
            path: path.display().to_string(),
            why: e.to_string(),
        };
        loop {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(fail)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::Error(e)) => return Err(fail(e)),
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let _ = file.read_to_string(&mut text);
                    return Err(LockError::Held {
                        folder: folder.display().to_string(),
                        owner: owner(&text),
                    });
                }
            }
            // The one before may have removed the file between its opening and its lock.
            let mine = file.metadata().map_err(fail)?;
            if std::fs::metadata(&path).is_ok_and(|m| m.ino() == mine.ino()) {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let since = now.map_or(0, |d| d.as_secs());
                file.set_len(0).map_err(fail)?;
                writeln!(file, "{} {since}", std::process::id()).map_err(fail)?;
                return Ok(FolderLock { path, _file: file });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_is_there() {
        let dir = tempfile::tempdir().expect("a folder");
        let first = FolderLock::take(dir.path()).expect("free");
        let text = FolderLock::take(dir.path()).expect_err("taken").to_string();
        let me = format!("in use by process {}, since 20", std::process::id());
        assert!(text.contains(&me) && text.contains("--out"), "{text}");
        drop(first);
        assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 0);
        drop(FolderLock::take(dir.path()).expect("free again"));
    }

    #[test]
    fn what_a_killed_process_left_does_not_count() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join(FILE), "4194304 1700000000\n").expect("written");
        FolderLock::take(dir.path()).expect("nobody holds it");
        assert_eq!(
            owner("7 1700000000\n"),
            "process 7, since 2023-11-14 22:13:20 UTC"
        );
        assert_eq!(owner(""), "another process");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        let missing = FolderLock::take(&dir.path().join("none")).expect_err("no folder");
        assert!(missing.to_string().contains("none/.lock"), "{missing}");
    }
}
