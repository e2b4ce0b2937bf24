//! Whose turn it is: any number of processes make ready at the same time, and while one of them uses the
//! device no other one does anything.
use super::super::JobError;
use std::fs::File;
use std::path::Path;

/// A share of the machine, or all of it; given back when dropped.
pub struct MachineShare {
    _lock: Option<File>,
}

impl MachineShare {
    /// Together with others that make ready. Without a file nobody is waited for.
    pub fn shared(file: Option<&Path>) -> Result<MachineShare, JobError> {
        take(file, File::lock_shared)
    }

    /// Alone: waits for all that make ready or measure.
    pub fn alone(file: Option<&Path>) -> Result<MachineShare, JobError> {
        take(file, File::lock)
    }
}

fn take(
    path: Option<&Path>,
    how: fn(&File) -> std::io::Result<()>,
) -> Result<MachineShare, JobError> {
    let Some(path) = path else {
        return Ok(MachineShare { _lock: None });
    };
    let fail = |e: std::io::Error| JobError::Input(format!("cannot lock {}: {e}", path.display()));
    let open = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let f = open.map_err(fail)?;
    how(&f).map_err(fail)?;
    Ok(MachineShare { _lock: Some(f) })
}
