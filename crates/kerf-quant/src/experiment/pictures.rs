//! Pictures of an experiment: accuracy, bits and steps over the epochs, and histograms, as figures 4.3, 4.5 and 4.6 of
//! Dao (2021) show them.
use super::folder::{make, write_text};
use super::{ExperimentError, RunResult};
use crate::plot::{Line, histogram, lines};
use crate::train::EpochRow;
use std::path::Path;

pub(super) fn write(folder: &Path, r: &RunResult) -> Result<(), ExperimentError> {
    let over = |name: String, rows: &[EpochRow], of: &dyn Fn(&EpochRow) -> f64| Line {
        name,
        points: rows.iter().map(|e| (e.epoch as f64, of(e))).collect(),
    };
    let accuracy: Vec<Line> = r
        .seeds
        .iter()
        .map(|s| {
            over(format!("seed {}", s.seed), &s.history, &|e| {
                100.0 * e.test.accuracy()
            })
        })
        .collect();
    let title = |what: &str| format!("{} on {}: {what}", r.recipe.network, r.recipe.data);
    let put = |name: &str, text: &str| write_text(&folder.join(name), text);
    put(
        "accuracy.svg",
        &lines(&title("test accuracy"), "epoch", "accuracy, %", &accuracy),
    )?;
    let Some(first) = r.seeds.first().filter(|_| !r.points.is_empty()) else {
        return Ok(());
    };
    let each = |of: &dyn Fn(&EpochRow, usize) -> f64| -> Vec<Line> {
        let points = r.points.iter().enumerate().filter(|(_, p)| !p.weight);
        points
            .map(|(i, p)| over(p.name.clone(), &first.history, &|e| of(e, i)))
            .collect()
    };
    let bits = each(&|e, i| e.bits.get(i).copied().unwrap_or(f64::NAN));
    put(
        "bits.svg",
        &lines(
            &title("bits of activations in training"),
            "epoch",
            "bits",
            &bits,
        ),
    )?;
    let step = |e: &EpochRow, i: usize| match e.steps.get(i) {
        Some(Some(s)) => f64::from(*s),
        _ => f64::NAN,
    };
    let steps = each(&step);
    put(
        "steps.svg",
        &lines(&title("steps of activations"), "epoch", "step", &steps),
    )?;
    let pictures = folder.join("histograms");
    for (p, h) in r.points.iter().zip(&first.histograms) {
        if let Some(h) = h {
            make(&pictures)?;
            let name = p.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            let text = histogram(&format!("{}: {}", title("values"), p.name), h);
            write_text(&pictures.join(format!("{name}.svg")), &text)?;
        }
    }
    Ok(())
}
