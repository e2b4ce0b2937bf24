//! How results are shown: human or JSON, with or without colour.
use crate::fail::Failure;
use crate::notes;
pub use crate::notes::{note, passing};
use std::io::{ErrorKind, IsTerminal, Write};

/// Writes a result to standard output. A reader that has seen enough (`| head`) is no failure; a full
/// disk is one.
pub fn say(text: &str) -> Result<(), Failure> {
    if notes::capture(|c| c.result += text) {
        return Ok(());
    }
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
                    && !crate::rank::is_rank()
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
