//! `kerf launch-table`, hidden: every shape of a workload's launches timed, one line of JSON each.
//!
//! The kernels run in this process: it is a tool for benchmarks.
use crate::fail::Failure;
use crate::output::say;
use crate::{DeviceArg, device};
use kerf_device::occupancy::Machine;
use kerf_tune::launch::table::{self, Options};
use std::path::PathBuf;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Workload file (.toml).
    workload: PathBuf,
    /// Where to run.
    #[arg(long, value_enum, default_value = "cuda")]
    device: DeviceArg,
    /// More shapes than the file lists.
    #[arg(long)]
    rich: bool,
    /// Multiples of the blocks that fill the device, sampled in every shape.
    #[arg(long, value_delimiter = ',', default_value = "2,3")]
    samples: Vec<u32>,
    /// More of them in the file's own shape.
    #[arg(long, value_delimiter = ',')]
    more: Vec<u32>,
    /// Shapes that are also compiled for their block.
    #[arg(long, default_value_t = 0)]
    fixed: usize,
    /// Compare outputs with those of the file's own shape.
    #[arg(long)]
    check: bool,
    /// Replace a size or launch parameter: n=4096.
    #[arg(long = "size", value_parser = crate::parse_size)]
    sizes: Vec<(String, i64)>,
    /// Profile whose limits shapes are held to.
    #[arg(long, default_value = "h200")]
    profile: String,
}

/// Runs the command.
pub fn run(a: Args) -> Result<i32, Failure> {
    crate::in_utf8(&a.workload)?;
    let profile = device::load(&a.profile)?;
    let machine = Machine::of(&profile).map_err(|e| Failure::new(e.to_string()))?;
    let cuda = a.device == DeviceArg::Cuda;
    let job = crate::tune::job(a.workload, a.sizes, cuda, 0, 5, None)?;
    let o = Options {
        rich: a.rich,
        samples: a.samples,
        more: a.more,
        fixed: a.fixed,
        check: a.check,
    };
    let mut failed = None;
    table::table(&job, &o, &machine, &mut |row| {
        let text = serde_json::to_string(row).unwrap_or_default() + "\n";
        failed = failed.take().or(say(&text).err());
    })?;
    failed.map_or(Ok(0), Err)
}
