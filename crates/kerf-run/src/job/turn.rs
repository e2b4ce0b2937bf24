//! Whose turn it is on a GPU: any number of processes make ready at the same time, and while one of them measures no other
//! one does anything.
use super::report::JobSeconds;
use super::{Device, Job, JobError};
use std::fs::File;
use std::path::Path;
use std::time::Instant;

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

/// The GPU of a job for this process alone, among those that ask for it. What a job does on the CPU disturbs nobody.
pub(super) fn alone(job: &Job) -> Result<MachineShare, JobError> {
    let lock = job.lock.as_deref();
    MachineShare::alone(lock.filter(|_| job.device == Device::Cuda))
}

/// [`alone`], or the turn that was kept since the last step; waiting is told apart from work.
pub(super) fn kept_or_alone(
    kept: Option<MachineShare>,
    job: &Job,
    spent: &mut JobSeconds,
) -> Result<MachineShare, JobError> {
    if let Some(turn) = kept {
        return Ok(turn);
    }
    let clock = Instant::now();
    let turn = alone(job)?;
    spent.wait_s += clock.elapsed().as_secs_f64();
    Ok(turn)
}

/// Locks a file, after those that wait for it.
fn take(
    path: Option<&Path>,
    how: fn(&File) -> std::io::Result<()>,
) -> Result<MachineShare, JobError> {
    let Some(path) = path else {
        return Ok(MachineShare { _lock: None });
    };
    let fail = |e: std::io::Error| JobError::Input(format!("cannot lock {}: {e}", path.display()));
    Ok(MachineShare {
        _lock: Some(kerf_files::lock_in_turn(path, how).map_err(fail)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A process that takes turn after turn, each at once after the last, does not keep others out.
    #[test]
    fn who_waits_comes_before_who_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gpu.lock");
        let had = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                let _turn = MachineShare::alone(Some(&path)).expect("a turn");
                had.store(true, Ordering::SeqCst);
            });
            // Without the second lock this goes on for long: nothing lets the other thread in.
            let turns = std::iter::repeat_with(|| {
                let _turn = MachineShare::alone(Some(&path)).expect("a turn");
                std::thread::sleep(std::time::Duration::from_millis(1));
            });
            let taken = turns.take_while(|()| !had.load(Ordering::SeqCst)).count();
            assert!(taken < 20_000, "{taken} turns before the other had one");
        });
    }

    #[test]
    fn shares_are_taken_together_and_the_whole_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gpu.lock");
        let first = MachineShare::shared(Some(&path)).expect("a share");
        let second = MachineShare::shared(Some(&path)).expect("another");
        let file = File::open(&path).expect("the file");
        assert!(file.try_lock().is_err());
        drop((first, second));
        let whole = MachineShare::alone(Some(&path)).expect("all");
        assert!(file.try_lock_shared().is_err());
        drop(whole);
        assert!(file.try_lock().is_ok());
    }
}
