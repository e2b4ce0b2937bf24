//! `kerf device`: measures this GPU into a profile.
use crate::fail::Failure;
use crate::output::{Format, Style};
use std::path::PathBuf;

/// What to measure, and where the profile goes.
#[derive(clap::Args)]
pub struct Options {
    /// Write the profile to this file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Measure in under a minute: fewer operations, repeats and arguments.
    #[arg(long)]
    pub quick: bool,
    /// Go on with the measurement that was interrupted, from what --out holds.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    pub gpu: i32,
}

/// Measures the GPU.
pub fn characterise(a: &Options, _format: Format, _style: Style) -> Result<i32, Failure> {
    kerf_exec::cuda::CudaExecutor::capability(a.gpu).map_err(|e| {
        Failure::new(format!("cannot measure a GPU: {e}")).help(
            "run this on a machine with an NVIDIA GPU; `kerf device show NAME` shows a profile that comes with Kerf",
        )
    })?;
    Err(Failure::new("measuring is not part of this build")
        .help("`kerf device list` names the profiles that come with Kerf"))
}
