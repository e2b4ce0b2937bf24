//! Files that are written whole or not at all, and folders that one process uses at a time.
//!
//! A reader sees what was there before or all of the new content, whatever happens to the writer: a full disk, a
//! read-only one, `kill -9`.
#![warn(missing_docs)]

mod lock;
mod queue;

pub use lock::{FolderLock, LockError};
pub use queue::lock_in_turn;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The folder of a file that is to be written.
pub fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Writes a file beside its place, to the disk, and renames it. What is there and no file, a device or a pipe, is
/// written to and stays what it is; so does a link, whose file is replaced.
pub fn write_whole(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
    write_whole_with(path.as_ref(), |f| f.write_all(bytes.as_ref()))
}

/// [`write_whole`] of what `content` writes.
pub fn write_whole_with(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        let mut device = File::options().write(true).open(path)?;
        return content(&mut device);
    }
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // What files have by default; a temporary one is its owner's alone. The mask of the user still
    // counts.
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .permissions(readable)
        .tempfile_in(folder(&real))
        // Without the name of the temporary file, which nobody knows.
        .map_err(|e| std::io::Error::from(e.kind()))?;
    let mut buffered = BufWriter::new(file.as_file_mut());
    content(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.as_file().sync_all()?;
    file.persist(real).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_stay_devices() {
        use std::os::unix::fs::FileTypeExt;
        let full = Path::new("/dev/full");
        let is_device = || std::fs::metadata(full).is_ok_and(|m| m.file_type().is_char_device());
        if is_device() {
            assert!(write_whole(full, "x").is_err());
            assert!(is_device());
        }
        assert!(write_whole(Path::new("/dev/null"), "x").is_ok());
    }

    #[test]
    fn the_temporary_name_is_nobodys_business() {
        let missing = write_whole("/none/result.json", "x").expect_err("no folder");
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
        assert!(!missing.to_string().contains(".tmp"), "{missing}");
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("result.json");
        write_whole(&path, "old").expect("written");
        let half = write_whole_with(&path, |f| {
            f.write_all(&[b'x'; 100_000])?;
            Err(std::io::ErrorKind::StorageFull.into())
        });
        assert!(half.is_err());
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "old");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 1);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("result.json", &link).expect("a link");
        write_whole(&link, "new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "new");
    }
}
