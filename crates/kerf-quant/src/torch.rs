//! Training through libtorch, on a GPU or the CPU (feature `libtorch`).
//!
//! The network's description is executed operation by operation; autograd goes backward. Nothing waits for the device
//! unless the plan of a step asks for a report: losses stay there, ranges become grids there, images are kept
//! there as bytes. Fake quantization gives the bits of [`crate::decision`]'s formulas.
mod forward;
mod images;
mod parameters;
mod quantize;
#[cfg(test)]
mod tests;

use crate::backend::{
    Backend, BackendError, Batch, BatchEvaluation, BatchInput, BatchScore, Optimizer, StepPlan,
    StepReport,
};
use crate::decision::Decision;
use crate::graph::{Graph, InputSpec, Op};
use crate::points::QuantizationPoint;
use crate::tensor::Tensor as Host;
use tch::{Device, Kind, Reduction, TchError, Tensor};

/// The arithmetic of convolutions and matrices in training. Parameters and everything else are `f32`; evaluation
/// always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arithmetic {
    /// `f32`; on GPUs cuDNN rounds factors of convolutions to TF32 (11 digits), PyTorch's default.
    #[default]
    F32,
    /// Convolutions, matrices and what follows them in half precision, up to the loss, sums in `f32`; the loss is
    /// scaled so that gradients do not vanish.
    F16,
}

/// The loss is multiplied by this in half precision, and gradients divided by it in `f32`.
const LOSS_SCALE: f64 = 256.0;

/// A network on a device of libtorch.
pub struct Torch {
    graph: Graph,
    points: Vec<QuantizationPoint>,
    device: Device,
    arithmetic: Arithmetic,
    parameters: parameters::Parameters,
    quantizer: quantize::Quantizer,
    resident: images::Resident,
    /// Loss and hits of steps that were not asked for yet.
    pending: Vec<(Tensor, Tensor, u64)>,
    random: bool,
    planar: bool,
}

fn failed(e: TchError) -> BackendError {
    let text = e.to_string();
    // libtorch appends a backtrace of its own.
    let what = text.lines().next().unwrap_or_default().to_owned();
    BackendError::Device {
        backend: "libtorch",
        what,
    }
}

/// The device of this name: `cpu`, `cuda` or `cuda:N`.
pub fn device(name: &str) -> Result<Device, BackendError> {
    let refuse = |what: String| BackendError::Device {
        backend: "libtorch",
        what,
    };
    let device = match name.split_once(':') {
        None if name == "cpu" => return Ok(Device::Cpu),
        None if name == "cuda" => Device::Cuda(0),
        Some(("cuda", n)) => match n.parse() {
            Ok(n) => Device::Cuda(n),
            Err(_) => {
                return Err(refuse(format!(
                    "`{name}` is no device; cpu, cuda and cuda:N are"
                )));
            }
        },
        _ => {
            return Err(refuse(format!(
                "`{name}` is no device; cpu, cuda and cuda:N are"
            )));
        }
    };
    load_cuda();
    if !tch::Cuda::is_available() {
        let what = "no GPU can be used: there is none, its driver is missing, or this libtorch is one \
                    for CPUs only";
        return Err(refuse(what.into()));
    }
    try_kernels(true);
    Ok(device)
}

/// Whether cuDNN tries its kernels in the first steps of a process and keeps the fastest ([`device`] says yes). For
/// trainings of seconds the trials cost more than they bring.
pub fn try_kernels(yes: bool) {
    tch::Cuda::cudnn_set_benchmark(yes);
}

/// Loads the part of libtorch for GPUs, which registers itself. The linker leaves it out, since nothing names it.
fn load_cuda() {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: libtorch's own library, made to be loaded beside the others; its initialisers register operators.
    let library = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) };
    if let Ok(l) = library {
        // It has to stay for as long as the process lives.
        std::mem::forget(l);
    }
}

impl Torch {
    /// With parameters as they begin for this seed.
    pub fn new(
        graph: Graph,
        points: Vec<QuantizationPoint>,
        optimizer: Optimizer,
        seed: u64,
        device: Device,
        arithmetic: Arithmetic,
    ) -> Result<Torch, BackendError> {
        let parameters =
            parameters::Parameters::new(&graph, optimizer, seed, device).map_err(failed)?;
        let quantizer = quantize::Quantizer::new(&graph, &points, device);
        let random = |o: &Op| matches!(o, Op::Dropout { .. } | Op::DropSample { .. });
        Ok(Torch {
            random: graph.nodes.iter().any(|n| random(&n.op)),
            graph,
            points,
            device,
            arithmetic,
            parameters,
            quantizer,
            resident: images::Resident::default(),
            pending: Vec::new(),
            planar: false,
        })
    }

