//! Many short trainings on one GPU, by several processes, each result written as soon as it is there.
//!
//! ```text
//! campaign DATA JOBS OUT WORKER SECONDS DEVICE
//! ```
//!
//! `JOBS` has a line a training: network, method (`fp32` for none), bits of weights and of activations, epochs, seed,
//! `sgd` or `adam`, `f32` or `f16`, and words: `batch=256`, `rate=0.1`, `tau=50`, `eta=4`, `threshold=1e-5`,
//! `fractional`, `cutout=8`, `images=25600` (the first ones only), `save=NAME` and `from=NAME` (weights, `OUT/NAME.safetensors`),
//! `plain` (also evaluated without quantization), `export` (as ONNX), `tuned` (cuDNN tries kernels), `planar` (see
//! `Torch::planar_depthwise`). Workers share the list by claiming lines in `OUT/claims`, first those whose `from` is
//! there; one stops where the next training would not end in time. Results go to `OUT/WORKER.jsonl`. A worker named
//! `NETWORK.N` takes lines of that network first: libraries load and cuDNN tries kernels once.
use kerf_quant::backend::Optimizer;
use kerf_quant::data::images::Images;
use kerf_quant::data::{Dataset, open};
use kerf_quant::decision::Decision;
use kerf_quant::experiment::{TrainingRecipe, prepare};
use kerf_quant::points::Policy;
use kerf_quant::steering::QuantizationSettings;
use kerf_quant::torch::{Arithmetic, Torch, device, try_kernels};
use kerf_quant::train::{Schedule, TrainConfig, TrainEvent, Trainer, evaluate};
use kerf_quant::{onnx, weights};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

/// Images that each epoch is watched with; the result is of all test images.
const WATCHED: usize = 1000;

struct Job {
    network: String,
    method: String,
    weight_bits: f64,
    activation_bits: f64,
    epochs: u64,
    seed: u64,
    adam: bool,
    half: bool,
    words: Vec<String>,
}

impl Job {
    fn parse(line: &str) -> Option<Job> {
        let f: Vec<&str> = line.split_whitespace().collect();
        Some(Job {
            network: f.first()?.to_string(),
            method: f.get(1)?.to_string(),
            weight_bits: f.get(2)?.parse().ok()?,
            activation_bits: f.get(3)?.parse().ok()?,
            epochs: f.get(4)?.parse().ok()?,
            seed: f.get(5)?.parse().ok()?,
            adam: *f.get(6)? == "adam",
            half: *f.get(7)? == "f16",
            words: f[8..].iter().map(|w| w.to_string()).collect(),
        })
    }
    fn word(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }
    fn text(&self, key: &str) -> Option<&str> {
        self.words
            .iter()
            .find_map(|w| w.strip_prefix(key)?.strip_prefix('='))
    }
    fn number(&self, key: &str) -> Option<f64> {
        self.text(key)?.parse().ok()
    }
    fn recipe(&self, batch: usize) -> TrainingRecipe {
        let optimizer = match self.adam {
            true => Optimizer::Adam {
                beta1: 0.9,
                beta2: 0.999,
                eps: 1e-8,
                weight_decay: 5e-4,
                decoupled: true,
            },
            false => Optimizer::Sgd {
                momentum: 0.9,
                nesterov: true,
                weight_decay: 5e-4,
            },
        };
        let quantized = self.method != "fp32";
        let mut settings = QuantizationSettings {
            weight_bits: self.weight_bits,
            activation_bits: self.activation_bits,
            // Trainings are some hundred steps long; published values are for some ten thousand.
            tau: self.number("tau").unwrap_or(20.0) as u64,
            eta: self.number("eta").unwrap_or(4.0) as u64,
            fractional: self.word("fractional"),
            ..QuantizationSettings::default()
        };
        if quantized {
            settings.method = self.method.clone();
        }
        if let Some(t) = self.number("threshold") {
            settings.numbers.threshold = t;
        }
        let rate = if self.adam { 2e-3 } else { 0.4 };
        TrainingRecipe {
            network: self.network.clone(),
            data: "cifar10".into(),
            policy: quantized.then(Policy::default),
            settings,
            train: TrainConfig {
                epochs: self.epochs,
                batch,
                rate: self.number("rate").unwrap_or(rate) as f32,
                schedule: Schedule::OneCycle { rise: 0.25 },
                optimizer,
                label_smoothing: 0.1,
                clip_norm: None,
                seed: self.seed,
            },
            held_out: 0.0,
            cutout: self.number("cutout").unwrap_or(0.0) as usize,
            start: None,
        }
    }
}

