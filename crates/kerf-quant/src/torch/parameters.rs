//! Parameters in one flat array, so that an optimizer's step is a few operations however many there are.
use crate::backend::{Optimizer, StepPlan};
use crate::graph::Graph;
use crate::tensor::Tensor as Host;
use tch::{Device, Kind, TchError, Tensor};

struct Entry {
    name: String,
    shape: Vec<usize>,
    place: Place,
}

enum Place {
    /// Index of the leaf, and its part of the flat array.
    Trained { leaf: usize, from: i64 },
    /// A buffer.
    Kept(Tensor),
    /// A counter of batches.
    Counter(f32),
}

/// All parameters and buffers of a network, and what the optimizer remembers.
pub(super) struct Parameters {
    entries: Vec<Entry>,
    flat: Tensor,
    leaves: Vec<Tensor>,
    optimizer: Optimizer,
    /// Momentum; or mean and square. Empty before the first step.
    memory: Vec<Tensor>,
    device: Device,
}

/// Parameters begin at multiples of this many numbers: kernels read 16 bytes at a time.
const ALIGN: i64 = 16;

const MEMORY: [&str; 2] = ["first", "second"];

/// Convolutions are held channels last: `[outputs, height, width, inputs]`.
fn to_flat(t: &Tensor) -> Result<Tensor, TchError> {
    match t.dim() {
        4 => t.f_permute([0, 2, 3, 1])?.f_reshape(-1),
        _ => t.f_reshape(-1),
    }
}

/// Numbers between the end of a parameter and the beginning of the next.
fn padding(size: i64) -> i64 {
    (ALIGN - size % ALIGN) % ALIGN
}

fn padded(t: Tensor) -> Result<Tensor, TchError> {
    match padding(t.numel() as i64) {
        0 => Ok(t),
        n => t.f_constant_pad_nd([0, n]),
    }
}

fn from_flat(flat: &Tensor, shape: &[usize]) -> Result<Tensor, TchError> {
    let s: Vec<i64> = shape.iter().map(|d| *d as i64).collect();
    match s[..] {
        [o, i, h, w] => flat.f_view([o, h, w, i])?.f_permute([0, 3, 1, 2]),
        _ => flat.f_view(&s[..]),
    }
}

fn to_host(t: &Tensor, shape: &[usize]) -> Result<Host, TchError> {
    let t = t
        .f_detach()?
        .f_to_kind(Kind::Float)?
        .f_contiguous()?
        .f_to(Device::Cpu)?;
    Ok(Host {
        shape: shape.to_vec(),
        data: Vec::<f32>::try_from(t.f_view(-1)?)?,
    })
}

fn from_host(t: &Host, device: Device) -> Result<Tensor, TchError> {
    let shape: Vec<i64> = t.shape.iter().map(|d| *d as i64).collect();
    Tensor::f_from_slice(&t.data)?
        .f_view(&shape[..])?
        .f_to(device)
}

