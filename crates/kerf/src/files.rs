//! Files that are written whole or not at all.
use std::io::Write;
use std::path::Path;

/// The folder of a file that is to be written.
pub fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Writes a file under another name and renames it, so that it is whole or as it was. What is there and no file, a
/// device or a pipe, is written to and stays what it is.
pub fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return std::fs::OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(text.as_bytes());
    }
    // What files have by default; a temporary one is its owner's alone. The mask of the user still
    // counts.
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .permissions(readable)
        .tempfile_in(folder(path))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|e| e.error)?;
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
}
