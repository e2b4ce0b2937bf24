//! `kerf device`: measures this GPU into a profile.
use super::show;
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress;
use crate::{files, toolchain};
use kerf_device::characterise::{
    CampaignMode, CharacteriseOptions as Work, Progress, characterise as measure,
};
use kerf_device::probe::Libraries;
use kerf_device::profile::DeviceProfile;
use kerf_exec::ExecError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What to measure, and where the profile goes.
#[derive(clap::Args)]
pub struct Options {
    /// Write the profile to this file. Until it is complete, what there is lies in FILE.partial.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Measure in under a minute: fewer repeats and arguments, no energy.
    #[arg(long)]
    pub quick: bool,
    /// Go on with a measurement that was interrupted, from FILE.partial.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Measure only these operations (`kerf device show` lists the names), separated by commas.
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Look at these arguments besides, in accuracy: a list of kerf hardround or of CORE-MATH, as FILE where the list
    /// names its function, otherwise as FUNCTION=FILE. For f64 functions of one argument; may be repeated.
    #[arg(long = "hard", value_name = "[FUNCTION=]FILE")]
    pub hard: Vec<String>,
    /// Name of the profile; the GPU's own by default.
    #[arg(long)]
    pub name: Option<String>,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    pub gpu: i32,
}

/// Days since 1970 as a date of the Gregorian calendar.
fn date(days: u64) -> String {
    let z = days as i64 + 719_468;
    let era = z.div_euclid(146_097);
    let day = z.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let m = (5 * in_year + 2) / 153;
    let d = in_year - (153 * m + 2) / 5 + 1;
    let month = if m < 10 { m + 3 } else { m - 9 };
    let y = year + era * 400 + i64::from(month <= 2);
    format!("{y:04}-{month:02}-{d:02}")
}

fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    date(seconds / 86_400)
}

