//! `kerf quantize train`: one recipe, several seeds, a result folder.
use super::opened::DataArgs;
use super::progress::Progress;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use clap::builder::PossibleValuesParser;
use kerf_files::FolderLock;
use kerf_quant::backend::Optimizer;
use kerf_quant::data::part::Part;
use kerf_quant::decision::Scheme;
use kerf_quant::experiment::{Experiment, RunResult, TrainingRecipe};
use kerf_quant::graph::InputSpec;
use kerf_quant::methods::{self, MethodNumbers};
use kerf_quant::networks;
use kerf_quant::points::Policy;
use kerf_quant::steering::QuantizationSettings;
use kerf_quant::train::{Schedule, TrainConfig};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(clap::Args)]
pub struct TrainArgs {
    /// Network; `kerf quantize methods` lists them.
    #[arg(long, default_value = "small-cnn", value_parser = PossibleValuesParser::new(networks::names()))]
    network: String,
    /// fashion-mnist, cifar10, mnist (kerf quantize data fetches them), stripes (drawn, for a first try), a folder, or
    /// a text file.
    #[arg(long)]
    data: String,
    /// Without quantization.
    #[arg(long, conflicts_with_all = ["method", "bits", "weight_bits", "activation_bits"])]
    fp32: bool,
    /// How ranges and bits of activations are chosen; `kerf quantize methods` lists them.
    #[arg(long, default_value = "max", value_parser = PossibleValuesParser::new(methods::names()))]
    method: String,
    /// Bits of weights and activations, 2 to 8.
    #[arg(long, default_value_t = 8.0, allow_negative_numbers = true)]
    bits: f64,
    /// Bits of weights, in place of --bits.
    #[arg(long, allow_negative_numbers = true)]
    weight_bits: Option<f64>,
    /// Bits of activations, in place of --bits.
    #[arg(long, allow_negative_numbers = true)]
    activation_bits: Option<f64>,
    /// Bits of activations in training only; 32 for none.
    #[arg(long, value_name = "BITS", allow_negative_numbers = true)]
    train_bits: Option<f64>,
    /// Bits of single tensors: NAME=BITS, or a file that kerf quantize tune wrote.
    #[arg(long = "bits-of", value_name = "NAME=BITS|FILE")]
    bits_of: Vec<String>,
    /// Leave this node as it is; NAME* for all that begin so. May be repeated.
    #[arg(long, value_name = "NODE")]
    keep: Vec<String>,
    /// Quantize this node too. May be repeated.
    #[arg(long, value_name = "NODE")]
    quantize: Vec<String>,
    /// Quantize operations of this class too: relu, add, mul, max-pool, ... May be repeated.
    #[arg(long, value_name = "CLASS")]
    quantize_class: Vec<String>,
    /// One grid for a whole weight instead of one for each channel.
    #[arg(long)]
    per_tensor: bool,
    /// Symmetric grids for activations too.
    #[arg(long)]
    symmetric: bool,
    /// Use fractions of bits in training instead of rounding them up.
    #[arg(long)]
    fractional: bool,
    /// Steps between histograms.
    #[arg(long, default_value_t = 100, allow_negative_numbers = true)]
    tau: u64,
    /// Steps that histograms are averaged over.
    #[arg(long, default_value_t = 4, allow_negative_numbers = true)]
    eta: u64,
    /// rand: part of the values that may be above the lowered maximum, in percent.
    #[arg(
        long,
        default_value_t = 0.001,
        value_name = "PERCENT",
        allow_negative_numbers = true
    )]
    threshold: f64,
    /// Passes over the data.
    #[arg(long, default_value_t = 5, allow_negative_numbers = true)]
    epochs: u64,
    /// Samples in a batch.
    #[arg(long, default_value_t = 128, allow_negative_numbers = true, value_parser = crate::parse_count)]
    batch: usize,
    /// sgd, adam or adamw; sgd for images, adamw for text.
    #[arg(long, value_parser = ["sgd", "adam", "adamw"])]
    optimizer: Option<String>,
    /// Highest learning rate; 0.1 for sgd, 0.001 for adam, 0.002 for text.
    #[arg(long, allow_negative_numbers = true)]
    rate: Option<f32>,
    /// How the rate changes: cosine, one-cycle, step (a tenth after each third of the epochs) or constant.
    #[arg(long, default_value = "cosine", value_parser = ["cosine", "one-cycle", "step", "constant"])]
    schedule: String,
    /// Part of the steps over which a cosine's rate rises.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    warmup: f64,
    /// Momentum of sgd.
    #[arg(long, default_value_t = 0.9, allow_negative_numbers = true)]
    momentum: f32,
    /// Decay of parameters.
    #[arg(long, default_value_t = 5e-4, allow_negative_numbers = true)]
    weight_decay: f32,
    /// Part of the probability spread over all classes.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    label_smoothing: f32,
    /// Blank a square of this side at a random place of each training image; 8 suits images of 32.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    cutout: u64,
    /// Shorten gradients to this length.
    #[arg(long, allow_negative_numbers = true)]
    clip_norm: Option<f32>,
    /// Part of the training data that is held out, for kerf quantize tune.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    held_out: f64,
    /// Start from these weights (safetensors).
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Runs with seeds one after the other; the interval is over them.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = crate::parse_count)]
    seeds: usize,
    /// The first seed.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: u64,
    /// Folder for results.
    #[arg(long, value_name = "DIR", default_value = "kerf-quantize")]
    out: PathBuf,
    /// Go on from the checkpoints in --out.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    at: DataArgs,
}

