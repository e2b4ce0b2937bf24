//! `kerf quantize sensitivity`: each node quantized alone.
use super::opened::{DataArgs, fits, trained};
use super::progress::Progress;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_quant::bits::with_bits;
use kerf_quant::data::part::Part;
use kerf_quant::sensitivity::measure;
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct SensitivityArgs {
    /// Folder that kerf quantize train made, with quantization.
    folder: PathBuf,
    /// Bits to try; by default those of training.
    #[arg(long, allow_negative_numbers = true)]
    bits: Option<f64>,
    /// Nodes that lose more than this many percentage points alone are proposed to be kept.
    #[arg(
        long,
        default_value_t = 0.2,
        value_name = "POINTS",
        allow_negative_numbers = true
    )]
    keep_above: f64,
    /// Which seed; the first by default.
    #[arg(long, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: Option<u64>,
    /// Part of the training data to measure on, if training held none out.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true)]
    part: f64,
    #[command(flatten)]
    at: DataArgs,
}

/// Measures.
pub fn run(a: &SensitivityArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let mut t = trained(&a.folder, a.seed, &a.at)?;
    if t.model.points.is_empty() {
        return Err(Failure::new(format!(
            "{} was trained without quantization",
            a.folder.display()
        ))
        .help("train it with --bits 8 first: ranges of activations are known from that"));
    }
    if let Some(b) = a.bits.filter(|b| !(2.0..=8.0).contains(b)) {
        return Err(Failure::new(format!("--bits {b}: 2 to 8 are possible")));
    }
    let (all, _) = a.at.open(&t.result.recipe.data)?;
    fits(&t.model, all.as_ref())?;
    let held = t.result.recipe.held_out;
    let (_, data) = Part::split(all.as_ref(), if held > 0.0 { held } else { a.part });
    let bits = a
        .bits
        .map_or(t.model.bits.clone(), |b| vec![b; t.model.points.len()]);
    let decisions = with_bits(&t.model.decisions, &bits);
    let mut progress = Progress::default();
    let points = t.model.points.clone();
    let measured = measure(
        &t.graph,
        t.backend.as_mut(),
        &data,
        &points,
        &decisions,
        &mut |i, n| {
            progress.status(&format!("node {} of {n}", i + 1));
        },
    );
    progress.end();
    let (base, nodes) = measured?;
    let keep: Vec<&str> = nodes
        .iter()
        .filter(|n| n.drop_points > a.keep_above)
        .map(|n| n.node.as_str())
        .collect();
    if format == Format::Json {
        let all = json!({
            "schema": "kerf.quantize-sensitivity/1",
            "samples": base.count,
            "accuracy": base.accuracy(),
            "nodes": nodes,
            "keep": keep,
        });
        say(&format!("{all:#}\n"))?;
        return Ok(0);
    }
    let mut table = Table::new(1, ["node", "accuracy lost, points", "loss added"]);
    for n in &nodes {
        table.row([
            n.node.clone(),
            format!("{:.2}", n.drop_points),
            format!("{:.2e}", n.loss),
        ]);
    }
    let advice = match keep.is_empty() {
        true => format!("no node loses more than {} points alone\n", a.keep_above),
        false => {
            let all: Vec<String> = keep.iter().map(|k| format!("--keep {k}")).collect();
            format!(
                "kerf quantize train {} leaves the most sensitive as they are\n",
                all.join(" ")
            )
        }
    };
    say(&format!(
        "each node alone, on {} predictions of {}; {:.2} % without quantization\n\n{}\n{advice}",
        base.count,
        kerf_quant::data::Dataset::name(&data),
        100.0 * base.accuracy(),
        table.render(style)
    ))?;
    Ok(0)
}