/// The name of a GPU as a short word: `NVIDIA H200` is `h200`.
fn short(gpu: &str) -> String {
    let words: Vec<String> = gpu
        .split_whitespace()
        .filter(|w| !["NVIDIA", "GeForce", "Tesla"].contains(w))
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

fn partial(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// What an earlier measurement left, interrupted or not.
fn begun(a: &Options) -> Result<Option<DeviceProfile>, Failure> {
    let Some(path) = a.out.as_deref().map(partial) else {
        return Ok(None);
    };
    if !path.exists() {
        return match (&a.out, a.resume) {
            // It ended: what it has is not measured again.
            (Some(whole), true) if whole.exists() => super::read(whole).map(Some),
            (_, true) => {
                note(&format!(
                    "note: there is no {}; measuring from the beginning",
                    path.display()
                ));
                Ok(None)
            }
            (_, false) => Ok(None),
        };
    }
    if !a.resume {
        return Err(Failure::new(format!(
            "{} holds a measurement that was interrupted",
            path.display()
        ))
        .help("go on with it by --resume, or remove the file to begin anew"));
    }
    super::read(&path).map(Some)
}

/// One line that is written over on a terminal, and now and then a line elsewhere.
struct Ticker {
    terminal: bool,
    last: Option<Instant>,
}

impl Ticker {
    fn tell(&mut self, p: &Progress) {
        let line = format!(
            "{}{:3.0} %  {}{}",
            match self.terminal {
                true => progress::bar(p.done) + " ",
                false => String::new(),
            },
            p.done * 100.0,
            p.what,
            match p.left {
                l if l >= 1.0 => format!(", about {} left", time(l)),
                _ => String::new(),
            }
        );
        if self.terminal {
            progress::status(&line);
        } else if self
            .last
            .is_none_or(|t| t.elapsed() > Duration::from_secs(10))
        {
            progress::line(&line);
            self.last = Some(Instant::now());
        }
    }
    fn end(&self) {
        progress::clear();
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

/// Lists of hard arguments, by operation.
fn lists(given: &[String]) -> Result<Vec<(String, Vec<f64>)>, Failure> {
    let mut all = Vec::new();
    for g in given {
        let (function, file) = match g.split_once('=') {
            Some((f, file)) => (Some(f.to_owned()), file),
            None => (None, g.as_str()),
        };
        let list = crate::hardround::read_list(Path::new(file))?;
        let function = function.or(list.function).ok_or_else(|| {
            Failure::new(format!("{file} does not say whose arguments it has"))
                .help(format!("name the function: --hard exp={file}"))
        })?;
        let key = kerf_device::accuracy::takes_lists(&function).ok_or_else(|| {
            Failure::new(format!(
                "the accuracy of {function} on f64 arguments is not part of a profile"
            ))
            .help("kerf hardround check-libm checks it on a list")
        })?;
        all.push((key, list.arguments));
    }
    Ok(all)
}

/// Measures the GPU.
pub fn characterise(a: &Options, format: Format, style: Style) -> Result<i32, Failure> {
    let hard = lists(&a.hard)?;
    let missing = |e: ExecError| {
        Failure::new(format!("cannot measure a GPU: {e}")).help(
            "run this on a machine with an NVIDIA GPU; `kerf device show NAME` shows a profile that comes with Kerf",
        )
    };
    let capability = kerf_exec::cuda::CudaExecutor::capability(a.gpu).map_err(missing)?;
    for key in &a.only {
        if kerf_device::operation::find(key).is_none() {
            let all = kerf_device::operation::catalogue();
            let near = kerf_workload::suggest::nearest(key, all.iter().map(|o| o.key.as_str()));
            let hint = near.map_or(String::new(), |n| format!("did you mean {n}? "));
            return Err(Failure::new(format!("there is no operation {key:?}"))
                .help(format!("{hint}docs/reference/profile.md lists them")));
        }
    }
    let tools = toolchain::discover(&format!("sm_{capability}"));
    let lib = (tools.libdevice.as_ref())
        .ok_or_else(|| toolchain::no_libdevice("use a bundle, which brings it along"))?;
    let lib = std::fs::read(lib).map_err(|e| Failure::new(format!("{}: {e}", lib.display())))?;
    let disassembler = ["cuobjdump", "nvdisasm"]
        .iter()
        .find_map(|t| toolchain::find_tool(t, &tools));
    if disassembler.is_none() {
        note(
            "warning: neither cuobjdump nor nvdisasm was found: probes are not checked instruction by instruction",
        );
    }
    let begun = begun(a)?;
    let mode = if a.quick {
        CampaignMode::Quick
    } else {
        CampaignMode::Full
    };
    let gpu = kerf_exec::cuda::CudaExecutor::probe().map_err(missing)?;
    let gpu = gpu.split(" (").next().unwrap_or_default();
    if let Some(b) = &begun
        && (b.origin.mode != mode.name() || (!b.gpu.is_empty() && b.gpu != gpu))
    {
        return Err(Failure::new(format!(
            "the earlier measurement is a {} one of {}, this would be a {} one of {gpu}",
            b.origin.mode,
            b.gpu,
            mode.name()
        ))
        .help("use the same options on the same GPU, or another file (--out)"));
    }
    let work = Work {
        mode,
        ordinal: a.gpu,
        libraries: Libraries {
            libdevice: &lib,
            double_words: kerf_pass::doubleword::BITCODE,
        },
        disassembler,
        name: a.name.clone().unwrap_or_else(|| short(gpu)),
        date: today(),
        only: a.only.clone(),
        hard,
    };
    let mut store = |p: &DeviceProfile| match &a.out {
        None => Ok(()),
        Some(out) => files::write_whole(partial(out), p.to_json()).map_err(|e| ExecError::Device {
            what: format!("writing {}", partial(out).display()),
            why: e.to_string(),
        }),
    };
    let mut ticker = Ticker {
        terminal: progress::live(),
        last: None,
    };
    let result = measure(&work, begun, &mut store, &mut |p| ticker.tell(&p));
    ticker.end();
    let profile = result.map_err(|e| {
        let f = Failure::new(format!("the measurement broke off: {e}"));
        match &a.out {
            Some(_) => f.help("what was measured is kept; --resume goes on with it"),
            None => f,
        }
    })?;
    if let Some(out) = &a.out {
        let unwritable = |e: std::io::Error| {
            Failure::new(format!("cannot write {}: {e}", out.display()))
                .help("the profile is complete in the .partial file beside it")
        };
        std::fs::rename(partial(out), out).map_err(unwritable)?;
        note(&format!("wrote {}", out.display()));
    }
    match format {
        Format::Json => say(&profile.to_json())?,
        Format::Human | Format::Csv => say(&show::human(&profile, false, style))?,
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(20_772), "2026-11-15");
    }

    #[test]
    fn names() {
        assert_eq!(short("NVIDIA H200"), "h200");
        assert_eq!(short("NVIDIA GeForce RTX 4090"), "rtx-4090");
    }
}
