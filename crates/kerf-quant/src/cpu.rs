//! The CPU backend: own loops over a matrix product, all cores, the same bits for any number of threads.
mod back;
mod conv;
mod elementwise;
mod gemm;
mod loss;
mod norm;
mod optimize;
mod parallel;
mod pass;
mod pool;
mod quantize;
#[cfg(test)]
mod tests;
mod text;

use crate::backend::{
    Backend, BackendError, Batch, BatchEvaluation, BatchInput, BatchScore, Optimizer, StepPlan,
    StepReport,
};
use crate::decision::Decision;
use crate::graph::{Graph, GraphValue, InputSpec, ParamSpec};
use crate::points::{QuantizationPoint, QuantizedTensor};
use crate::tensor::Tensor;
use optimize::OptimizerState;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parameters of a node, by their place among all.
#[derive(Debug, Clone, Copy, Default)]
struct Slots {
    weight: Option<usize>,
    bias: Option<usize>,
    mean: Option<usize>,
    var: Option<usize>,
    count: Option<usize>,
}

/// A network on the CPU.
pub struct CpuBackend {
    graph: Graph,
    points: Vec<QuantizationPoint>,
    optimizer: Optimizer,
    specs: Vec<ParamSpec>,
    values: Vec<Vec<f32>>,
    memory: Vec<OptimizerState>,
    index: BTreeMap<String, usize>,
    slots: Vec<Slots>,
    /// For each node and input, the point that it reads through.
    reads: Vec<Vec<Option<usize>>>,
    /// For each node, the point of its weight.
    weights: Vec<Option<usize>>,
    threads: Arc<rayon::ThreadPool>,
    scores: Vec<BatchScore>,
}

impl CpuBackend {
    /// With parameters as they begin for a seed. 0 threads stands for all cores.
    pub fn new(
        graph: &Graph,
        points: &[QuantizationPoint],
        optimizer: Optimizer,
        seed: u64,
        threads: usize,
    ) -> Result<CpuBackend, BackendError> {
        let specs = graph.params();
        let values = specs.iter().map(|s| s.first(seed).data).collect();
        let names = specs.iter().enumerate().map(|(i, s)| (s.name.clone(), i));
        let index: BTreeMap<String, usize> = names.collect();
        let slot = |node: &str, what: &str| index.get(&format!("{node}.{what}")).copied();
        let of = |n: &crate::graph::GraphNode| Slots {
            weight: slot(&n.name, "weight"),
            bias: slot(&n.name, "bias"),
            mean: slot(&n.name, "running_mean"),
            var: slot(&n.name, "running_var"),
            count: slot(&n.name, "num_batches_tracked"),
        };
        let slots = graph.nodes.iter().map(of).collect();
        let through = |i: usize, v: &GraphValue| {
            points.iter().position(|p| {
                p.subject == QuantizedTensor::Activation(*v) && p.readers.contains(&i)
            })
        };
        let nodes = graph.nodes.iter().enumerate();
        let reads = nodes.map(|(i, n)| n.inputs.iter().map(|v| through(i, v)).collect());
        let reads = reads.collect();
        let weight = |i| {
            points
                .iter()
                .position(|p| p.subject == QuantizedTensor::Weight(i))
        };
        let weights = (0..graph.nodes.len()).map(weight).collect();
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let threads = threads.map_err(|e| BackendError::Device {
            backend: "cpu",
            what: format!("cannot start threads: {e}"),
        })?;
        Ok(CpuBackend {
            graph: graph.clone(),
            points: points.to_vec(),
            optimizer,
            memory: vec![OptimizerState::default(); specs.len()],
            values,
            specs,
            index,
            slots,
            reads,
            weights,
            threads: Arc::new(threads),
            scores: Vec::new(),
        })
    }

    fn check(&self, batch: &Batch, decisions: &[Decision]) -> Result<(), BackendError> {
        let bad = |what: String| {
            Err(BackendError::Batch {
                network: self.graph.name.clone(),
                what,
            })
        };
        let (given, needed) = match (&batch.input, &self.graph.input) {
            (BatchInput::Reals(x), InputSpec::Reals(s)) => {
                (x.len(), batch.rows * s.iter().product::<usize>())
            }
            (BatchInput::Images(i), InputSpec::Reals(s)) if i.store.shape[..] == s[..] => {
                (i.indices.len(), batch.rows)
            }
            (BatchInput::Tokens(x), InputSpec::Tokens { length, count }) => {
                if let Some(t) = x.iter().find(|t| **t as usize >= *count) {
                    return bad(format!("token {t}, and there are {count}"));
                }
                (x.len(), batch.rows * length)
            }
            (_, spec) => return bad(format!("the network takes {spec:?}")),
        };
        if given != needed || batch.rows == 0 {
            return bad(format!(
                "{given} values for {} samples instead of {needed}",
                batch.rows
            ));
        }
        let labels = batch.rows * self.graph.predictions();
        if batch.labels.len() != labels {
            return bad(format!("{} labels instead of {labels}", batch.labels.len()));
        }
        let classes = self.graph.classes();
        if let Some(l) = batch.labels.iter().find(|l| **l as usize >= classes) {
            return bad(format!("class {l}, and there are {classes}"));
        }
        match decisions.len() == self.points.len() {
            true => Ok(()),
            false => Err(BackendError::Decisions {
                expected: self.points.len(),
                found: decisions.len(),
            }),
        }
    }

