//! Work that takes longer than a second, on standard error: a line that changes on a terminal, few lines
//! elsewhere, none with `--quiet`.
use crate::output::{note, passing};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

static QUIET: AtomicBool = AtomicBool::new(false);

/// What is shorter needs no word.
const SHORT: Duration = Duration::from_secs(1);
/// Where lines stay, the first comes after this, and the next ones each after three times as long.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// How often the line on a terminal changes.
const TICK: Duration = Duration::from_millis(200);
/// Characters of a bar.
const BAR: usize = 20;

/// Says whether progress is wanted; from the command line.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether progress is not wanted. Warnings and errors are.
pub fn quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Whether a line can be overwritten.
pub fn live() -> bool {
    !quiet() && std::io::stderr().is_terminal()
}

/// A line about progress that stays.
pub fn line(text: &str) {
    if !quiet() {
        note(text);
    }
}

/// A line about progress: on a terminal it takes the place of the last, elsewhere it stays.
pub fn status(text: &str) {
    match live() {
        true => passing(text),
        false => line(text),
    }
}

/// Takes the line of [`status`] away.
pub fn clear() {
    passing("");
}

/// A bar for a part from 0 to 1.
pub fn bar(part: f64) -> String {
    let full = (part.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR - full))
}

/// Seconds for a reader who waits.
pub fn about(seconds: f64) -> String {
    match seconds {
        s if s >= 5400.0 => format!("{:.1} h", s / 3600.0),
        s if s >= 90.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} s", s.ceil()),
    }
}

struct State {
    what: String,
    done: usize,
    /// How much there is; none if nobody knows.
    of: Option<usize>,
    begun: Instant,
    over: bool,
}

impl State {
    fn text(&self) -> String {
        let took = self.begun.elapsed().as_secs_f64();
        let Some(of) = self.of else {
            return format!("{}: {}", self.what, about(took));
        };
        let part = self.done as f64 / of.max(1) as f64;
        let mut text = format!(
            "{} {} of {of}: {}, {}",
            bar(part),
            self.done,
            self.what,
            about(took)
        );
        if self.done > 0 && self.done < of {
            text += &format!(", about {} left", about(took / part - took));
        }
        text
    }
}

/// Something that is being done. It shows itself once it takes long, and takes its line away at the end.
pub struct Work {
    shared: Arc<(Mutex<State>, Condvar)>,
    watcher: Option<JoinHandle<()>>,
}

fn locked(m: &Mutex<State>) -> MutexGuard<'_, State> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

/// Shows the state until it is over.
fn watch(shared: &(Mutex<State>, Condvar), live: bool) {
    let (state, ended) = shared;
    let (mut wait, mut shown) = (if live { SHORT } else { FIRST_LINE }, false);
    let mut s = locked(state);
    loop {
        let until = Instant::now() + wait;
        while !s.over && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            s = match ended.wait_timeout(s, left) {
                Ok((s, _)) => s,
                Err(e) => e.into_inner().0,
            };
        }
        if s.over {
            break;
        }
        match live {
            true => passing(&s.text()),
            false => note(&s.text()),
        }
        shown = true;
        wait = if live { TICK } else { wait * 3 };
    }
    if live && shown {
        passing("");
    }
}

impl Work {
    fn new(what: String, of: Option<usize>) -> Work {
        let state = State {
            what,
            done: 0,
            of,
            begun: Instant::now(),
            over: false,
        };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let watcher = (!quiet()).then(|| {
            let (shared, live) = (shared.clone(), live());
            std::thread::spawn(move || watch(&shared, live))
        });
        Work { shared, watcher }
    }

    /// Work of which nobody knows how long it takes.
    pub fn begin(what: impl Into<String>) -> Work {
        Work::new(what.into(), None)
    }

    /// Work in so many parts.
    pub fn in_parts(parts: usize, what: impl Into<String>) -> Work {
        Work::new(what.into(), Some(parts))
    }

    /// What is being done now.
    pub fn now(&self, what: impl Into<String>) {
        locked(&self.shared.0).what = what.into();
    }

    /// So many parts are done.
    pub fn done(&self, parts: usize) {
        locked(&self.shared.0).done = parts;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        locked(&self.shared.0).over = true;
        self.shared.1.notify_all();
        if let Some(w) = self.watcher.take() {
            // It only writes; there is nothing to do if it could not.
            let _ = w.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_times() {
        assert_eq!(bar(0.25), format!("[{}{}]", "#".repeat(5), "-".repeat(15)));
        assert_eq!(bar(7.0).matches('#').count(), BAR);
        let told: Vec<String> = [0.2, 89.0, 120.0, 7200.0].into_iter().map(about).collect();
        assert_eq!(told, ["1 s", "89 s", "2 min", "2.0 h"]);
    }

    #[test]
    fn a_part_says_what_is_left() {
        let mut s = State {
            what: "packing".into(),
            done: 1,
            of: Some(4),
            begun: Instant::now() - Duration::from_secs(10),
            over: false,
        };
        let text = s.text();
        assert!(
            text.contains("1 of 4: packing") && text.contains("left"),
            "{text}"
        );
        s.of = None;
        assert!(s.text().starts_with("packing: 1"), "{}", s.text());
    }

    #[test]
    fn it_ends_at_once() {
        let begun = Instant::now();
        drop(Work::in_parts(3, "nothing"));
        assert!(begun.elapsed() < FIRST_LINE);
    }
}
