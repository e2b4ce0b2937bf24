//! Arguments of the command line as values, with what was expected where they are not.
use crate::fail::Failure;
use kerf_exec::cpu::SanitizeOptions;
use std::path::Path;

/// A size: `n=4096`.
pub fn parse_size(s: &str) -> Result<(String, i64), String> {
    const EXPECTED: &str = "expected NAME=NUMBER, e.g. n=4096";
    let (n, v) = s.split_once('=').ok_or(EXPECTED)?;
    if n.trim().is_empty() {
        return Err(format!("there is no name; {EXPECTED}"));
    }
    let v = v
        .trim()
        .parse()
        .map_err(|_| format!("`{v}` is not a 64-bit integer; {EXPECTED}"))?;
    Ok((n.trim().to_owned(), v))
}

/// Architectures that both clang 22 and LLVM's PTX backend know; an unknown one LLVM ignores with a
/// note, and compiles for another.
const ARCHITECTURES: &str = "sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_101 sm_101a sm_103 sm_103a sm_110 sm_110a sm_120 sm_120a sm_121 sm_121a";

/// An architecture.
pub fn parse_arch(s: &str) -> Result<String, String> {
    match ARCHITECTURES.split(' ').any(|a| a == s) {
        true => Ok(s.to_owned()),
        false => Err(format!("expected one of {ARCHITECTURES}")),
    }
}

/// Beyond this, starting the threads takes longer than any launch.
const MOST_THREADS: usize = 1024;

/// A number of threads.
pub fn parse_threads(s: &str) -> Result<usize, String> {
    s.parse()
        .ok()
        .filter(|n| *n <= MOST_THREADS)
        .ok_or_else(|| format!("expected a number from 0 (all cores) to {MOST_THREADS}"))
}

/// A seed.
pub fn parse_seed(s: &str) -> Result<u64, String> {
    s.parse()
        .map_err(|_| format!("expected an integer from 0 to {}", u64::MAX))
}

/// A number of 1 or more.
pub fn parse_count(s: &str) -> Result<usize, String> {
    s.parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| "expected a number of 1 or more".into())
}

/// Seconds that something may take.
pub fn parse_limit(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|t| (1e-3..1e9).contains(t))
        .ok_or_else(|| "expected seconds, from 0.001 to a billion, e.g. 60".into())
}

/// Seconds, 0 or more.
pub fn parse_window(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|t| (0.0..1e6).contains(t))
        .ok_or_else(|| "expected seconds, 0 or more, e.g. 5".into())
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
pub fn parse_lambda(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(l) if (0.0..=1.0).contains(&l) => Ok(l),
        _ => Err("expected a fraction from 0 to 1".into()),
    }
}

/// Checks that let some kinds of faults pass.
pub fn allowed(checks: SanitizeOptions, names: &[String]) -> Result<SanitizeOptions, Failure> {
    names.iter().try_fold(checks, |c, n| {
        c.allowing(n)
            .map_err(|why| Failure::new(format!("--allow: {why}")))
    })
}
