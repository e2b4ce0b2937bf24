//! Training from a program: cargo run -p kerf-quant --example train -- DATA-FOLDER OUT-FOLDER [METHOD|fp32] [EPOCHS]
use kerf_quant::backend::{Backend, BackendError, Optimizer};
use kerf_quant::cpu::CpuBackend;
use kerf_quant::data::open::open;
use kerf_quant::experiment::{Experiment, TrainingRecipe};
use kerf_quant::graph::Graph;
use kerf_quant::points::{Policy, QuantizationPoint};
use kerf_quant::steering::QuantizationSettings;
use kerf_quant::train::{TrainConfig, TrainEvent};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [data, out, rest @ ..] = all.as_slice() else {
        return Err("give a folder with data and one for results".into());
    };
    let method = rest.first().map_or("max", String::as_str);
    let epochs = rest.get(1).map_or(Ok(1), |e| e.parse())?;
    let (train, test) = open(data, Path::new("."), 0)?;
    let recipe = TrainingRecipe {
        network: "small-cnn".into(),
        data: data.clone(),
        policy: (method != "fp32").then(Policy::default),
        settings: QuantizationSettings {
            method: if method == "fp32" { "max" } else { method }.into(),
            ..QuantizationSettings::default()
        },
        train: TrainConfig {
            epochs,
            ..TrainConfig::default()
        },
        held_out: 0.0,
        cutout: 0,
        start: None,
    };
    let make = |g: &Graph,
                p: &[QuantizationPoint],
                o: Optimizer,
                s: u64|
     -> Result<Box<dyn Backend>, BackendError> {
        Ok(Box::new(CpuBackend::new(g, p, o, s, 0)?))
    };
    let experiment = Experiment {
        recipe: &recipe,
        train: train.as_ref(),
        test: test.as_ref(),
        make: &make,
        folder: Path::new(out),
        start: None,
        resume: false,
    };
    let seed = experiment.seed(1, &mut |e| match e {
        TrainEvent::Steps {
            step, samples_s, ..
        } if step % 100 == 0 => {
            eprintln!("step {step}: {samples_s:.0} samples/s");
        }
        TrainEvent::Epoch { row, .. } => eprintln!(
            "epoch {}: test accuracy {:.2} %, {:.0} samples/s",
            row.epoch,
            100.0 * row.test.accuracy(),
            row.samples_s
        ),
        _ => {}
    })?;
    let result = experiment.finish(vec![seed])?;
    println!("{:.2} %", 100.0 * result.accuracy.mean);
    Ok(())
}
