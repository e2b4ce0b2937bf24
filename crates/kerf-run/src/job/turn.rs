//! Processes that measure on one GPU take turns.
use super::{Device, Job, JobError};

/// The GPU for this process alone, among those that ask for it. Given back when dropped. What a job does on the CPU
/// disturbs nobody.
pub(super) fn alone(job: &Job) -> Result<Option<std::fs::File>, JobError> {
    let Some(path) = job.lock.as_ref().filter(|_| job.device == Device::Cuda) else {
        return Ok(None);
    };
    let fail = |e: std::io::Error| JobError::Input(format!("cannot lock {}: {e}", path.display()));
    let f = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(fail)?;
    f.lock().map_err(fail)?;
    Ok(Some(f))
}