    fn place(&self, name: &str) -> Result<usize, BackendError> {
        let found = self.index.get(name).copied();
        found.ok_or_else(|| BackendError::NoParameter {
            network: self.graph.name.clone(),
            name: name.to_owned(),
        })
    }

    fn step(&mut self, batch: &Batch, plan: &StepPlan) -> StepReport {
        let wanted = pass::Wanted {
            train: Some(plan.seed),
            report: plan.report,
            histogram: plan.histogram.filter(|_| plan.report),
        };
        let mut forward = self.forward(batch, plan.decisions, &wanted);
        let mut logits = forward.results.pop().unwrap_or_default();
        let classes = self.graph.classes();
        let score = loss::cross_entropy(
            &mut logits,
            &batch.labels,
            classes,
            plan.label_smoothing,
            true,
        );
        let (mut gradients, points) = self.backward(batch, plan, &mut forward, logits);
        for (slot, value) in forward.running {
            self.values[slot] = value;
        }
        if let Some(most) = plan.clip_norm {
            shorten(&mut gradients, most);
        }
        let all = self.values.iter_mut().zip(&mut self.memory);
        for ((w, m), g) in all.zip(&gradients) {
            if let Some(g) = g {
                optimize::follow(&self.optimizer, plan.step, plan.rate, w, g, m);
            }
        }
        self.scores.push(score);
        match plan.report {
            true => StepReport {
                scores: std::mem::take(&mut self.scores),
                points,
            },
            false => StepReport::default(),
        }
    }
}

/// A batch whose samples are numbers, made from bytes where they are.
fn as_reals(batch: &Batch) -> Cow<'_, Batch> {
    match &batch.input {
        BatchInput::Images(i) => Cow::Owned(Batch {
            rows: batch.rows,
            input: BatchInput::Reals(i.reals()),
            labels: batch.labels.clone(),
        }),
        _ => Cow::Borrowed(batch),
    }
}

/// Scales gradients so that they are no longer than this together.
fn shorten(gradients: &mut [Option<Vec<f32>>], most: f32) {
    let square = |g: &Vec<f32>| g.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>();
    let norm = gradients.iter().flatten().map(square).sum::<f64>().sqrt();
    if norm > f64::from(most) {
        let scale = (f64::from(most) / (norm + 1e-6)) as f32;
        for g in gradients.iter_mut().flatten() {
            g.iter_mut().for_each(|v| *v *= scale);
        }
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> String {
        "cpu".into()
    }
    fn train_step(&mut self, batch: &Batch, plan: &StepPlan) -> Result<StepReport, BackendError> {
        self.check(batch, plan.decisions)?;
        let batch = &*as_reals(batch);
        let threads = Arc::clone(&self.threads);
        Ok(threads.install(|| self.step(batch, plan)))
    }
    fn evaluate(
        &mut self,
        batch: &Batch,
        decisions: &[Decision],
        logits: bool,
    ) -> Result<BatchEvaluation, BackendError> {
        self.check(batch, decisions)?;
        let batch = &*as_reals(batch);
        let threads = Arc::clone(&self.threads);
        threads.install(|| {
            let mut forward = self.forward(batch, decisions, &pass::Wanted::default());
            let mut out = forward.results.pop().unwrap_or_default();
            let copy = logits.then(|| {
                let mut shape = vec![batch.rows];
                shape.extend(self.graph.shape(self.graph.output()));
                Tensor {
                    shape,
                    data: out.clone(),
                }
            });
            let score =
                loss::cross_entropy(&mut out, &batch.labels, self.graph.classes(), 0.0, false);
            Ok(BatchEvaluation {
                score,
                logits: copy,
            })
        })
    }
    fn read(&self, name: &str) -> Result<Tensor, BackendError> {
        let i = self.place(name)?;
        Ok(Tensor {
            shape: self.specs[i].shape.clone(),
            data: self.values[i].clone(),
        })
    }
    fn write(&mut self, name: &str, value: &Tensor) -> Result<(), BackendError> {
        let i = self.place(name)?;
        if self.specs[i].shape != value.shape || self.values[i].len() != value.data.len() {
            return Err(BackendError::Shape {
                name: name.to_owned(),
                expected: self.specs[i].shape.clone(),
                found: value.shape.clone(),
            });
        }
        self.values[i].clone_from(&value.data);
        Ok(())
    }
    fn memory(&self) -> Result<Vec<(String, Tensor)>, BackendError> {
        let mut all = Vec::new();
        for (s, m) in self.specs.iter().zip(&self.memory) {
            for (what, data) in [("first", &m.first), ("second", &m.second)] {
                if !data.is_empty() {
                    let t = Tensor {
                        shape: s.shape.clone(),
                        data: data.clone(),
                    };
                    all.push((format!("{what}.{}", s.name), t));
                }
            }
        }
        Ok(all)
    }
    fn restore(&mut self, memory: &[(String, Tensor)]) -> Result<(), BackendError> {
        for (name, t) in memory {
            let (what, of) = name.split_once('.').unwrap_or(("", name));
            let i = self.place(of)?;
            if t.data.len() != self.values[i].len() {
                return Err(BackendError::Shape {
                    name: name.clone(),
                    expected: self.specs[i].shape.clone(),
                    found: t.shape.clone(),
                });
            }
            match what {
                "first" => self.memory[i].first.clone_from(&t.data),
                _ => self.memory[i].second.clone_from(&t.data),
            }
        }
        Ok(())
    }
}