impl Parameters {
    pub(super) fn new(
        graph: &Graph,
        optimizer: Optimizer,
        seed: u64,
        device: Device,
    ) -> Result<Parameters, TchError> {
        let (mut entries, mut parts) = (Vec::new(), Vec::new());
        let mut from = 0;
        for p in graph.params() {
            let first = p.first(seed);
            let size = first.data.len() as i64;
            let place = if p.kind.trained() {
                let leaf = parts.len();
                parts.push(padded(to_flat(&from_host(&first, device)?)?)?);
                let own = from;
                from += size + padding(size);
                Place::Trained { leaf, from: own }
            } else if p.shape.is_empty() {
                Place::Counter(first.data[0])
            } else {
                Place::Kept(from_host(&first, device)?)
            };
            entries.push(Entry {
                name: p.name,
                shape: p.shape,
                place,
            });
        }
        let flat = Tensor::f_cat(&parts, 0)?;
        let mut leaves = Vec::new();
        for e in &entries {
            if let Place::Trained { from, .. } = e.place {
                let size = e.shape.iter().product::<usize>() as i64;
                let part = from_flat(&flat.f_narrow(0, from, size)?, &e.shape)?;
                leaves.push(part.f_detach()?.f_set_requires_grad(true)?);
            }
        }
        Ok(Parameters {
            entries,
            flat,
            leaves,
            optimizer,
            memory: Vec::new(),
            device,
        })
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }
    /// All trained ones.
    pub(super) fn leaves(&self) -> &[Tensor] {
        &self.leaves
    }
    /// A parameter or buffer as the network uses it.
    pub(super) fn get(&self, node: &str, what: &str) -> Result<&Tensor, TchError> {
        let found = self.entries.iter().find_map(|e| {
            let rest = e.name.strip_prefix(node)?.strip_prefix('.')?;
            (rest == what).then_some(&e.place)
        });
        match found {
            Some(Place::Trained { leaf, .. }) => Ok(&self.leaves[*leaf]),
            Some(Place::Kept(t)) => Ok(t),
            _ => Err(TchError::Torch(format!("no parameter {node}.{what}"))),
        }
    }
    /// Counts a batch, as PyTorch's batch normalisation does.
    pub(super) fn count_batch(&mut self) {
        for e in &mut self.entries {
            if let Place::Counter(c) = &mut e.place {
                *c += 1.0;
            }
        }
    }
    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        self.find(name).map(|e| e.shape.as_slice())
    }
    pub(super) fn read(&self, name: &str) -> Option<Result<Host, TchError>> {
        let e = self.find(name)?;
        Some(match &e.place {
            Place::Trained { leaf, .. } => to_host(&self.leaves[*leaf], &e.shape),
            Place::Kept(t) => to_host(t, &e.shape),
            Place::Counter(c) => Ok(Host {
                shape: Vec::new(),
                data: vec![*c],
            }),
        })
    }
    pub(super) fn write(&mut self, name: &str, value: &Host) -> Result<(), TchError> {
        let device = self.device;
        let Some(e) = self.entries.iter_mut().find(|e| e.name == name) else {
            return Ok(());
        };
        tch::no_grad(|| -> Result<(), TchError> {
            match &mut e.place {
                Place::Trained { from, .. } => {
                    let new = to_flat(&from_host(value, device)?)?;
                    self.flat
                        .f_narrow(0, *from, new.numel() as i64)?
                        .f_copy_(&new)?;
                }
                Place::Kept(t) => t.f_copy_(&from_host(value, device)?)?,
                Place::Counter(c) => *c = value.data[0],
            }
            Ok(())
        })
    }

    /// One step of the optimizer, by PyTorch's formulas.
    pub(super) fn step(
        &mut self,
        gradients: &[Tensor],
        plan: &StepPlan,
        scale: f64,
    ) -> Result<(), TchError> {
        tch::no_grad(|| self.update(gradients, plan, scale))
    }
    fn update(
        &mut self,
        gradients: &[Tensor],
        plan: &StepPlan,
        scale: f64,
    ) -> Result<(), TchError> {
        let flat = gradients.iter().map(|g| padded(to_flat(g)?));
        let parts: Result<Vec<Tensor>, TchError> = flat.collect();
        let mut g = Tensor::f_cat(&parts?, 0)?;
        if scale != 1.0 {
            g = g.f_mul_scalar(1.0 / scale)?;
        }
        if let Some(longest) = plan.clip_norm {
            let factor = (g.f_norm()? + 1e-6).f_reciprocal()? * f64::from(longest);
            g = g.f_mul(&factor.f_clamp_max(1.0)?)?;
        }
        let rate = f64::from(plan.rate);
        match self.optimizer {
            Optimizer::Sgd {
                momentum,
                nesterov,
                weight_decay,
            } => {
                if weight_decay != 0.0 {
                    g = g.f_add(&(&self.flat * f64::from(weight_decay)))?;
                }
                let m = f64::from(momentum);
                if m != 0.0 {
                    match self.memory.first_mut() {
                        Some(b) => {
                            let new = (&*b * m).f_add(&g)?;
                            b.f_copy_(&new)?;
                        }
                        None => self.memory.push(g.shallow_clone()),
                    }
                    let b = &self.memory[0];
                    g = if nesterov {
                        g + b * m
                    } else {
                        b.shallow_clone()
                    };
                }
                let new = self.flat.f_sub(&(g * rate))?;
                self.flat.f_copy_(&new)
            }
            Optimizer::Adam {
                beta1,
                beta2,
                eps,
                weight_decay,
                decoupled,
            } => {
                let (b1, b2, decay) = (f64::from(beta1), f64::from(beta2), f64::from(weight_decay));
                if decoupled {
                    let new = &self.flat * (1.0 - rate * decay);
                    self.flat.f_copy_(&new)?;
                } else if decay != 0.0 {
                    g = g.f_add(&(&self.flat * decay))?;
                }
                if self.memory.is_empty() {
                    self.memory = vec![g.f_zeros_like()?, g.f_zeros_like()?];
                }
                let mean = &self.memory[0] * b1 + &g * (1.0 - b1);
                let square = &self.memory[1] * b2 + g.f_square()? * (1.0 - b2);
                self.memory[0].f_copy_(&mean)?;
                self.memory[1].f_copy_(&square)?;
                let t = plan.step as f64;
                let (c1, c2) = (1.0 - b1.powf(t), 1.0 - b2.powf(t));
                let below = square.f_sqrt()? / c2.sqrt() + f64::from(eps);
                let new = self.flat.f_sub(&(mean.f_div(&below)? * (rate / c1)))?;
                self.flat.f_copy_(&new)
            }
        }
    }

    pub(super) fn memory(&self) -> Result<Vec<(String, Host)>, TchError> {
        let name = |k: usize, e: &Entry| format!("{}.{}", MEMORY[k], e.name);
        let mut all = Vec::new();
        for (k, m) in self.memory.iter().enumerate() {
            for e in &self.entries {
                if let Place::Trained { from, .. } = e.place {
                    let size = e.shape.iter().product::<usize>() as i64;
                    let t = from_flat(&m.f_narrow(0, from, size)?, &e.shape)?;
                    all.push((name(k, e), to_host(&t, &e.shape)?));
                }
            }
        }
        Ok(all)
    }
    /// Gives the first name that is not one of [`Parameters::memory`]'s.
    pub(super) fn restore(
        &mut self,
        memory: &[(String, Host)],
    ) -> Result<Option<String>, TchError> {
        self.memory.clear();
        for (name, value) in memory {
            let found = name.split_once('.').and_then(|(kind, rest)| {
                let k = MEMORY.iter().position(|m| *m == kind)?;
                let e = self
                    .entries
                    .iter()
                    .find(|e| e.name == rest && e.shape == value.shape)?;
                match e.place {
                    Place::Trained { from, .. } => Some((k, from)),
                    _ => None,
                }
            });
            let Some((k, from)) = found else {
                return Ok(Some(name.clone()));
            };
            while self.memory.len() <= k {
                self.memory.push(self.flat.f_zeros_like()?);
            }
            let new = to_flat(&from_host(value, self.device)?)?;
            let size = new.numel() as i64;
            self.memory[k].f_narrow(0, from, size)?.f_copy_(&new)?;
        }
        Ok(None)
    }
}
