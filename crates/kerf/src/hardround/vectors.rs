//! `kerf hardround vectors`: a list as test vectors of a library's tests.
use super::{find, read_list};
use crate::fail::Failure;
use crate::files;
use crate::output::say;
use kerf_hardround::vectors::{TestHarness, test_vectors};
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct Args {
    /// A list of kerf hardround (.wc, .csv, .json, text).
    list: PathBuf,
    /// Whose tests read the vectors.
    #[arg(long = "for", value_enum, value_name = "HARNESS")]
    harness: HarnessArg,
    /// The function, where the list does not name it.
    #[arg(long)]
    function: Option<String>,
    /// Write them here; by default they are printed.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum HarnessArg {
    /// A .wc file, for src/binary64/FUNCTION/FUNCTION.wc; of x^N pairs for pow.
    CoreMath,
    /// A unit test, for libc/test/src/math.
    LlvmLibc,
}

/// Runs the command.
pub fn run(a: &Args) -> Result<i32, Failure> {
    let list = read_list(&a.list)?;
    let name = a.function.as_ref().or(list.function.as_ref());
    let name = name.ok_or_else(|| {
        Failure::new("the list does not say whose arguments it has")
            .help("name the function: --function exp")
    })?;
    let harness = match a.harness {
        HarnessArg::CoreMath => TestHarness::CoreMath,
        HarnessArg::LlvmLibc => TestHarness::LlvmLibc,
    };
    let text = test_vectors(harness, find(name)?, &list.arguments).map_err(|e| {
        Failure::new(format!("{}: {e}", a.list.display()))
            .help("choose another function or --for; a list has finite numbers")
    })?;
    match &a.out {
        None => say(&text)?,
        Some(path) => {
            super::show::check(path)?;
            files::write_whole(path, &text).map_err(|e| {
                Failure::new(format!("cannot write {}: {e}", path.display()))
                    .help("make room or choose another file")
            })?;
        }
    }
    Ok(0)
}
