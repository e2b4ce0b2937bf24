//! `kerf device occupancy`: one launch, or a curve over block sizes.
use super::load;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::parse::{ArgumentError, parse_if};
use crate::table::Table;
use kerf_device::occupancy::{
    Demand, Multiprocessor, Occupancy, OccupancyError, OccupancyLimit, WARP, best,
};
use serde_json::json;

/// Width of a bar at full occupancy.
const BAR: usize = 32;

/// What the kernel needs.
#[derive(clap::Args)]
pub struct Args {
    /// Compute capability (9.0), card (h100), name or file of a profile.
    #[arg(long, value_name = "ARCH")]
    arch: String,
    /// Registers per thread (`ptxas -v` tells).
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>)]
    regs: u32,
    /// Shared memory per block in bytes, static and dynamic.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 0,
        allow_negative_numbers = true,
        value_parser = whole::<u64>
    )]
    shared: u64,
    /// Threads per block; without it, every block size is shown.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>)]
    block: Option<u32>,
    /// Show every block size also when one is given.
    #[arg(long)]
    curve: bool,
    /// Preferred share of shared memory in the SM's memory, in percent.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = whole::<u32>)]
    carveout: Option<u32>,
}

fn whole<T: std::str::FromStr>(s: &str) -> Result<T, ArgumentError> {
    parse_if(s, |_| true, "a whole number, 0 or more, e.g. 64")
}

impl From<OccupancyError> for Failure {
    fn from(e: OccupancyError) -> Failure {
        let advice = match &e {
            OccupancyError::Block { .. } => "choose a block size in that range",
            OccupancyError::Registers { .. } => {
                "`ptxas -v` tells what a kernel uses; -maxrregcount or __launch_bounds__ lowers it"
            }
            OccupancyError::RegistersOfBlock { .. } => {
                "use smaller blocks, or fewer registers (-maxrregcount, __launch_bounds__)"
            }
            OccupancyError::Shared { .. } => "use less shared memory per block",
            OccupancyError::Carveout { .. } => "leave --carveout away",
            OccupancyError::Unknown { .. } => {
                "choose another profile: those from compute capability 3.5 up give all limits"
            }
        };
        Failure::new(e.to_string()).help(advice)
    }
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let p = load(&a.arch)?;
    let machine = Multiprocessor::from_profile(&p)?;
    let demand = Demand {
        registers: a.regs,
        shared: a.shared,
        carveout: a.carveout,
    };
    let launch = a.block.map(|b| machine.occupancy(demand, b)).transpose()?;
    let curve = machine.curve(demand)?;
    let shown = match launch.is_none() || a.curve {
        true => curve.as_slice(),
        false => &[],
    };
    let top = best(&curve);
    if format == Format::Json {
        let answer = json!({
            "schema": "kerf.occupancy/1",
            "profile": p.name,
            "arch": p.arch,
            "registers": a.regs,
            "shared": a.shared,
            "carveout": a.carveout,
            "warps_per_sm": machine.warps,
            "launch": launch,
            "curve": shown,
            "best": top,
        });
        say(&format!("{answer}\n"))?;
        return Ok(0);
    }
    let mut out = format!(
        "compute capability {} ({}): {} registers per thread, {} bytes of shared memory per block\n",
        p.arch, p.name, a.regs, a.shared
    );
    if let Some(o) = &launch {
        out += &one(o, &machine, style);
    }
    if !shown.is_empty() {
        out += &format!("\n{}", table(shown, style));
    }
    if let Some(t) = top {
        let same = curve.iter().filter(|o| o.warps == t.warps);
        let sizes: Vec<_> = same.map(|o| o.block.to_string()).collect();
        out += &format!(
            "\nhighest occupancy: {} at {} threads per block\n",
            percent(t),
            sizes.join(", ")
        );
    }
    say(&out)?;
    Ok(0)
}

fn percent(o: &Occupancy) -> String {
    format!("{:.0} %", 100.0 * o.occupancy)
}

fn limits(o: &Occupancy) -> String {
    let names: Vec<_> = o.limited_by.iter().map(OccupancyLimit::to_string).collect();
    names.join(", ")
}

fn one(o: &Occupancy, m: &Multiprocessor, style: Style) -> String {
    let mut t = Table::new(1, ["resource", "blocks", "of the SM", "of a block"]);
    for a in &o.allowed {
        let (all, each) = match a.resource {
            OccupancyLimit::Warps => (u64::from(m.warps), u64::from(o.block.div_ceil(WARP))),
            OccupancyLimit::Blocks => (u64::from(m.blocks), 1),
            OccupancyLimit::Registers => (u64::from(m.registers), o.registers_per_block),
            OccupancyLimit::SharedMemory => (u64::from(o.shared_of_sm), o.shared_per_block),
        };
        t.row([
            a.resource.to_string(),
            a.blocks.map_or("any".into(), |b| b.to_string()),
            all.to_string(),
            each.to_string(),
        ]);
    }
    format!(
        "{} threads per block: {} blocks, {} of {} warps on an SM: {}, limited by {}\n\n{}",
        o.block,
        o.blocks,
        o.warps,
        m.warps,
        style.bold(&format!("occupancy {}", percent(o))),
        style.bold(&limits(o)),
        t.render(style)
    )
}

fn table(curve: &[Occupancy], style: Style) -> String {
    let mut t = Table::new(0, ["threads", "blocks", "warps", "occupancy", ""]);
    for o in curve {
        let bar = "#".repeat((o.occupancy * BAR as f64).round() as usize);
        t.row([
            o.block.to_string(),
            o.blocks.to_string(),
            o.warps.to_string(),
            percent(o),
            format!("{bar:<BAR$}  {:<30}", limits(o)),
        ]);
    }
    t.render(style)
}
