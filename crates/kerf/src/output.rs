//! How results are shown: human or JSON, with or without colour.
use crate::fail::Failure;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes a result to standard output. A reader that has seen enough (`| head`) is no failure; a full
/// disk is one.
pub fn say(text: &str) -> Result<(), Failure> {
    passing("");
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write the result: {e}"))
                .help("check where standard output goes, and the space there"))
        }
        _ => Ok(()),
    }
}

/// Whether a line that will be overwritten is on the terminal.
static PASSING: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard error, for people. That nobody can read it is no reason to stop.
pub fn note(text: &str) {
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

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// For programs: one JSON document, schema named in it.
    Json,
    /// For spreadsheets: lines of values (hardround, report --evaluations).
    Csv,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Colours, or not.
#[derive(Debug, Clone, Copy)]
pub struct Style(bool);

impl Style {
    /// By choice and terminal.
    pub fn new(c: Color) -> Style {
        Style(match c {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                std::env::var_os("NO_COLOR").is_none()
                    && std::io::stdout().is_terminal()
                    && !crate::cluster::is_rank()
            }
        })
    }
    fn paint(self, code: &str, s: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{s}\x1b[0m")
        } else {
            s.to_owned()
        }
    }
    /// Something that is as it should be.
    pub fn good(self, s: &str) -> String {
        self.paint("32", s)
    }
    /// Something wrong.
    pub fn bad(self, s: &str) -> String {
        self.paint("31", s)
    }
    /// A heading.
    pub fn bold(self, s: &str) -> String {
        self.paint("1", s)
    }
    /// Less important.
    pub fn dim(self, s: &str) -> String {
        self.paint("2", s)
    }
}
