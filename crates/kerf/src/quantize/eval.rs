//! `kerf quantize eval`: a trained network again, from its files.
use super::opened::{DataArgs, fits, trained};
use super::train::percent;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use kerf_quant::decision::Decision;
use kerf_quant::interval::of_part;
use kerf_quant::train::evaluate;
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct EvalArgs {
    /// Folder that kerf quantize train made.
    folder: PathBuf,
    /// Which seed; the first by default.
    #[arg(long, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: Option<u64>,
    /// Other data than that of training.
    #[arg(long)]
    data: Option<String>,
    #[command(flatten)]
    at: DataArgs,
}

/// Evaluates.
pub fn run(a: &EvalArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let mut t = trained(&a.folder, a.seed, &a.at)?;
    let spec = a.data.as_deref().unwrap_or(&t.result.recipe.data);
    let (_, test) = a.at.open(spec)?;
    fits(&t.model, test.as_ref())?;
    let points = &t.model.points;
    let pass: Vec<Decision> = points.iter().map(|p| Decision::pass(p.scheme)).collect();
    let full = evaluate(t.backend.as_mut(), test.as_ref(), &pass)?;
    let quantized = evaluate(t.backend.as_mut(), test.as_ref(), &t.model.decisions)?;
    let of = |s: &kerf_quant::backend::BatchScore| of_part(s.correct, s.count);
    if format == Format::Json {
        let all = json!({
            "schema": "kerf.quantize-eval/1",
            "data": test.name(),
            "quantized": {"score": quantized, "accuracy": of(&quantized)},
            "unquantized": {"score": full, "accuracy": of(&full)},
        });
        say(&format!("{all:#}\n"))?;
        return Ok(0);
    }
    let head = style.bold(&format!("{} on {}", t.model.network, test.name()));
    let mut text = format!("{head}\n");
    if !points.is_empty() {
        text += &format!(
            "  quantized    {}, loss {:.4}\n",
            percent(&of(&quantized)),
            quantized.loss
        );
    }
    text += &format!(
        "  unquantized  {}, loss {:.4}\n",
        percent(&of(&full)),
        full.loss
    );
    say(&text)?;
    Ok(0)
}
