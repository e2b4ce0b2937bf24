//! Files that are written whole or not at all.
use std::io::Write;
use std::path::Path;

/// The folder of a file that is to be written.
pub fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Writes a file under another name and renames it, so that it is whole or as it was.
pub fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
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