    /// Whether convolutions of single channels are computed plane by plane, by libtorch's own kernels, instead of by
    /// cuDNN's with channels last. Which is faster depends on the GPU and the arithmetic.
    pub fn planar_depthwise(&mut self, yes: bool) {
        self.planar = yes;
    }

    fn input(&mut self, batch: &Batch) -> Result<Tensor, BackendError> {
        let wrong = |what: String| BackendError::Batch {
            network: self.graph.name.clone(),
            what,
        };
        let n = batch.rows as i64;
        match (&batch.input, &self.graph.input) {
            (BatchInput::Images(i), InputSpec::Reals(s)) => {
                if s[..] != i.store.shape {
                    return Err(wrong(format!("images of {:?}, not {s:?}", i.store.shape)));
                }
                self.resident.batch(i, self.device).map_err(failed)
            }
            (BatchInput::Reals(v), InputSpec::Reals(s)) => {
                if v.len() != batch.rows * s.iter().product::<usize>() {
                    return Err(wrong(format!(
                        "{} values for {} samples of {s:?}",
                        v.len(),
                        batch.rows
                    )));
                }
                let mut shape = vec![n];
                shape.extend(s.iter().map(|d| *d as i64));
                let of = || {
                    let x = Tensor::f_from_slice(v)?
                        .f_view(&shape[..])?
                        .f_to(self.device)?;
                    images::channels_last(&x)
                };
                of().map_err(failed)
            }
            (BatchInput::Tokens(v), InputSpec::Tokens { length, count }) => {
                if v.len() != batch.rows * length || v.iter().any(|t| *t as usize >= *count) {
                    let what = format!(
                        "{} tokens for {} rows of {length} below {count}",
                        v.len(),
                        batch.rows
                    );
                    return Err(wrong(what));
                }
                let v: Vec<i64> = v.iter().map(|t| i64::from(*t)).collect();
                let of = || {
                    Tensor::f_from_slice(&v)?
                        .f_view([n, *length as i64])?
                        .f_to(self.device)
                };
                of().map_err(failed)
            }
            _ => Err(wrong("tokens and reals are different things".into())),
        }
    }

    fn labels(&self, batch: &Batch) -> Result<Tensor, BackendError> {
        let need = batch.rows * self.graph.predictions();
        let classes = self.graph.classes();
        if batch.labels.len() != need || batch.labels.iter().any(|l| *l as usize >= classes) {
            return Err(BackendError::Batch {
                network: self.graph.name.clone(),
                what: format!(
                    "{} labels; {need} below {classes} are needed",
                    batch.labels.len()
                ),
            });
        }
        let v: Vec<i64> = batch.labels.iter().map(|l| i64::from(*l)).collect();
        Tensor::f_from_slice(&v)
            .and_then(|t| t.f_to(self.device))
            .map_err(failed)
    }

    fn check(&self, decisions: &[Decision]) -> Result<(), BackendError> {
        if decisions.len() == self.points.len() {
            return Ok(());
        }
        Err(BackendError::Decisions {
            expected: self.points.len(),
            found: decisions.len(),
        })
    }

    fn step(&mut self, x: &Tensor, y: &Tensor, plan: &StepPlan) -> Result<StepReport, TchError> {
        let noisy = plan
            .decisions
            .iter()
            .any(|d| d.noise != crate::decision::Noise::None);
        if self.random || noisy {
            tch::manual_seed(plan.seed as i64);
        }
        let want = quantize::Want {
            statistics: plan.report,
            histogram: plan.histogram,
            gradients: plan.gradients,
        };
        self.quantizer
            .begin(&self.points, plan.decisions, want, &self.parameters)?;
        let logits = forward::run(self, x, plan.decisions, true)?;
        let logits = logits.f_reshape([-1, self.graph.classes() as i64])?;
        let smoothing = f64::from(plan.label_smoothing);
        let loss =
            logits.f_cross_entropy_loss(y, None::<Tensor>, Reduction::Mean, -100, smoothing)?;
        let hits = tch::no_grad(|| {
            logits
                .f_argmax(-1, false)?
                .f_eq_tensor(y)?
                .f_sum(Kind::Int64)
        })?;
        let scale = match self.arithmetic {
            Arithmetic::F16 => LOSS_SCALE,
            Arithmetic::F32 => 1.0,
        };
        let gradients = self
            .quantizer
            .backward(&loss, self.parameters.leaves(), scale)?;
        self.parameters.step(&gradients, plan, scale)?;
        self.pending
            .push((loss.f_detach()?, hits, y.numel() as u64));
        if !plan.report {
            return Ok(StepReport::default());
        }
        let losses: Vec<&Tensor> = self.pending.iter().map(|p| &p.0).collect();
        let hits: Vec<&Tensor> = self.pending.iter().map(|p| &p.1).collect();
        let losses = Vec::<f32>::try_from(Tensor::f_stack(&losses, 0)?)?;
        let hits = Vec::<i64>::try_from(Tensor::f_stack(&hits, 0)?)?;
        let counts = self.pending.iter().map(|p| p.2);
        let scores = losses
            .iter()
            .zip(&hits)
            .zip(counts)
            .map(|((l, h), count)| BatchScore {
                loss: f64::from(*l),
                correct: *h as u64,
                count,
            });
        let scores = scores.collect();
        self.pending.clear();
        Ok(StepReport {
            scores,
            points: self.quantizer.report(&self.points)?,
        })
    }
}