fn train(
    job: &Job,
    sets: &(Images, Images),
    dev: &str,
    out: &Path,
) -> Result<serde_json::Value, Failure> {
    let begun = Instant::now();
    let (data, test) = sets;
    let data = match job.number("images") {
        Some(n) => &data.clone().first(n as usize),
        None => data,
    };
    let data = &data
        .clone()
        .cutout(job.number("cutout").unwrap_or(0.0) as usize);
    let batch = job.number("batch").unwrap_or(512.0) as usize;
    let recipe = job.recipe(batch);
    let (graph, points, mut steering) = prepare(&recipe, &data.input(), data.classes())?;
    let arithmetic = if job.half {
        Arithmetic::F16
    } else {
        Arithmetic::F32
    };
    let mut backend = Torch::new(
        graph.clone(),
        points.clone(),
        recipe.train.optimizer,
        job.seed,
        device(dev)?,
        arithmetic,
    )?;
    try_kernels(job.word("tuned"));
    backend.planar_depthwise(job.word("planar"));
    let stored = |name: &str| out.join(format!("{name}.safetensors"));
    if let Some(name) = job.text("from") {
        weights::load(&stored(name), &graph, &mut backend)?;
    }
    let watched = test.clone().first(WATCHED);
    let mut rows = Vec::new();
    let mut watch = |e: &TrainEvent| {
        if let TrainEvent::Epoch { row, .. } = e {
            let (train, test) = (row.train.accuracy(), row.test.accuracy());
            let bits = row
                .bits
                .iter()
                .zip(&points)
                .filter(|(_, p)| !p.is_weight())
                .map(|(b, _)| *b);
            let (n, sum) = bits.fold((0, 0.0), |(n, s), b| (n + 1, s + b));
            rows.push(serde_json::json!({
                "train": train, "watched": test, "samples_s": row.samples_s, "loss": row.train.loss,
                "mean_bits": if n > 0 { sum / f64::from(n) } else { 32.0 },
            }));
        }
    };
    let trained = Trainer {
        graph: &graph,
        backend: &mut backend,
        steering: &mut steering,
        train: data,
        test: &watched,
        config: &recipe.train,
        checkpoint: None,
        checkpoint_s: f64::INFINITY,
        identity: String::new(),
    }
    .run(false, &mut watch);
    let error = trained.err().map(|e| e.to_string());
    let mut result = serde_json::json!({
        "network": job.network, "method": job.method, "weight_bits": job.weight_bits,
        "activation_bits": job.activation_bits, "epochs": job.epochs, "seed": job.seed,
        "optimizer": if job.adam { "adam" } else { "sgd" }, "arithmetic": if job.half { "f16" } else { "f32" },
        "batch": batch, "words": job.words, "history": rows, "error": error,
    });
    if error.is_none() {
        let decisions = steering.inference();
        let score = evaluate(&mut backend, test, &decisions)?;
        result["correct"] = score.correct.into();
        result["count"] = score.count.into();
        if job.word("plain") {
            let pass: Vec<Decision> = points.iter().map(|p| Decision::pass(p.scheme)).collect();
            let plain = evaluate(&mut backend, test, &pass)?;
            result["unquantized_correct"] = plain.correct.into();
        }
        if let Some(name) = job.text("save") {
            // Under its name only when it is whole: other workers wait for it.
            let part = out.join(format!("{name}.part"));
            weights::write(&part, &weights::from_backend(&graph, &backend)?)?;
            std::fs::rename(&part, stored(name))?;
        }
        if job.word("export") {
            let named = weights::from_backend(&graph, &backend)?;
            let read = |n: &str| named.get(n).cloned();
            let base = format!("{}-{}-{}", job.network, job.method, job.activation_bits);
            let notes = [(
                "normal",
                format!("{:?} {:?}", test.normal().mean, test.normal().std),
            )];
            let source = onnx::OnnxSource {
                graph: &graph,
                points: &points,
                decisions: &decisions,
                parameters: &read,
                notes: &notes,
            };
            std::fs::write(out.join(format!("{base}.onnx")), onnx::export(&source)?)?;
            let plain = onnx::OnnxSource {
                points: &[],
                decisions: &[],
                ..source
            };
            std::fs::write(out.join(format!("{base}.fp32.onnx")), onnx::export(&plain)?)?;
            let normal = serde_json::json!({"mean": test.normal().mean, "std": test.normal().std,
                "correct": score.correct, "count": score.count});
            std::fs::write(out.join(format!("{base}.json")), normal.to_string())?;
        }
    }
    result["wall_s"] = begun.elapsed().as_secs_f64().into();
    Ok(result)
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    let [_, data, jobs, out, worker, seconds, dev] = &args[..] else {
        return Err("usage: campaign DATA JOBS OUT WORKER SECONDS DEVICE".into());
    };
    let begun = Instant::now();
    let limit: f64 = seconds.parse()?;
    let out = Path::new(out);
    std::fs::create_dir_all(out.join("claims"))?;
    let (mut data, mut test) = open::images(data, Path::new("."))?;
    if let Ok(n) = std::env::var("CAMPAIGN_IMAGES") {
        let n: usize = n.parse()?;
        (data, test) = (data.first(n), test.first(n));
    }
    let sets = (data, test);
    let text = std::fs::read_to_string(jobs)?;
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(out.join(format!("{worker}.jsonl")));
    let mut log = log?;
    let mut epoch_s: BTreeMap<(String, String, String), f64> = BTreeMap::new();
    let jobs: Vec<(&str, Job)> = text
        .lines()
        .filter_map(|l| Some((l, Job::parse(l)?)))
        .collect();
    let mut done = vec![false; jobs.len()];
    loop {
        // The first line that is nobody's and can begin.
        let (mut next, mut waiting) = (None, false);
        let own = |j: &Job| worker.split('.').next() == Some(j.network.as_str());
        let all = || jobs.iter().enumerate();
        let order = all().filter(|(_, (_, j))| own(j));
        let order = order.chain(all().filter(|(_, (_, j))| !own(j)));
        for (i, (_, job)) in order {
            if done[i] {
                continue;
            }
            let kind = (
                job.network.clone(),
                job.method.clone(),
                format!("{}", job.half),
            );
            let part = job.number("images").unwrap_or(50_000.0) / 50_000.0;
            let need = epoch_s.get(&kind).copied().unwrap_or(0.0) * job.epochs as f64 * part;
            if begun.elapsed().as_secs_f64() + need > limit {
                continue;
            }
            let there = |name| out.join(format!("{name}.safetensors")).exists();
            if !job.text("from").is_none_or(there) {
                waiting = true;
                continue;
            }
            let claim = out.join("claims").join(format!("{i}"));
            let claim = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(claim);
            done[i] = true;
            if claim.is_ok() {
                next = Some((i, kind, part));
                break;
            }
        }
        let Some((i, kind, part)) = next else {
            if waiting {
                std::thread::sleep(std::time::Duration::from_millis(200));
                continue;
            }
            return Ok(());
        };
        let (line, job) = &jobs[i];
        let begin_s = begun.elapsed().as_secs_f64();
        let mut result = match train(job, &sets, dev, out) {
            Ok(r) => r,
            Err(e) => serde_json::json!({"line": line, "error": e.to_string()}),
        };
        result["job"] = i.into();
        result["begin_s"] = begin_s.into();
        writeln!(log, "{result}")?;
        log.flush()?;
        if let Some(w) = result["wall_s"].as_f64() {
            epoch_s.insert(kind, w / job.epochs as f64 / part);
        }
        eprintln!(
            "{:.0} {worker}: {line}: {} of {} in {:.1} s {}",
            begun.elapsed().as_secs_f64(),
            result["correct"],
            result["count"],
            result["wall_s"].as_f64().unwrap_or(0.0),
            result["error"]
        );
    }
}
