//! `kerf quantize infer`: a trained network in integers, by ONNX Runtime, beside itself in FP32.
use super::opened::{DataArgs, fits, trained};
use super::train::percent;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use kerf_quant::engine::{EngineError, OnnxEngine, load};
use kerf_quant::interval::of_part;
use kerf_quant::onnx::{OnnxSource, export};
use kerf_quant::train::evaluate;
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// Samples that are executed at once.
const BATCH: usize = 100;

/// Arguments.
#[derive(clap::Args)]
pub struct InferArgs {
    /// Folder that kerf quantize train made.
    folder: PathBuf,
    /// libonnxruntime.so; by default ORT_DYLIB_PATH, or that of the Python package onnxruntime.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Which seed; the first by default.
    #[arg(long, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: Option<u64>,
    /// Other data than that of training.
    #[arg(long)]
    data: Option<String>,
    #[command(flatten)]
    at: DataArgs,
}

impl From<EngineError> for Failure {
    fn from(e: EngineError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            EngineError::Library { .. } => {
                f.help("pip install onnxruntime, or name libonnxruntime.so with --library")
            }
            EngineError::Runtime(_) => f,
        }
    }
}

/// The library: as named, or where Python has it.
fn library(given: &Option<PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(path) = given
        .clone()
        .or_else(|| std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from))
    {
        return Ok(path);
    }
    // Found, not imported: the package's own imports are not needed.
    let code = "import glob, importlib.util as u, os\n\
                folder = u.find_spec('onnxruntime').submodule_search_locations[0]\n\
                print(glob.glob(os.path.join(folder, 'capi', 'libonnxruntime.so*'))[0])";
    let out = Command::new("python3").args(["-c", code]).output().ok();
    let path = out
        .filter(|o| o.status.success())
        .and_then(|o| String::from_utf8(o.stdout).ok());
    path.map(|p| PathBuf::from(p.trim())).ok_or_else(|| {
        Failure::new("ONNX Runtime was not found").help(
            "pip install onnxruntime, or name libonnxruntime.so with --library or ORT_DYLIB_PATH",
        )
    })
}

fn median(mut v: Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v.get(v.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs it.
pub fn run(a: &InferArgs, format: Format, style: Style) -> Result<i32, Failure> {
    load(&library(&a.library)?)?;
    let mut t = trained(&a.folder, a.seed, &a.at)?;
    if t.model.points.is_empty() {
        return Err(Failure::new(
            "the network was trained without quantization: there are no integers to run",
        ));
    }
    let spec = a.data.as_deref().unwrap_or(&t.result.recipe.data);
    let (_, test) = a.at.open(spec)?;
    fits(&t.model, test.as_ref())?;
    let kerf_quant::graph::InputSpec::Reals(shape) = &t.model.input else {
        return Err(Failure::new("ONNX export is for networks of images"));
    };
    let read = |name: &str| t.backend.read(name).ok();
    let source = OnnxSource {
        graph: &t.graph,
        points: &t.model.points,
        decisions: &t.model.decisions,
        parameters: &read,
        notes: &[],
    };
    let plain = OnnxSource {
        points: &[],
        decisions: &[],
        ..source
    };
    let mut engines = [
        OnnxEngine::new(&export(&source)?, shape, a.at.threads)?,
        OnnxEngine::new(&export(&plain)?, shape, a.at.threads)?,
    ];
    let all: Vec<usize> = (0..test.len()).collect();
    let mut correct = [0u64; 2];
    let mut times: [Vec<f64>; 2] = Default::default();
    let classes = t.model.classes;
    for (number, part) in all.chunks(BATCH).enumerate() {
        let batch = test.batch(part, None)?;
        let Some(x) = batch.input.reals() else {
            continue;
        };
        for (i, e) in engines.iter_mut().enumerate() {
            if number == 0 {
                e.run(&x)?; // not timed
            }
            let clock = Instant::now();
            let y = e.run(&x)?;
            if part.len() == BATCH {
                times[i].push(clock.elapsed().as_secs_f64());
            }
            for (row, label) in y.chunks_exact(classes).zip(&batch.labels) {
                let best = row
                    .iter()
                    .enumerate()
                    .max_by(|a, b| a.1.total_cmp(b.1))
                    .map(|(k, _)| k as u32);
                correct[i] += u64::from(best == Some(*label));
            }
        }
    }
    let ratio = median(times[1].iter().zip(&times[0]).map(|(f, q)| f / q).collect());
    let [int8_s, fp32_s] = times.map(|v| median(v) / BATCH as f64);
    let count = test.len() as u64;
    let fake = evaluate(t.backend.as_mut(), test.as_ref(), &t.model.decisions)?;
    let [int8, fp32] = correct.map(|c| of_part(c, count));
    let points_apart = 100.0 * (correct[0] as f64 - fake.correct as f64).abs() / count as f64;
    if format == Format::Json {
        let all = json!({
            "schema": "kerf.quantize-infer/1",
            "data": test.name(),
            "count": count,
            "fake_quantized": {"correct": fake.correct},
            "int8": {"correct": correct[0], "accuracy": int8, "sample_s": int8_s},
            "fp32": {"correct": correct[1], "accuracy": fp32, "sample_s": fp32_s},
            "speedup": ratio,
            "percentage_points_apart": points_apart,
        });
        say(&format!("{all:#}\n"))?;
        return Ok(0);
    }
    let head = style.bold(&format!(
        "{} on {}, ONNX Runtime",
        t.model.network,
        test.name()
    ));
    let rate = |s: f64| format!("{:.0} images/s", 1.0 / s);
    say(&format!(
        "{head}\n  INT8            {}  {}\n  FP32            {}  {}\n  fake-quantized  {}\n  \
         INT8 {ratio:.2} times as fast as FP32 (median of {} batches of {BATCH}, in turn); accuracy {points_apart:.2} \
         points from the fake-quantized one\n",
        percent(&int8),
        rate(int8_s),
        percent(&fp32),
        rate(fp32_s),
        percent(&of_part(fake.correct, fake.count)),
        all.len() / BATCH,
    ))?;
    Ok(0)
}
