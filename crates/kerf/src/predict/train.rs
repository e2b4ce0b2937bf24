//! `kerf predict train`: the correction of sampled predictions, from a record of `bench/launch.sh`.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_predict::sampled::train::{
    ByWaves, CounterTable, Instance, TrainedCorrection, TrainingError,
};
use kerf_tune::launch::record::{self, RecordError};
use std::fmt::Write;
use std::path::PathBuf;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Record: files of timings (.jsonl) or folders of such, and documents (.json) of `kerf --format json predict W.toml
    /// --device cuda --check`.
    #[arg(required = true)]
    record: Vec<PathBuf>,
    /// Hardware counters of the record's launches: tables of `ncu --csv`, each named after its workload (W.csv). The
    /// model is trained on launches that have counters, and compared with one that does without.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    counters: Vec<PathBuf>,
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
    kerf_files::write_whole(path, text)
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", path.display())))
}

fn by_waves(all: &[ByWaves], style: Style) -> String {
    let columns = [
        "waves",
        "launches",
        "line",
        "by place",
        "corrected",
        "sampling",
        "of all time",
    ];
    let mut t = Table::new(1, columns);
    let percent = |x: f64| format!("{:.2} %", 100.0 * x);
    for w in all {
        t.row([
            match w.to {
                Some(to) => format!("{}-{to}", w.from),
                None => format!("{} and more", w.from),
            },
            w.launches.to_string(),
            percent(w.linear),
            percent(w.placed),
            percent(w.corrected),
            percent(w.sampling),
            percent(w.sampling_total),
        ]);
    }
    t.render(style)
}

/// Launches of a record that were sampled and measured whole.
fn recorded(files: &[PathBuf]) -> Result<Vec<Instance>, Failure> {
    let document = |p: &&PathBuf| p.extension().is_some_and(|e| e == "json");
    let (documents, rows): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(document);
    let owned = |all: Vec<&PathBuf>| all.into_iter().cloned().collect::<Vec<_>>();
    let failed = |e: RecordError| Failure::new(e.to_string());
    let rows = record::read(&owned(rows)).map_err(failed)?;
    let mut all = record::instances(&rows);
    all.extend(record::checked(&owned(documents)).map_err(failed)?);
    Ok(all)
}

fn json(t: &TrainedCorrection) -> serde_json::Value {
    let model = &t.model;
    serde_json::json!({
        "schema": "kerf.predict-train/1", "launches": model.launches, "kernels": model.kernels,
        "linear_error": model.linear_error, "error": model.error, "error_90": model.error_90,
        "classes": t.classes, "waves": t.waves, "without_counters": t.without_counters, "judged": t.launches,
    })
}

fn human(t: &TrainedCorrection, style: Style) -> String {
    let mut o = format!(
        "{} launches of {} kernels, each kernel predicted by a model that never saw it\n",
        t.model.launches, t.model.kernels
    );
    let columns = [
        "error of the line",
        "launches",
        "line",
        "by place",
        "corrected",
    ];
    let mut table = Table::new(1, columns);
    for c in &t.classes {
        let percent = |x: f64| format!("{:.2} %", 100.0 * x);
        table.row([
            c.name.clone(),
            c.launches.to_string(),
            percent(c.linear),
            percent(c.placed),
            percent(c.corrected),
        ]);
    }
    o += &table.render(style);
    if let Some(c) = t.without_counters.as_ref().and_then(|w| w.last()) {
        let _ = writeln!(
            o,
            "without counters the same launches are off by {:.2} %, corrected",
            100.0 * c.corrected
        );
    }
    o += &by_waves(&t.waves, style);
    let (mean, median) = t.sampling_cost();
    let _ = writeln!(
        o,
        "sampling takes {:.1} % of the whole launch in the mean, {:.1} % in the median; nine of ten corrected predictions are within {:.1} %",
        100.0 * mean,
        100.0 * median,
        100.0 * t.model.error_90
    );
    o
}

/// Tables of hardware counters, each named after its file.
fn counter_tables(files: &[PathBuf]) -> Result<Vec<CounterTable>, Failure> {
    let mut out = Vec::new();
    for f in files {
        let stem = f.file_stem().unwrap_or_default();
        out.push(CounterTable {
            name: stem.to_string_lossy().into_owned(),
            launches: super::counters::read(f)?,
        });
    }
    Ok(out)
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let record = recorded(&a.record)?;
    let tables = counter_tables(&a.counters)?;
    let bounds = kerf_tune::launch::sample::BOUNDS;
    let trained = TrainedCorrection::train(&a.device, record, &tables, &bounds).map_err(|e| {
        let TrainingError::TooFew(_) = e;
        Failure::new(e.to_string())
            .help("kerf --format json predict W.toml --device cuda --check > W.json makes a launch of each kernel one of them")
    })?;
    if let Some(path) = &a.out {
        let text =
            serde_json::to_string(&trained.model).map_err(|e| Failure::new(e.to_string()))?;
        write(path, &(text + "\n"))?;
    }
    if let Some(path) = &a.csv {
        write(path, &trained.csv())?;
    }
    match format {
        Format::Json => say(&format!("{:#}\n", json(&trained)))?,
        Format::Human | Format::Csv => say(&human(&trained, style))?,
    }
    Ok(0)
}
