//! `kerf search race`: which of the fastest is the winner, by recorded repeats.
use super::{read, unusable};
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_search::exchange;
use kerf_search::race::{RacePlace, RaceRules, race_recorded};
use kerf_search::recorded::{RecordedSpace, json};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct RaceArgs {
    /// A cache of Kernel Tuner or T4, with the times of single runs; may be compressed (.gz).
    file: PathBuf,
    /// How many of the fastest take part.
    #[arg(long, default_value_t = 10, allow_negative_numbers = true, value_parser = super::parse_many)]
    top: usize,
    /// Repeats that each gets first.
    #[arg(long, default_value_t = 3, allow_negative_numbers = true, value_parser = super::parse_many)]
    first: usize,
    /// Repeats at most, for one of them.
    #[arg(long, default_value_t = 30, allow_negative_numbers = true, value_parser = super::parse_many)]
    most: usize,
}

pub fn run(a: &RaceArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let value = json(&read(&a.file)?).map_err(|e| unusable(&a.file, &e))?;
    let tuning = exchange::read(&value).map_err(|e| unusable(&a.file, &e))?;
    let tuning = tuning.ok_or_else(|| {
        Failure::new(format!("{} is no file of another tuner", a.file.display()))
            .help("a race needs the times of single runs: a cache of Kernel Tuner, or T4")
    })?;
    let space =
        RecordedSpace::from_tuning(&tuning, Some("time")).map_err(|e| unusable(&a.file, &e))?;
    let fastest = space.fastest(a.top);
    let samples: Vec<&[f64]> = fastest.iter().map(|(p, _)| space.samples(p)).collect();
    if samples.iter().any(|s| s.len() < 2) {
        return Err(Failure::new(format!(
            "{}: some of the fastest {} have no times of single runs",
            a.file.display(),
            fastest.len()
        ))
        .help("record `times` (Kernel Tuner) or `times.runtimes` (T4), two at least"));
    }
    let rules = RaceRules {
        first: a.first.max(2),
        most: a.most.max(a.first),
        ..RaceRules::default()
    };
    let standings = race_recorded(&samples, rules);
    let used: usize = standings.iter().map(|s| s.samples).sum();
    let ties = standings
        .iter()
        .filter(|s| s.place == RacePlace::Tie)
        .count();
    let name = |i: usize| tuning.configuration(fastest[i].0);
    match format {
        Format::Json => {
            let all: Vec<_> = standings
                .iter()
                .map(|s| serde_json::json!({ "configuration": name(s.candidate), "standing": s }))
                .collect();
            let v = serde_json::json!({
                "schema": "kerf.search-race/1",
                "space": space.name,
                "samples": used,
                "ties": ties,
                "standings": all,
            });
            say(&format!("{v}\n"))?;
        }
        Format::Human | Format::Csv => {
            let mut t = Table::new(1, ["configuration", "mean, ms", "95 %", "repeats", "place"]);
            for s in &standings {
                let place = match s.place {
                    RacePlace::Winner => "winner",
                    RacePlace::Tie => "tie",
                    RacePlace::Slower => "slower",
                };
                t.row([
                    name(s.candidate),
                    format!("{:.5}", s.mean),
                    format!("+-{:.5}", s.half),
                    s.samples.to_string(),
                    place.to_owned(),
                ]);
            }
            let verdict = match ties {
                0 => "one winner".to_owned(),
                n => format!("{n} cannot be told apart"),
            };
            say(&format!(
                "{}: {verdict}, {used} repeats\n\n{}",
                style.bold(&space.name),
                t.render(style)
            ))?;
        }
    }
    Ok(0)
}
