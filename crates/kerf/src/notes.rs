//! Lines for people on standard error.
use std::cell::RefCell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a line that will be overwritten is on the terminal.
static PASSING: AtomicBool = AtomicBool::new(false);

/// What a command would have written.
#[derive(Default)]
pub struct CapturedOutput {
    /// Its result.
    pub result: String,
    /// Lines for people.
    pub notes: Vec<String>,
}

thread_local! {
    static CAPTURED: RefCell<Option<CapturedOutput>> = const { RefCell::new(None) };
}

/// Gives what is written on this thread meanwhile, in place of writing it.
pub fn captured<T>(work: impl FnOnce() -> T) -> (T, CapturedOutput) {
    CAPTURED.with(|c| *c.borrow_mut() = Some(CapturedOutput::default()));
    let given = work();
    let written = CAPTURED.with(|c| c.borrow_mut().take());
    (given, written.unwrap_or_default())
}

/// Adds to what is captured on this thread; false where nothing is.
pub fn capture(add: impl FnOnce(&mut CapturedOutput)) -> bool {
    CAPTURED.with(|c| c.borrow_mut().as_mut().map(add).is_some())
}

/// Writes a line to standard error, for people. That nobody can read it is no reason to stop.
pub fn note(text: &str) {
    if capture(|c| c.notes.push(text.to_owned())) {
        return;
    }
    let clear = match PASSING.swap(false, Ordering::Relaxed) {
        true => "\r\x1b[K",
        false => "",
    };
    let _ = writeln!(std::io::stderr(), "{clear}{text}");
}

/// Puts a line on the terminal in place of the last one of this kind; an empty one takes it away.
pub fn passing(text: &str) {
    if PASSING.swap(!text.is_empty(), Ordering::Relaxed) || !text.is_empty() {
        // A line that is wrapped could not be overwritten.
        let columns = terminal_size::terminal_size_of(std::io::stderr());
        let columns = columns.map_or(80, |(w, _)| usize::from(w.0));
        let short: String = text.chars().take(columns.saturating_sub(1)).collect();
        let mut err = std::io::stderr().lock();
        // Clearing to the end of the line takes away what was longer.
        let _ = write!(err, "\r{short}\x1b[K");
        let _ = err.flush();
    }
}