impl Backend for Torch {
    fn name(&self) -> String {
        let arithmetic = match (self.arithmetic, self.device) {
            (Arithmetic::F16, _) => "f16",
            (Arithmetic::F32, Device::Cuda(_)) => "f32, convolutions in tf32",
            _ => "f32",
        };
        match self.device {
            Device::Cuda(n) => format!("libtorch cuda:{n} ({arithmetic})"),
            _ => format!("libtorch cpu ({arithmetic})"),
        }
    }

    fn train_step(&mut self, batch: &Batch, plan: &StepPlan) -> Result<StepReport, BackendError> {
        self.check(plan.decisions)?;
        let x = self.input(batch)?;
        let y = self.labels(batch)?;
        self.step(&x, &y, plan).map_err(failed)
    }

    fn evaluate(
        &mut self,
        batch: &Batch,
        decisions: &[Decision],
        logits: bool,
    ) -> Result<BatchEvaluation, BackendError> {
        self.check(decisions)?;
        let x = self.input(batch)?;
        let y = self.labels(batch)?;
        let classes = self.graph.classes() as i64;
        let mut run = || -> Result<BatchEvaluation, TchError> {
            let want = quantize::Want::default();
            self.quantizer
                .begin(&self.points, decisions, want, &self.parameters)?;
            let out = forward::run(self, &x, decisions, false)?.f_reshape([-1, classes])?;
            let loss = out.f_cross_entropy_loss(&y, None::<Tensor>, Reduction::Mean, -100, 0.0)?;
            let hits = out
                .f_argmax(-1, false)?
                .f_eq_tensor(&y)?
                .f_sum(Kind::Int64)?;
            let score = BatchScore {
                loss: f64::try_from(&loss)?,
                correct: i64::try_from(&hits)? as u64,
                count: y.numel() as u64,
            };
            let logits = match logits {
                true => {
                    let data = Vec::<f32>::try_from(out.f_contiguous()?.f_view(-1)?)?;
                    let mut shape = vec![batch.rows];
                    shape.extend(self.graph.shape(self.graph.output()));
                    Host::new(shape, data)
                }
                false => None,
            };
            Ok(BatchEvaluation { score, logits })
        };
        tch::no_grad(&mut run).map_err(failed)
    }

    fn read(&self, name: &str) -> Result<Host, BackendError> {
        match self.parameters.read(name) {
            Some(t) => t.map_err(failed),
            None => Err(self.none(name)),
        }
    }

    fn write(&mut self, name: &str, value: &Host) -> Result<(), BackendError> {
        let Some(expected) = self.parameters.shape(name) else {
            return Err(self.none(name));
        };
        if expected != value.shape {
            return Err(BackendError::Shape {
                name: name.to_owned(),
                expected: expected.to_vec(),
                found: value.shape.clone(),
            });
        }
        self.parameters.write(name, value).map_err(failed)
    }

    fn memory(&self) -> Result<Vec<(String, Host)>, BackendError> {
        self.parameters.memory().map_err(failed)
    }

    fn restore(&mut self, memory: &[(String, Host)]) -> Result<(), BackendError> {
        match self.parameters.restore(memory).map_err(failed)? {
            None => Ok(()),
            Some(name) => Err(self.none(&name)),
        }
    }
}

impl Torch {
    fn none(&self, name: &str) -> BackendError {
        BackendError::NoParameter {
            network: self.graph.name.clone(),
            name: name.to_owned(),
        }
    }
}
