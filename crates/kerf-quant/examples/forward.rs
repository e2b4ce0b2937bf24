//! A network's weights and its result for given images, for comparison with PyTorch (`bench/quant/against_torch.py`).
//!
//! ```text
//! forward NETWORK FOLDER
//! ```
//!
//! Reads `FOLDER/theirs.safetensors` (weights) and `FOLDER/images.safetensors` (`images`, `[n, 3, 32, 32]`), writes
//! `ours.safetensors` (the weights again), `first.safetensors` (weights as they begin) and `logits.safetensors`.
use kerf_quant::backend::{Backend, Batch, BatchInput, Optimizer};
use kerf_quant::cpu::CpuBackend;
use kerf_quant::graph::InputSpec;
use kerf_quant::{networks, weights};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, network, folder] = &args[..] else {
        return Err("usage: forward NETWORK FOLDER".into());
    };
    let at = |name: &str| Path::new(folder).join(name);
    let graph = networks::by_name(network, &InputSpec::Reals(vec![3, 32, 32]), 10)?;
    let sgd = Optimizer::Sgd {
        momentum: 0.0,
        nesterov: false,
        weight_decay: 0.0,
    };
    let mut backend = CpuBackend::new(&graph, &[], sgd, 1, 0)?;
    weights::write(
        &at("first.safetensors"),
        &weights::from_backend(&graph, &backend)?,
    )?;
    weights::load(&at("theirs.safetensors"), &graph, &mut backend)?;
    weights::write(
        &at("ours.safetensors"),
        &weights::from_backend(&graph, &backend)?,
    )?;
    let given = weights::read(&at("images.safetensors"))?;
    let images = given.get("images").ok_or("there is no `images`")?;
    let rows = images.shape[0];
    let batch = Batch {
        rows,
        input: BatchInput::Reals(images.data.clone()),
        labels: vec![0; rows],
    };
    let logits = backend
        .evaluate(&batch, &[], true)?
        .logits
        .ok_or("no result")?;
    let all = [("logits".to_owned(), logits)].into_iter().collect();
    Ok(weights::write(&at("logits.safetensors"), &all)?)
}
