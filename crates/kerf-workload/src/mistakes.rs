//! Mistakes in a workload file: where, what, what was expected instead, and what may help.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::Serialize;
use thiserror::Error;

/// More mistakes than this in one file are counted but not kept.
pub const MOST_KEPT: usize = 1000;

/// One mistake in a workload file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// The workload file.
    pub file: PathBuf,
    /// Line, from 1; 0 if the mistake is not in the file's text (a command-line override).
    pub line: usize,
    /// Column in characters, from 1; 0 with line 0.
    pub column: usize,
    /// Bytes of the file that are wrong.
    pub span: Range<usize>,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub expected: String,
    /// A suggestion.
    pub help: Option<String>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        write!(f, " {}; expected {}", self.what, self.expected)?;
        match &self.help {
            Some(help) => write!(f, "; help: {help}"),
            None => Ok(()),
        }
    }
}

/// All mistakes found in a file, in the order of the text; one line each when displayed.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[error("{}", self.report())]
pub struct Mistakes {
    /// The mistakes, at most [`MOST_KEPT`].
    pub list: Vec<Mistake>,
    /// How many further ones were found.
    pub more: usize,
}

impl Mistakes {
    /// No mistakes so far.
    pub fn none() -> Self {
        Mistakes {
            list: Vec::new(),
            more: 0,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a mistake.
    pub fn push(&mut self, mistake: Mistake) {
        if self.list.len() < MOST_KEPT {
            self.list.push(mistake);
        } else {
            self.more += 1;
        }
    }

    /// Puts the mistakes in the order of the text.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|m| (m.line > 0, m.span.start));
    }

    fn report(&self) -> String {
        let mut lines: Vec<String> = self.list.iter().map(Mistake::to_string).collect();
        if self.more > 0 {
            lines.push(format!("and {} more mistakes", self.more));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(line: usize) -> Mistake {
        Mistake {
            file: "w.toml".into(),
            line,
            column: line * 3,
            span: line * 10..line * 10 + 1,
            what: "unknown key `bufer`".into(),
            expected: "one of `source`, `buffer`".into(),
            help: Some("did you mean `buffer`?".into()),
        }
    }

    #[test]
    fn display() {
        assert_eq!(
            mistake(4).to_string(),
            "w.toml:4:12: unknown key `bufer`; expected one of `source`, `buffer`; \
             help: did you mean `buffer`?"
        );
        assert_eq!(
            Mistake {
                help: None,
                ..mistake(0)
            }
            .to_string(),
            "w.toml: unknown key `bufer`; expected one of `source`, `buffer`"
        );
    }

    #[test]
    fn sorted_and_bounded() {
        let mut all = Mistakes::none();
        for line in (0..MOST_KEPT + 5).rev() {
            all.push(mistake(line));
        }
        all.sort();
        assert_eq!(all.more, 5);
        assert!(all.list.is_sorted_by_key(|m| m.line));
        assert!(all.to_string().ends_with("and 5 more mistakes"));
    }
}
