//! `kerf device`: measure a GPU, and show, compare and use device profiles.
mod breakeven;
mod characterise;
mod diff;
mod list;
mod marks;
mod occupancy;
mod sfu;
mod show;
mod tables;

use crate::fail::Failure;
use crate::output::{Format, Style, note};
use kerf_device::bundled;
use kerf_device::profile::{DeviceProfile, ProfileError};
use kerf_workload::suggest;
use std::path::{Path, PathBuf};

/// A profile is some hundred kilobytes; what is larger than this is another file.
const LARGEST_PROFILE: u64 = 64 << 20;

/// Without a subcommand: measure this GPU.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_help_heading = "Profiles"
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    characterise: characterise::Options,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show a profile: latency, throughput and accuracy of each operation, limits, sources.
    Show(show::Args),
    /// List the profiles that come with Kerf.
    List,
    /// Compare two profiles, figure by figure.
    Diff(diff::Args),
    /// How many warps of a kernel a multiprocessor holds, and what limits them.
    Occupancy(occupancy::Args),
    /// Where f64, float2 (two f32 words) or double2 (two f64 words) wins.
    Breakeven(breakeven::Args),
    /// Compare the CPU executor's special-function unit with this GPU's, on all arguments.
    Sfu(sfu::Args),
}

/// Runs the command.
pub fn run(a: Args, format: Format, style: Style) -> Result<i32, Failure> {
    match a.command {
        None => characterise::characterise(&a.characterise, format, style),
        Some(Command::Show(a)) => show::run(&a, format, style),
        Some(Command::List) => list::run(format, style),
        Some(Command::Diff(a)) => diff::run(&a, format, style),
        Some(Command::Occupancy(a)) => occupancy::run(&a, format, style),
        Some(Command::Breakeven(a)) => breakeven::run(&a, format, style),
        Some(Command::Sfu(a)) => sfu::run(&a, format, style),
    }
}

/// The profile of a name or a file.
pub fn load(word: &str) -> Result<DeviceProfile, Failure> {
    if let Some(found) = bundled::find(word) {
        let p = found.bundled.load().map_err(|e| {
            Failure::new(format!(
                "the profile {} of this program: {e}",
                found.bundled.name
            ))
            .help("this is a mistake in Kerf; please report it")
        })?;
        if found.relative {
            note(&format!(
                "note: {word} is taken as {}: figures per multiprocessor hold for it; number of multiprocessors, clock and memory are those of {}",
                p.name,
                found.bundled.cards.join(", ")
            ));
        }
        return Ok(p);
    }
    let path = PathBuf::from(word);
    let looks_like_path = word.contains(std::path::MAIN_SEPARATOR) || word.ends_with(".json");
    match path.exists() || looks_like_path {
        true => read(&path),
        false => Err(unknown(word)),
    }
}

/// The names nearest to a mistyped one, at most three.
fn nearest(word: &str) -> Vec<&'static str> {
    let mut near: Vec<&'static str> = Vec::new();
    while near.len() < 3 {
        let others = bundled::words().filter(|w| !near.contains(w));
        match suggest::nearest(word, others) {
            Some(w) => near.push(w),
            None => break,
        }
    }
    near
}

fn unknown(word: &str) -> Failure {
    if bundled::canonical(word).starts_with("sm_") {
        let archs: Vec<_> = bundled::BUNDLED
            .iter()
            .filter_map(|b| b.name.strip_prefix("sm_"))
            .map(|n| format!("{}.{}", &n[..n.len() - 1], &n[n.len() - 1..]))
            .collect();
        return Failure::new(format!("compute capability {word} is not known")).help(format!(
            "known are {}, and older ones by name: `kerf device list`",
            archs.join(", ")
        ));
    }
    let near = match nearest(word).as_slice() {
        [] => String::new(),
        near => format!("did you mean {}? ", near.join(" or ")),
    };
    let names: Vec<_> = bundled::BUNDLED.iter().map(|b| b.name).collect();
    Failure::new(format!(
        "there is no profile {word:?}, nor a file of that name"
    ))
    .help(format!(
        "{near}Kerf has {}; `kerf device list` names the cards of each",
        names.join(", ")
    ))
}

/// Whether a text of the profile would steer the terminal that shows it.
fn steers(v: &serde_json::Value) -> bool {
    use serde_json::Value;
    let bad = |s: &str| s.chars().any(char::is_control);
    match v {
        Value::String(s) => bad(s),
        Value::Array(a) => a.iter().any(steers),
        Value::Object(o) => o.iter().any(|(k, v)| bad(k) || steers(v)),
        _ => false,
    }
}

fn read(path: &Path) -> Result<DeviceProfile, Failure> {
    let shown = path.display();
    let unreadable = |e: String| {
        Failure::new(format!("cannot read {shown}: {e}"))
            .help("check the path; `kerf device list` names the profiles that need no file")
    };
    let size = std::fs::metadata(path)
        .map_err(|e| unreadable(e.to_string()))?
        .len();
    if size > LARGEST_PROFILE {
        return Err(unreadable(format!(
            "{size} bytes is too large for a profile"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
    let p = DeviceProfile::parse(&text).map_err(|e| {
        let advice = match &e {
            ProfileError::Schema(_) | ProfileError::Malformed(_) => {
                "a profile is what `kerf device --out FILE` writes; docs/reference/profile.md describes it"
            }
            ProfileError::Version { .. } => {
                "make it anew on that GPU, or use a Kerf of the version that wrote it"
            }
            ProfileError::Field { .. } => "docs/reference/profile.md says what each field may hold",
        };
        Failure::new(format!("{shown}: {e}")).help(advice)
    })?;
    if serde_json::to_value(&p).is_ok_and(|v| steers(&v)) {
        return Err(
            Failure::new(format!("{shown}: a text in it holds control characters"))
                .help("docs/reference/profile.md says what each field may hold"),
        );
    }
    Ok(p)
}
