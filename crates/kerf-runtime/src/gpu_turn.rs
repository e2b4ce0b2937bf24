//! Whose turn it is on a GPU that programs share.
//!
//! A program has the GPU while its kernels run, and others have it while host code works. It keeps the turn over short gaps, since
//! taking it for each of thousands of launches would mean waiting for others as often; after a while it lets those that wait go
//! first. A program that is timed from start to end keeps it from its first kernel on.
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A turn ends where no kernel runs for so long.
const IDLE: Duration = Duration::from_millis(5);

/// Who has the GPU for longer lets others go first, where any wait.
const LONGEST: Duration = Duration::from_millis(200);

/// Waits for this process's turn, which ends when the file is closed. Without the lock times are less exact, which is no reason
/// to fail.
pub(crate) fn take_turn(path: &Path) -> Option<File> {
    kerf_files::lock_in_turn(path, File::lock).ok()
}

/// What is known of the turn.
struct TurnState {
    /// The lock, while it is this program's turn.
    had: Option<File>,
    /// Does a kernel run?
    busy: bool,
    taken: Instant,
    used: Instant,
}

/// A program's turns on the GPU.
pub(crate) struct GpuTurn {
    path: PathBuf,
    state: Arc<Mutex<TurnState>>,
    /// Until the program ends, from its first kernel on.
    is_kept: bool,
}

fn locked(state: &Mutex<TurnState>) -> MutexGuard<'_, TurnState> {
    state.lock().unwrap_or_else(|e| e.into_inner())
}

/// Ends turns in which no kernel runs any more.
fn watch(state: &Mutex<TurnState>) {
    loop {
        std::thread::sleep(IDLE / 2);
        let mut s = locked(state);
        if !s.busy && s.used.elapsed() > IDLE {
            s.had = None;
        }
    }
}

impl GpuTurn {
    /// By the lock of a file.
    pub fn new(path: &Path, is_kept: bool) -> GpuTurn {
        let now = Instant::now();
        let state = Arc::new(Mutex::new(TurnState {
            had: None,
            busy: false,
            taken: now,
            used: now,
        }));
        if !is_kept {
            let watched = state.clone();
            std::thread::spawn(move || watch(&watched));
        }
        GpuTurn {
            path: path.to_owned(),
            state,
            is_kept,
        }
    }

    /// Does something that disturbs times, such as opening the device, while nobody has a turn; others may do the same.
    pub fn beside_others<R>(&self, f: impl FnOnce() -> R) -> R {
        let _shared = kerf_files::lock_in_turn(&self.path, File::lock_shared);
        f()
    }

    /// Before a kernel: waits until no other program has the GPU.
    pub fn take(&self) {
        let mut s = locked(&self.state);
        if !self.is_kept && s.taken.elapsed() > LONGEST {
            s.had = None;
        }
        if s.had.is_none() {
            s.had = take_turn(&self.path);
            s.taken = Instant::now();
        }
        s.busy = true;
    }

    /// Whether kernels are waited for, so that others may have the GPU after them.
    pub fn is_given(&self) -> bool {
        !self.is_kept
    }

    /// After a kernel that has ended.
    pub fn kernel_ended(&self) {
        let mut s = locked(&self.state);
        (s.busy, s.used) = (false, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the lock could be had at once.
    fn is_free(path: &Path) -> bool {
        File::open(path).is_ok_and(|f| f.try_lock().is_ok())
    }

    fn waits_until_free(path: &Path) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            if is_free(path) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    #[test]
    fn a_turn_ends_when_no_kernel_runs() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("turn");
        let turn = GpuTurn::new(&path, false);
        assert!(turn.beside_others(|| !is_free(&path)) && is_free(&path));
        turn.take();
        assert!(!is_free(&path), "a kernel runs");
        turn.take();
        turn.kernel_ended();
        assert!(waits_until_free(&path), "the kernel has ended");
        turn.take();
        assert!(!is_free(&path), "the next one runs");
    }

    #[test]
    fn a_turn_that_is_kept_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("turn");
        let turn = GpuTurn::new(&path, true);
        turn.take();
        turn.kernel_ended();
        std::thread::sleep(4 * IDLE);
        assert!(!is_free(&path));
        drop(turn);
        assert!(is_free(&path));
    }
}