fn bits_of(given: &[String]) -> Result<BTreeMap<String, f64>, Failure> {
    let mut all = BTreeMap::new();
    for g in given {
        if let Some((name, bits)) = g.rsplit_once('=') {
            let bits = bits.parse().map_err(|_| {
                Failure::new(format!("--bits-of {g}: `{bits}` is not a number"))
                    .help("e.g. --bits-of conv2.weight=4")
            })?;
            all.insert(name.to_owned(), bits);
            continue;
        }
        let text = std::fs::read_to_string(g).map_err(|e| {
            Failure::new(format!("--bits-of {g}: {e}")).help("e.g. --bits-of conv2.weight=4")
        })?;
        let read: Result<BTreeMap<String, f64>, _> = serde_json::from_str(&text);
        all.extend(read.map_err(|e| {
            Failure::new(format!("{g}: {e}"))
                .help("kerf quantize tune writes such a file: bits.json")
        })?);
    }
    Ok(all)
}

/// SHA-256 of a file.
fn digest(path: &Path) -> Result<String, Failure> {
    use sha2::Digest;
    let bytes =
        std::fs::read(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    let hash = sha2::Sha256::digest(&bytes);
    Ok(hash.iter().map(|b| format!("{b:02x}")).collect())
}

impl TrainArgs {
    fn optimizer(&self, text: bool) -> (Optimizer, f32) {
        let name = self.optimizer.as_deref();
        let name = name.unwrap_or(if text { "adamw" } else { "sgd" });
        match name {
            "sgd" => {
                let o = Optimizer::Sgd {
                    momentum: self.momentum,
                    nesterov: self.momentum > 0.0,
                    weight_decay: self.weight_decay,
                };
                (o, 0.1)
            }
            _ => {
                let o = Optimizer::Adam {
                    beta1: 0.9,
                    beta2: if text { 0.99 } else { 0.999 },
                    eps: 1e-8,
                    weight_decay: self.weight_decay,
                    decoupled: name == "adamw",
                };
                (o, if text { 2e-3 } else { 1e-3 })
            }
        }
    }

    fn recipe(&self, input: &InputSpec) -> Result<TrainingRecipe, Failure> {
        let text = matches!(input, InputSpec::Tokens { .. });
        let (optimizer, rate) = self.optimizer(text);
        let mut policy = Policy {
            keep: self.keep.clone(),
            quantize: self.quantize.clone(),
            per_channel: !self.per_tensor,
            ..Policy::default()
        };
        if self.symmetric {
            policy.activations = Scheme::Symmetric;
        }
        policy.classes.extend(self.quantize_class.iter().cloned());
        if !(0.0..=0.9).contains(&self.held_out) {
            return Err(Failure::new(format!(
                "--held-out {}: 0 to 0.9 is possible",
                self.held_out
            )));
        }
        Ok(TrainingRecipe {
            network: self.network.clone(),
            data: self.data.clone(),
            policy: (!self.fp32).then_some(policy),
            settings: QuantizationSettings {
                method: self.method.clone(),
                weight_bits: self.weight_bits.unwrap_or(self.bits),
                activation_bits: self.activation_bits.unwrap_or(self.bits),
                bits: bits_of(&self.bits_of)?,
                train_bits: self.train_bits,
                tau: self.tau,
                eta: self.eta,
                fractional: self.fractional,
                numbers: MethodNumbers {
                    threshold: self.threshold / 100.0,
                    ..MethodNumbers::default()
                },
                ..QuantizationSettings::default()
            },
            train: TrainConfig {
                epochs: self.epochs,
                batch: self.batch,
                rate: self.rate.unwrap_or(rate),
                schedule: match self.schedule.as_str() {
                    "cosine" => Schedule::Cosine {
                        warmup: self.warmup,
                    },
                    "one-cycle" => Schedule::OneCycle { rise: 0.3 },
                    "step" => Schedule::Step {
                        every: self.epochs.div_ceil(3).max(1),
                        factor: 0.1,
                    },
                    _ => Schedule::Constant,
                },
                optimizer,
                label_smoothing: self.label_smoothing,
                clip_norm: self.clip_norm.or(text.then_some(1.0)),
                seed: self.seed,
            },
            held_out: self.held_out,
            cutout: self.cutout as usize,
            start: self.weights.as_deref().map(digest).transpose()?,
        })
    }
}

/// Trains.
pub fn run(a: &TrainArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let first = a
        .out
        .join(format!("seed-{}/checkpoint.safetensors", a.seed));
    if !a.resume && (first.exists() || a.out.join("result.json").exists()) {
        return Err(
            Failure::new(format!("{} has results already", a.out.display()))
                .help("--resume goes on with them; --out names another folder"),
        );
    }
    let (all, test) = a.at.open_cut(&a.data, a.cutout as usize)?;
    std::fs::create_dir_all(&a.out).map_err(|e| {
        Failure::new(format!("cannot make {}: {e}", a.out.display()))
            .help("choose another folder with --out")
    })?;
    let _lock = FolderLock::take(&a.out).map_err(|e| Failure::new(e.to_string()))?;
    let recipe = a.recipe(&all.input())?;
    let (train, _) = Part::split(all.as_ref(), a.held_out);
    let make = |g: &_, p: &[_], o, s| a.at.backend(g, p, o, s);
    let experiment = Experiment {
        recipe: &recipe,
        train: &train,
        test: test.as_ref(),
        make: &make,
        folder: &a.out,
        start: a.weights.as_deref(),
        resume: a.resume,
    };
    let mut progress = Progress::default();
    let mut seeds = Vec::new();
    for i in 0..a.seeds {
        let seed = a.seed + i as u64;
        if a.seeds > 1 {
            progress.prefix = format!("seed {seed} ({} of {}): ", i + 1, a.seeds);
        }
        let one = experiment.seed(seed, &mut |e| progress.show(e));
        progress.end();
        seeds.push(one?);
    }
    let result = experiment.finish(seeds)?;
    match format {
        Format::Json => {
            let text =
                serde_json::to_string_pretty(&result).map_err(|e| Failure::new(e.to_string()))?;
            say(&format!("{text}\n"))?;
        }
        _ => say(&shown(&result, &a.out, style))?,
    }
    Ok(0)
}

/// An interval in percent.
pub fn percent(i: &kerf_quant::interval::ConfidenceInterval) -> String {
    format!(
        "{:.2} % ({:.2} to {:.2}; {})",
        100.0 * i.mean,
        100.0 * i.low,
        100.0 * i.high,
        i.how
    )
}

fn shown(r: &RunResult, out: &Path, style: Style) -> String {
    let what = match &r.recipe.policy {
        None => "FP32".to_owned(),
        Some(_) => format!("method {}", r.recipe.settings.method),
    };
    let mut text = format!(
        "{}\n  test accuracy  {}\n",
        style.bold(&format!(
            "{} on {}, {what}",
            r.recipe.network, r.recipe.data
        )),
        percent(&r.accuracy)
    );
    if !r.points.is_empty() {
        text += &format!("  unquantized    {}\n", percent(&r.unquantized));
        text += &format!(
            "  size           {:.1} kB of {:.1} kB in FP32 ({:.2}x smaller); bit operations 1/{:.1}\n",
            r.size.bytes / 1e3,
            r.size.fp32_bytes / 1e3,
            r.size.fp32_bytes / r.size.bytes,
            r.size.fp32_bit_operations / r.size.bit_operations
        );
    }
    text += &format!(
        "  training       {:.0} samples/s on {}\n",
        r.samples_s, r.backend
    );
    if !r.points.is_empty() {
        let last = r.seeds.first().and_then(|s| s.history.last());
        let mut t = Table::new(1, ["tensor", "bits", "grids", "step"]);
        for (i, p) in r.points.iter().enumerate() {
            let step = last.and_then(|l| l.steps.get(i).copied().flatten());
            t.row([
                p.name.clone(),
                p.bits.to_string(),
                p.grids.to_string(),
                step.map_or("-".into(), |s| format!("{s:.3e}")),
            ]);
        }
        text += "\n";
        text += &t.render(style);
    }
    text + &format!("\nresults, weights and pictures are in {}\n", out.display())
}
