//! Whose turn it is on a GPU that programs share.
//!
//! A program has the GPU while its kernels run, and others have it while host code works. It keeps the turn over short gaps, since
//! taking it for each of thousands of launches would mean waiting for others as often; after a while it lets those that wait go
//! first. A program that is timed from start to end keeps it from its first kernel on.
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A turn ends where no kernel runs for so long.
const IDLE: Duration = Duration::from_millis(5);

/// Who has the GPU for longer lets others go first, where any wait.
const LONGEST: Duration = Duration::from_millis(200);

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).truncate(false).write(true).open(path)
}

fn flock(file: &File, how: i32) {
    // SAFETY: a file of ours. Without the lock times are less exact, which is no reason to fail.
    unsafe { libc::flock(file.as_raw_fd(), how) };
}

/// Waits for the lock of a file. Who waits holds a second one, so that those who gave it back and want it again at once come
/// after.
fn lock_in_order(path: &Path, file: &File, how: i32) {
    let next = open(&path.with_extension("next")).ok();
    if let Some(next) = &next {
        flock(next, libc::LOCK_EX);
    }
    flock(file, how);
}

/// Waits for this process's turn, which ends when the file is closed.
pub(crate) fn take_turn(path: &Path) -> Option<File> {
    let file = open(path).ok()?;
    lock_in_order(path, &file, libc::LOCK_EX);
    Some(file)
}

/// What is known of the turn.
struct TurnState {
    file: File,
    has_it: bool,
    /// Does a kernel run?
    busy: bool,
    taken: Instant,
    used: Instant,
}

impl TurnState {
    fn give(&mut self) {
        flock(&self.file, libc::LOCK_UN);
        self.has_it = false;
    }
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
        if s.has_it && !s.busy && s.used.elapsed() > IDLE {
            s.give();
        }
    }
}

impl GpuTurn {
    /// By the lock of a file; none where it cannot be opened.
    pub fn new(path: &Path, is_kept: bool) -> Option<GpuTurn> {
        let now = Instant::now();
        let state = Arc::new(Mutex::new(TurnState {
            file: open(path).ok()?,
            has_it: false,
            busy: false,
            taken: now,
            used: now,
        }));
        if !is_kept {
            let watched = state.clone();
            std::thread::spawn(move || watch(&watched));
        }
        Some(GpuTurn {
            path: path.to_owned(),
            state,
            is_kept,
        })
    }

    /// Does something that disturbs times, such as opening the device, while nobody has a turn; others may do the same.
    pub fn beside_others<R>(&self, f: impl FnOnce() -> R) -> R {
        let s = locked(&self.state);
        lock_in_order(&self.path, &s.file, libc::LOCK_SH);
        let r = f();
        flock(&s.file, libc::LOCK_UN);
        r
    }

    /// Before a kernel: waits until no other program has the GPU.
    pub fn take(&self) {
        let mut s = locked(&self.state);
        if s.has_it && !self.is_kept && s.taken.elapsed() > LONGEST {
            s.give();
        }
        if !s.has_it {
            lock_in_order(&self.path, &s.file, libc::LOCK_EX);
            (s.has_it, s.taken) = (true, Instant::now());
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
        let file = open(path).expect("a file");
        // SAFETY: the file is open.
        unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
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
        let turn = GpuTurn::new(&path, false).expect("a turn");
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
        let turn = GpuTurn::new(&path, true).expect("a turn");
        turn.take();
        turn.kernel_ended();
        std::thread::sleep(4 * IDLE);
        assert!(!is_free(&path));
        drop(turn);
        assert!(is_free(&path));
    }
}
