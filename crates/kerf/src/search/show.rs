//! `kerf search show`: what a recorded or described space holds.
use super::{read, unusable};
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_search::exchange::{self, Tuning, t1};
use kerf_search::recorded::{RecordedSpace, json};
use kerf_search::space::Space;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct ShowArgs {
    /// Kerf's search space, a cache of Kernel Tuner, T4 or T1; may be compressed (.gz).
    file: PathBuf,
    /// How many of the fastest to list.
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_parser = super::parse_many)]
    top: usize,
    /// What is optimised, in files of other tuners; `+NAME` where more is better, `-NAME` where less.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    objective: Option<String>,
}

pub fn run(a: &ShowArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let bytes = read(&a.file)?;
    let value = json(&bytes).map_err(|e| unusable(&a.file, &e))?;
    if value.get("ConfigurationSpace").is_some() {
        return described(&a.file, &value, format, style);
    }
    let tuning = match exchange::read(&value).map_err(|e| unusable(&a.file, &e))? {
        Some(t) => t,
        None => RecordedSpace::parse_for(&bytes, a.objective.as_deref())
            .map_err(|e| unusable(&a.file, &e))?
            .tuning(None),
    };
    recorded(a, &tuning, format, style)
}

fn params(space: &Space, style: Style) -> String {
    let mut t = Table::new(1, ["parameter", "values"]);
    for p in &space.params {
        let values: Vec<String> = p.values.iter().map(|v| v.name()).collect();
        t.row([p.name.clone(), values.join(", ")]);
    }
    t.render(style)
}

fn described(
    file: &Path,
    value: &serde_json::Value,
    format: Format,
    style: Style,
) -> Result<i32, Failure> {
    let d = t1::read(value).map_err(|e| unusable(file, &e))?;
    let points = d.space.points().map_err(|e| unusable(file, &e))?;
    let constraints: Vec<&str> = d
        .space
        .constraints
        .iter()
        .map(|c| c.text.as_str())
        .collect();
    match format {
        Format::Json => {
            let v = serde_json::json!({
                "schema": "kerf.search-show/1",
                "kernel": d.kernel,
                "parameters": d.space.params.len(),
                "constraints": constraints,
                "combinations": d.space.combinations(),
                "points": points.len(),
            });
            say(&format!("{v}\n"))?;
        }
        Format::Human | Format::Csv => {
            let mut out = format!(
                "{}: {} parameters, {} combinations, {} points\n\n{}",
                style.bold(&d.kernel),
                d.space.params.len(),
                d.space.combinations(),
                points.len(),
                params(&d.space, style)
            );
            for c in constraints {
                out += &format!("  constraint: {c}\n");
            }
            say(&out)?;
        }
    }
    Ok(0)
}

fn recorded(a: &ShowArgs, t: &Tuning, format: Format, style: Style) -> Result<i32, Failure> {
    let r =
        RecordedSpace::from_tuning(t, a.objective.as_deref()).map_err(|e| unusable(&a.file, &e))?;
    let failed = t.entries.iter().filter(|e| e.failed.is_some()).count();
    let fastest = r.fastest(a.top);
    match format {
        Format::Json => {
            let top: Vec<_> = fastest
                .iter()
                .map(|(p, time)| {
                    let value = serde_json::json!({
                        "configuration": t.configuration(p),
                        "time": time,
                    });
                    value
                })
                .collect();
            let v = serde_json::json!({
                "schema": "kerf.search-show/1",
                "kernel": t.kernel,
                "device": t.device,
                "objective": a.objective.as_deref().unwrap_or(&t.objective),
                "parameters": t.params.len(),
                "entries": t.entries.len(),
                "failed": failed,
                "fastest": top,
            });
            say(&format!("{v}\n"))?;
        }
        Format::Human | Format::Csv => {
            let mut out = format!(
                "{}: {} parameters, {} entries, {failed} of them failed\n\n{}\n",
                style.bold(&r.name),
                t.params.len(),
                t.entries.len(),
                params(&Space::new(t.params.clone()), style)
            );
            let best = r.optimum().unwrap_or(1.0);
            let mut table = Table::new(1, ["fastest", "over the first", "time"]);
            for (p, time) in fastest {
                let row = [
                    t.configuration(p),
                    format!("{:.3}", time / best),
                    format!("{time:.6}"),
                ];
                table.row(row);
            }
            out += &table.render(style);
            say(&out)?;
        }
    }
    Ok(0)
}
