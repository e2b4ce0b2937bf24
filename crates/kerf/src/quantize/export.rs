//! `kerf quantize export`: a trained network as an ONNX file.
use super::opened::{DataArgs, trained};
use crate::fail::Failure;
use crate::output::{Format, say};
use kerf_quant::onnx::{self, ExportError, OnnxSource};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct ExportArgs {
    /// Folder that kerf quantize train made.
    folder: PathBuf,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    onnx: PathBuf,
    /// Without quantization: the same weights in FP32.
    #[arg(long)]
    fp32: bool,
    /// Which seed; the first by default.
    #[arg(long, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: Option<u64>,
    #[command(flatten)]
    at: DataArgs,
}

impl From<ExportError> for Failure {
    fn from(e: ExportError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            ExportError::Range(_) => f.help("let kerf quantize train finish (--resume goes on)"),
            _ => f,
        }
    }
}

/// Writes the file.
pub fn run(a: &ExportArgs, format: Format) -> Result<i32, Failure> {
    let t = trained(&a.folder, a.seed, &a.at)?;
    let quantized = !a.fp32 && !t.model.points.is_empty();
    let read = |name: &str| t.backend.read(name).ok();
    let mut notes = vec![
        ("network", t.model.network.clone()),
        ("data", t.result.recipe.data.clone()),
    ];
    // Whoever runs the file has to do the same to images.
    let formula = match &t.model.scaling {
        Some(s) if s.divisor == 1.0 => "(x - mean) / std".to_owned(),
        Some(s) => format!("(x / {} - mean) / std", s.divisor),
        None => "as in training".to_owned(),
    };
    notes.push(("input", formula.clone()));
    if let Some(s) = &t.model.scaling {
        notes.push(("mean", json!(s.mean).to_string()));
        notes.push(("std", json!(s.std).to_string()));
    }
    let source = OnnxSource {
        graph: &t.graph,
        points: if quantized { &t.model.points } else { &[] },
        decisions: if quantized { &t.model.decisions } else { &[] },
        parameters: &read,
        notes: &notes,
    };
    let bytes = onnx::export(&source)?;
    kerf_quant::files::write_whole(&a.onnx, &bytes)
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", a.onnx.display())))?;
    let opset = onnx::OPSET;
    if format == Format::Json {
        let all = json!({
            "schema": "kerf.quantize-export/1",
            "file": a.onnx.display().to_string(),
            "bytes": bytes.len(),
            "opset": opset,
            "quantized": quantized,
            "scaling": t.model.scaling,
        });
        say(&format!("{all:#}\n"))?;
        return Ok(0);
    }
    let what = if quantized {
        "uint8 activations, int8 weights"
    } else {
        "FP32"
    };
    let size = bytes.len() as f64 / 1e6;
    let input = match &t.model.scaling {
        Some(s) => format!("{formula}, mean {:?}, std {:?}", s.mean, s.std),
        None => formula,
    };
    say(&format!(
        "{}: {}, {what}, opset {opset}, {size:.2} MB\n  input  {input}\n",
        a.onnx.display(),
        t.model.network
    ))?;
    Ok(0)
}
