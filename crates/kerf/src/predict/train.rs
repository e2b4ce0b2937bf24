//! `kerf predict train`: the correction of sampled predictions, from a record of `bench/launch.sh`.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_device::sampled::train::{self, Judged};
use kerf_tune::launch::record;
use std::fmt::Write;
use std::path::PathBuf;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Record: a folder or files of timings (.jsonl, also gzipped), or a table (.csv) that this command wrote.
    #[arg(required = true)]
    record: Vec<PathBuf>,
    /// Device that the record is of.
    #[arg(long, default_value = "NVIDIA H200")]
    device: String,
    /// Write the model here.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write one line a launch here: features, measured and predicted times.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

fn write(path: &PathBuf, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", path.display())))
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let rows = record::read(&a.record).map_err(Failure::new)?;
    let all = record::instances(&rows);
    if all.len() < 10 {
        return Err(Failure::new(format!(
            "the record has {} launches that were sampled and measured whole; 10 are the least",
            all.len()
        ))
        .help("bench/launch.sh makes such a record"));
    }
    let judged: Vec<Judged> = train::judge(&all);
    let model = train::train(&a.device, &all, &judged);
    let classes = train::classes(&judged);
    if let Some(path) = &a.out {
        let text = serde_json::to_string(&model).map_err(|e| Failure::new(e.to_string()))?;
        write(path, &(text + "\n"))?;
    }
    if let Some(path) = &a.csv {
        let mut t = String::from(
            "kernel,launch,measured_s,linear_error,placed_error,corrected_error,sampling\n",
        );
        for j in &judged {
            let _ = writeln!(
                t,
                "{},\"{}\",{:e},{:.4},{:.4},{:.4},{:.4}",
                j.kernel, j.name, j.measured, j.linear, j.placed, j.corrected, j.sampling
            );
        }
        write(path, &t)?;
    }
    match format {
        Format::Json => {
            let v = serde_json::json!({
                "schema": "kerf.predict-train/1", "launches": model.launches, "kernels": model.kernels,
                "linear_error": model.linear_error, "error": model.error, "error_90": model.error_90,
                "classes": classes, "judged": judged,
            });
            say(&format!("{v:#}\n"))?;
        }
        Format::Human | Format::Csv => {
            let mut o = format!(
                "{} launches of {} kernels, each kernel predicted by a model that never saw it\n",
                model.launches, model.kernels
            );
            let mut t = Table::new(
                1,
                [
                    "error of the line",
                    "launches",
                    "line",
                    "by place",
                    "corrected",
                ],
            );
            for c in &classes {
                let percent = |x: f64| format!("{:.2} %", 100.0 * x);
                t.row([
                    c.name.clone(),
                    c.launches.to_string(),
                    percent(c.linear),
                    percent(c.placed),
                    percent(c.corrected),
                ]);
            }
            o += &t.render(style);
            let mut sampling: Vec<f64> = judged.iter().map(|j| j.sampling).collect();
            sampling.sort_by(f64::total_cmp);
            let mean = sampling.iter().sum::<f64>() / sampling.len().max(1) as f64;
            let _ = writeln!(
                o,
                "sampling takes {:.1} % of the whole launch in the mean, {:.1} % in the median; nine of ten corrected predictions are within {:.1} %",
                100.0 * mean,
                100.0 * sampling.get(sampling.len() / 2).copied().unwrap_or(0.0),
                100.0 * model.error_90
            );
            say(&o)?;
        }
    }
    Ok(0)
}
