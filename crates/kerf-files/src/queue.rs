//! A file by whose lock processes take turns, in the order in which they ask.
use std::fs::File;
use std::path::Path;

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true).open(path)
}

/// Waits for the lock of a file, taken by [`File::lock`] or [`File::lock_shared`], and had until the file is dropped. Who waits
/// for it holds a second one, so that a process which gives it back and wants it again at once comes after those that wait: the
/// system gives a lock to whom asks first when it is free.
pub fn lock_in_turn(path: &Path, how: fn(&File) -> std::io::Result<()>) -> std::io::Result<File> {
    let next = open(&path.with_extension("next"))?;
    next.lock()?;
    let file = open(path)?;
    how(&file)?;
    Ok(file)
}
