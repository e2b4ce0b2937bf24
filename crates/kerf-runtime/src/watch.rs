//! Says so when a kernel on the CPU does not come on: there a thread that waits for another's store waits for ever.
use crate::process::say;
use kerf_exec::cpu::launch::progress;
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// So long without a new block, and a line is written, once for a launch.
const QUIET: Duration = Duration::from_secs(20);

/// The launch that runs: its number, and the kernel's name.
static RUNNING: Mutex<(u64, Option<String>)> = Mutex::new((0, None));

/// What was seen of a launch.
struct Seen {
    launch: u64,
    progress: u64,
    since: Instant,
    said: bool,
}

/// Is it time to say something of a launch?
fn is_due(seen: &mut Option<Seen>, launch: u64, progress: u64, now: Instant) -> bool {
    match seen {
        Some(s) if (s.launch, s.progress) == (launch, progress) => {
            let due = !s.said && now.duration_since(s.since) >= QUIET;
            s.said |= due;
            due
        }
        s => {
            let said = s.as_ref().is_some_and(|s| s.launch == launch && s.said);
            *s = Some(Seen {
                launch,
                progress,
                since: now,
                said,
            });
            false
        }
    }
}

fn watch() {
    let mut seen = None;
    loop {
        std::thread::sleep(QUIET / 8);
        let (launch, name) = RUNNING.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let Some(name) = name else {
            seen = None;
            continue;
        };
        if is_due(&mut seen, launch, progress(), Instant::now()) {
            say(&format!(
                "no block of {name} has ended for {} s; if a thread of it waits for what another thread or block stores, \
                 it waits for ever: the CPU runs them one after the other",
                QUIET.as_secs()
            ));
        }
    }
}

/// A kernel is launched.
pub fn begin(name: &str) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without it nothing is said, which is no reason to fail.
        let _ = std::thread::Builder::new()
            .name("kerf-watch".into())
            .spawn(watch);
    });
    let mut r = RUNNING.lock().unwrap_or_else(|e| e.into_inner());
    *r = (r.0 + 1, Some(name.to_owned()));
}

/// It has ended.
pub fn end() {
    RUNNING.lock().unwrap_or_else(|e| e.into_inner()).1 = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_that_stands_still_is_told_of_once() {
        let start = Instant::now();
        let at = |s: u64| start + Duration::from_secs(s);
        let mut seen = None;
        assert!(!is_due(&mut seen, 1, 5, at(0)));
        assert!(!is_due(&mut seen, 1, 5, at(19)));
        assert!(is_due(&mut seen, 1, 5, at(21)));
        assert!(!is_due(&mut seen, 1, 5, at(60)));
        // It went on, and stands again: that is known.
        assert!(!is_due(&mut seen, 1, 6, at(61)));
        assert!(!is_due(&mut seen, 1, 6, at(90)));
        // Another launch.
        assert!(!is_due(&mut seen, 2, 6, at(91)));
        assert!(is_due(&mut seen, 2, 6, at(112)));
    }

    #[test]
    fn blocks_that_end_are_progress() {
        let start = Instant::now();
        let mut seen = None;
        for s in 0..100 {
            let now = start + Duration::from_secs(s);
            assert!(!is_due(&mut seen, 1, s / 10, now));
        }
    }
}
