//! `kerf predict train`: the correction of sampled predictions, from a record of `bench/launch.sh`.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_predict::sampled::SampleCorrection;
use kerf_predict::sampled::counters;
use kerf_predict::sampled::train::{self, ByWaves, CrossValidated, ErrorClass, Instance};
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

/// The workload of a launch.
fn workload(i: &Instance) -> String {
    i.name.split(' ').next().unwrap_or_default().to_owned()
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

/// Leaves the launches that have counters, with them; gives the same without.
fn with_counters(all: &mut Vec<Instance>, files: &[PathBuf]) -> Result<Vec<Instance>, Failure> {
    let mut tables = Vec::new();
    for f in files {
        tables.push((f.file_stem(), super::counters::read(f)?));
    }
    // Workloads share names of kernels, in other formats: a table that is named after one is for that one.
    let names: Vec<String> = all.iter().map(workload).collect();
    let found = |i: &mut Instance| {
        let mine = workload(i);
        let mut fitting = tables.iter().filter(|(stem, _)| {
            let named = |n: &String| stem.is_some_and(|s| s == n.as_str());
            named(&mine) || !names.iter().any(named)
        });
        let c =
            fitting.find_map(|(_, t)| counters::find(t, &[&i.kernel], i.block, i.grid).copied());
        i.samples.counters = c;
        c.is_some()
    };
    all.retain_mut(found);
    let mut plain = all.clone();
    plain.iter_mut().for_each(|i| i.samples.counters = None);
    Ok(plain)
}

/// One line a launch.
fn csv(judged: &[CrossValidated]) -> String {
    let mut t = String::from(
        "kernel,launch,waves,measured_s,linear_error,placed_error,corrected_error,sampling\n",
    );
    for j in judged {
        let _ = writeln!(
            t,
            "{},\"{}\",{:.1},{:e},{:.4},{:.4},{:.4},{:.4}",
            j.kernel, j.name, j.waves, j.measured, j.linear, j.placed, j.corrected, j.sampling
        );
    }
    t
}

/// A model, and how well it predicts what it never saw.
struct Trained {
    model: SampleCorrection,
    judged: Vec<CrossValidated>,
    classes: Vec<ErrorClass>,
    waves: Vec<ByWaves>,
    /// Classes of the same launches without counters, where those with them were asked for.
    without: Option<Vec<ErrorClass>>,
}

impl Trained {
    fn json(&self) -> serde_json::Value {
        let model = &self.model;
        serde_json::json!({
            "schema": "kerf.predict-train/1", "launches": model.launches, "kernels": model.kernels,
            "linear_error": model.linear_error, "error": model.error, "error_90": model.error_90,
            "classes": self.classes, "waves": self.waves, "without_counters": self.without, "judged": self.judged,
        })
    }

    fn human(&self, style: Style) -> String {
        let mut o = format!(
            "{} launches of {} kernels, each kernel predicted by a model that never saw it\n",
            self.model.launches, self.model.kernels
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
        for c in &self.classes {
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
        if let Some(c) = self.without.as_ref().and_then(|w| w.last()) {
            let _ = writeln!(
                o,
                "without counters the same launches are off by {:.2} %, corrected",
                100.0 * c.corrected
            );
        }
        o += &by_waves(&self.waves, style);
        let mut sampling: Vec<f64> = self.judged.iter().map(|j| j.sampling).collect();
        sampling.sort_by(f64::total_cmp);
        let mean = sampling.iter().sum::<f64>() / sampling.len().max(1) as f64;
        let _ = writeln!(
            o,
            "sampling takes {:.1} % of the whole launch in the mean, {:.1} % in the median; nine of ten corrected predictions are within {:.1} %",
            100.0 * mean,
            100.0 * sampling.get(sampling.len() / 2).copied().unwrap_or(0.0),
            100.0 * self.model.error_90
        );
        o
    }
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let mut all = recorded(&a.record)?;
    let without = match a.counters.is_empty() {
        true => None,
        false => Some(with_counters(&mut all, &a.counters)?),
    };
    if all.len() < 10 {
        return Err(Failure::new(format!(
            "the record has {} launches that were sampled and measured whole; 10 are the least",
            all.len()
        ))
        .help("kerf --format json predict W.toml --device cuda --check > W.json makes a launch of each kernel one of them"));
    }
    let judged: Vec<CrossValidated> = train::judge(&all);
    let trained = Trained {
        model: train::train(&a.device, &all, &judged),
        classes: train::classes(&judged),
        waves: train::by_waves(&judged, &kerf_tune::launch::sample::BOUNDS),
        without: without.map(|w| train::classes(&train::judge(&w))),
        judged,
    };
    if let Some(path) = &a.out {
        let text =
            serde_json::to_string(&trained.model).map_err(|e| Failure::new(e.to_string()))?;
        write(path, &(text + "\n"))?;
    }
    if let Some(path) = &a.csv {
        write(path, &csv(&trained.judged))?;
    }
    match format {
        Format::Json => say(&format!("{:#}\n", trained.json()))?,
        Format::Human | Format::Csv => say(&trained.human(style))?,
    }
    Ok(0)
}
