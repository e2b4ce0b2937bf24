//! Arguments of the command line as values, with what was expected where they are not.
use crate::fail::Failure;
use kerf_exec::cpu::SanitizeOptions;
use kerf_tune::launch::tuners::UnknownFactor;
use std::borrow::Cow;
use std::path::Path;
use std::str::FromStr;

const SIZE: &str = "NAME=NUMBER, e.g. n=4096";

/// Why a word of the command line is no value of its option.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentError {
    /// Something else is expected.
    #[error("expected {0}")]
    Expected(Cow<'static, str>),
    /// A size without a name.
    #[error("there is no name; expected {SIZE}")]
    NoSizeName,
    /// A size that is no number.
    #[error("`{0}` is not a 64-bit integer; expected {SIZE}")]
    SizeNotInteger(String),
    /// Instructions that the processor does not have.
    #[error("this processor has {0}")]
    OtherIsa(String),
    /// No tuner.
    #[error(transparent)]
    Factor(#[from] UnknownFactor),
}

impl ArgumentError {
    /// Something else is expected.
    pub fn expected(what: impl Into<Cow<'static, str>>) -> ArgumentError {
        ArgumentError::Expected(what.into())
    }
}

/// A value that a condition holds for, or what is expected.
pub fn parse_if<T: FromStr>(
    s: &str,
    holds: impl Fn(&T) -> bool,
    expected: impl Into<Cow<'static, str>>,
) -> Result<T, ArgumentError> {
    let value = s.parse().ok().filter(holds);
    value.ok_or_else(|| ArgumentError::expected(expected))
}

/// A size: `n=4096`.
pub fn parse_size(s: &str) -> Result<(String, i64), ArgumentError> {
    let parts = s.split_once('=');
    let (n, v) = parts.ok_or_else(|| ArgumentError::expected(SIZE))?;
    if n.trim().is_empty() {
        return Err(ArgumentError::NoSizeName);
    }
    let value = v.trim().parse();
    let value = value.map_err(|_| ArgumentError::SizeNotInteger(v.to_owned()))?;
    Ok((n.trim().to_owned(), value))
}

/// Architectures that both clang 22 and LLVM's PTX backend know; an unknown one LLVM ignores with a
/// note, and compiles for another.
const ARCHITECTURES: &str = "sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_101 sm_101a sm_103 sm_103a sm_110 sm_110a sm_120 sm_120a sm_121 sm_121a";

/// An architecture.
pub fn parse_arch(s: &str) -> Result<String, ArgumentError> {
    let known = |s: &String| ARCHITECTURES.split(' ').any(|a| a == s);
    parse_if(s, known, format!("one of {ARCHITECTURES}"))
}

/// Beyond this, starting the threads takes longer than any launch.
const MOST_THREADS: usize = 1024;

/// A number of threads.
pub fn parse_threads(s: &str) -> Result<usize, ArgumentError> {
    let expected = format!("a number from 0 (all cores) to {MOST_THREADS}");
    parse_if(s, |n| *n <= MOST_THREADS, expected)
}

/// A seed.
pub fn parse_seed(s: &str) -> Result<u64, ArgumentError> {
    parse_if(s, |_| true, format!("an integer from 0 to {}", u64::MAX))
}

/// A number of 1 or more.
pub fn parse_count(s: &str) -> Result<usize, ArgumentError> {
    parse_if(s, |n| *n > 0, "a number of 1 or more")
}

/// Seconds that something may take.
pub fn parse_limit(s: &str) -> Result<f64, ArgumentError> {
    let expected = "seconds, from 0.001 to a billion, e.g. 60";
    parse_if(s, |t| (1e-3..1e9).contains(t), expected)
}

/// GiB of disk that something may have.
pub fn parse_gib(s: &str) -> Result<f64, ArgumentError> {
    parse_if(s, |g| (0.0..1e6).contains(g), "GiB, 0 or more, e.g. 4")
}

/// Seconds, 0 or more.
pub fn parse_window(s: &str) -> Result<f64, ArgumentError> {
    parse_if(s, |t| (0.0..1e6).contains(t), "seconds, 0 or more, e.g. 5")
}

/// A tolerance of `numpy.allclose`.
pub fn parse_closeness(s: &str) -> Result<f64, ArgumentError> {
    let expected = "a finite number, 0 or more, e.g. 1e-6";
    parse_if(s, |t: &f64| t.is_finite() && *t >= 0.0, expected)
}

/// Workers are told of files as text.
pub fn in_utf8(path: &Path) -> Result<(), Failure> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(
            Failure::new(format!("the name {} is not UTF-8", path.display()))
                .help("rename the file or folder"),
        ),
    }
}

/// A fraction of the warps.
pub fn parse_lambda(s: &str) -> Result<f64, ArgumentError> {
    parse_if(s, |l| (0.0..=1.0).contains(l), "a fraction from 0 to 1")
}

/// Checks that let some kinds of faults pass.
pub fn allowed(checks: SanitizeOptions, names: &[String]) -> Result<SanitizeOptions, Failure> {
    names.iter().try_fold(checks, |c, n| {
        c.allowing(n)
            .map_err(|why| Failure::new(format!("--allow: {why}")))
    })
}
