//! Failures as the user sees them: what, and what to do.
use crate::notes::note;
use kerf_clang::compile::CompileError;
use kerf_exec::ExecError;
use kerf_run::advice::advice;
use kerf_run::bundle::BundleError;
use kerf_run::job::JobError;

/// A line of a message longer than this is cut: it quotes a file that has no lines.
const LONGEST_LINE: usize = 1000;

/// A failure with exit code 2: bad input or a missing part.
#[derive(Debug)]
pub struct Failure {
    what: String,
    help: Option<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl Failure {
    /// The exit code of a command that failed.
    pub const EXIT_CODE: i32 = 2;

    /// Bad input or a missing part.
    pub fn new(what: impl Into<String>) -> Failure {
        Failure {
            what: what.into(),
            help: None,
        }
    }
    /// With advice.
    pub fn help(mut self, h: impl Into<String>) -> Failure {
        self.help = Some(h.into());
        self
    }
    /// What happened, and what to do about it, as they can be shown.
    pub fn message(&self) -> (String, Option<String>) {
        (printable(&self.what), self.help.as_deref().map(printable))
    }
    /// Prints it and gives the exit code.
    pub fn report(&self) -> i32 {
        let (what, help) = self.message();
        note(&format!("error: {what}"));
        if let Some(h) = help {
            note(&format!("help: {h}"));
        }
        Failure::EXIT_CODE
    }
}

/// Messages quote what files hold, which must not move the cursor or recolour the terminal.
fn printable(text: &str) -> String {
    let clean = |c: char| {
        if c.is_control() && c != '\t' {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    let line = |l: &str| {
        let mut short: String = l.chars().take(LONGEST_LINE).map(clean).collect();
        if l.chars().nth(LONGEST_LINE).is_some() {
            short.push_str("...");
        }
        short
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

impl From<CompileError> for Failure {
    fn from(e: CompileError) -> Failure {
        Failure::new(e.to_string()).help(advice(&e))
    }
}

impl From<ExecError> for Failure {
    fn from(e: ExecError) -> Failure {
        let f = Failure::new(e.to_string());
        match &e {
            ExecError::Missing { .. } => f.help("use --device cpu, or run on a machine with an NVIDIA GPU (kerf bundle packs what it needs)"),
            ExecError::Compile(_) => f.help("kerf inspect lists what a kernel uses that this device cannot run"),
            ExecError::Memory(_) => f.help("choose smaller sizes, e.g. --size n=4096"),
            _ => f,
        }
    }
}

impl From<JobError> for Failure {
    fn from(e: JobError) -> Failure {
        match e {
            JobError::Exec(e) => e.into(),
            JobError::Compile { message, help } => Failure {
                what: message,
                help,
            },
            JobError::Unsupported(_) => {
                Failure::new(e.to_string()).help("--device cuda runs it on a GPU")
            }
            other => Failure::new(other.to_string()),
        }
    }
}

impl From<BundleError> for Failure {
    fn from(e: BundleError) -> Failure {
        match e {
            BundleError::Compile(e) => e.into(),
            BundleError::Twice(_) => Failure::new(e.to_string())
                .help("give each workload once; rename one of two that have the same name"),
            BundleError::File { .. } => {
                Failure::new(e.to_string()).help("check the path and its permissions")
            }
            BundleError::Workload(_) | BundleError::Variants(_) => Failure::new(e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_bytes_do_no_harm() {
        assert_eq!(
            printable("a\x1b[31mb\tc\nd\0"),
            "a\u{fffd}[31mb\tc\nd\u{fffd}"
        );
        assert_eq!(printable(&"x".repeat(5000)).len(), LONGEST_LINE + 3);
    }
}
