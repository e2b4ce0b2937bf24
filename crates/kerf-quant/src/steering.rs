//! Decisions for every point in every step: the method's choices, as grids for the backend; what backends tell, to the
//! method; and what to evaluate with.
use crate::decision::{Decision, GridRange, Histogram, Noise, PointReport};
use crate::graph::{Graph, GraphValue, Op};
use crate::methods::{
    self, ActivationPoint, At, HistogramWindow, MethodNeeds, MethodNumbers, NoMethod, RangeChoice,
    RangeMethod,
};
use crate::points::{QuantizationPoint, QuantizedTensor};
use crate::{quantizer, seed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a network is quantized in training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuantizationSettings {
    /// Method; see [`methods::names`].
    pub method: String,
    /// Bits of weights.
    pub weight_bits: f64,
    /// Bits of activations.
    pub activation_bits: f64,
    /// Bits of single points, by name, in place of these.
    pub bits: BTreeMap<String, f64>,
    /// Bits that activations have in training, where other than in evaluation (Dao 2021, fig. 4.5).
    pub train_bits: Option<f64>,
    /// Steps between histograms.
    pub tau: u64,
    /// Steps that histograms are averaged over.
    pub eta: u64,
    /// Parts of histograms.
    pub parts: usize,
    /// Bits are used as fractions instead of rounded up.
    pub fractional: bool,
    /// Numbers of the method.
    pub numbers: MethodNumbers,
}

impl Default for QuantizationSettings {
    fn default() -> QuantizationSettings {
        QuantizationSettings {
            method: "max".into(),
            weight_bits: 8.0,
            activation_bits: 8.0,
            bits: BTreeMap::new(),
            train_bits: None,
            tau: 100,
            eta: 4,
            parts: 2048,
            fractional: false,
            numbers: MethodNumbers::default(),
        }
    }
}

/// What steering remembers, for a checkpoint.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Remembered {
    /// The method's state.
    method: serde_json::Value,
    /// The last range of each point.
    ranges: Vec<Option<(Vec<f32>, Vec<f32>)>>,
    /// Histograms of the window that is under way.
    open: Vec<Vec<Histogram>>,
    /// The last averaged histogram of each point.
    last: Vec<Option<Histogram>>,
    /// Bits of the last step.
    bits: Vec<f64>,
}

/// Decides for a run.
pub struct Steering {
    settings: QuantizationSettings,
    points: Vec<QuantizationPoint>,
    places: Vec<ActivationPoint>,
    method: Box<dyn RangeMethod>,
    memory: Remembered,
    /// What was decided in the step whose report is awaited.
    decided: Vec<Decision>,
}

/// Bits that cannot be.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
pub enum SteeringError {
    /// The method.
    #[error("{0}")]
    Method(#[from] NoMethod),
    /// Out of range.
    #[error("{what}: {bits} bits; 2 to 8 can be asked for (32 leaves a tensor as it is)")]
    Bits {
        /// Where.
        what: String,
        /// What was asked for.
        bits: f64,
    },
    /// Bits for nothing.
    #[error("there is no point of quantization `{name}`; there are {list}")]
    NoPoint {
        /// What was named.
        name: String,
        /// What there is.
        list: String,
    },
    /// No steps to make histograms from.
    #[error("tau and eta have to be at least 1")]
    Window,
}

fn allowed(bits: f64) -> bool {
    (2.0..=8.0).contains(&bits) || bits == 32.0
}

/// Whether a value is a ReLU's, or what moves and averages values made of one.
fn after_relu(graph: &Graph, v: GraphValue) -> bool {
    let GraphValue::Node(i) = v else { return false };
    let n = &graph.nodes[i];
    match n.op {
        Op::Relu | Op::Relu6 => true,
        Op::MaxPool { .. }
        | Op::AvgPool { .. }
        | Op::GlobalAvgPool
        | Op::Flatten
        | Op::Dropout { .. } => after_relu(graph, n.inputs[0]),
        _ => false,
    }
}

impl Steering {
    /// For points of a network.
    pub fn new(
        graph: &Graph,
        points: &[QuantizationPoint],
        settings: &QuantizationSettings,
    ) -> Result<Steering, SteeringError> {
        let named = settings.bits.iter().map(|(n, b)| (n.as_str(), *b));
        let two = [
            ("weights", settings.weight_bits),
            ("activations", settings.activation_bits),
        ];
        let train = settings.train_bits.map(|b| ("training", b));
        for (what, bits) in named.chain(two).chain(train) {
            if !allowed(bits) {
                let what = what.to_owned();
                return Err(SteeringError::Bits { what, bits });
            }
        }
        if let Some(name) = settings
            .bits
            .keys()
            .find(|n| points.iter().all(|p| p.name != **n))
        {
            let list: Vec<&str> = points.iter().map(|p| p.name.as_str()).collect();
            return Err(SteeringError::NoPoint {
                name: name.clone(),
                list: list.join(", "),
            });
        }
        if settings.tau == 0 || settings.eta == 0 {
            return Err(SteeringError::Window);
        }
        let place = |(index, p): (usize, &QuantizationPoint)| ActivationPoint {
            index,
            bits: match settings.bits.get(&p.name) {
                Some(b) => *b,
                None if p.is_weight() => settings.weight_bits,
                None => settings.activation_bits,
            },
            relu: match p.subject {
                QuantizedTensor::Activation(v) => after_relu(graph, v),
                QuantizedTensor::Weight(_) => false,
            },
            matrices: p.readers.iter().all(|r| graph.nodes[*r].op.has_weight()),
        };
        let n = points.len();
        Ok(Steering {
            method: methods::by_name(&settings.method, &settings.numbers, n)?,
            places: points.iter().enumerate().map(place).collect(),
            points: points.to_vec(),
            settings: settings.clone(),
            memory: Remembered {
                method: serde_json::Value::Null,
                ranges: vec![None; n],
                open: vec![Vec::new(); n],
                last: vec![None; n],
                bits: vec![0.0; n],
            },
            decided: Vec::new(),
        })
    }

    /// What the method needs.
    pub fn needs(&self) -> MethodNeeds {
        self.method.needs()
    }

    /// Parts of histograms in this step: every tau steps for eta, if the method uses them, and in the last step.
    pub fn histogram(&self, at: &At) -> Option<usize> {
        let cycle = self.settings.tau + self.settings.eta;
        let due = self.needs().histograms && (at.step - 1) % cycle >= self.settings.tau;
        (due || at.step == at.steps).then_some(self.settings.parts)
    }

    fn decision(&self, at: &At, p: usize, c: RangeChoice) -> Decision {
        let whole = |b: f64| {
            if self.settings.fractional {
                b
            } else {
                b.ceil()
            }
        };
        let blend = c.blend.and_then(|w| {
            let more = quantizer::steps(c.bits.floor() + 1.0)?;
            Some((more, w as f32))
        });
        Decision {
            steps: quantizer::steps(if blend.is_some() {
                c.bits.floor()
            } else {
                whole(c.bits)
            }),
            scheme: self.points[p].scheme,
            range: c.range.unwrap_or(GridRange::Observed { shrink: 0.0 }),
            blend,
            noise: c.noise,
            seed: seed::step(
                seed::step(seed::derive(at.seed, "points"), at.step),
                p as u64,
            ),
        }
    }

    /// What to do in a step.
    pub fn decide(&mut self, at: &At) -> Vec<Decision> {
        let mut all = Vec::with_capacity(self.points.len());
        for p in 0..self.points.len() {
            let mut place = self.places[p].clone();
            let choice = match self.points[p].is_weight() {
                true => RangeChoice::at(place.bits),
                false => {
                    place.bits = self.settings.train_bits.unwrap_or(place.bits);
                    self.method.choose(at, &place)
                }
            };
            self.memory.bits[p] = choice.bits + choice.blend.unwrap_or(0.0);
            all.push(self.decision(at, p, choice));
        }
        self.decided.clone_from(&all);
        all
    }

    /// What a backend told of the step that was decided last. Nothing for a step without report.
    pub fn learn(&mut self, at: &At, reports: &[PointReport]) {
        let cycle = self.settings.tau + self.settings.eta;
        let closing = self.needs().histograms && at.step.is_multiple_of(cycle);
        for (p, r) in reports.iter().enumerate() {
            let seen: Vec<(f32, f32)> = r.min.iter().copied().zip(r.max.iter().copied()).collect();
            let ranges = quantizer::ranges(&self.decided[p], &seen);
            self.memory.ranges[p] = Some(ranges.into_iter().unzip());
            if self.points[p].is_weight() {
                continue;
            }
            self.method.learn(at, &self.places[p], r);
            if let Some(h) = &r.histogram {
                self.memory.open[p].push(h.clone());
            }
            let last = at.step == at.steps;
            if (closing || last)
                && let Some(mean) = Histogram::mean(&self.memory.open[p])
            {
                let each = std::mem::take(&mut self.memory.open[p]);
                self.memory.last[p] = Some(mean.clone());
                if closing {
                    let w = HistogramWindow { each, mean };
                    self.method.window(at, &self.places[p], &w);
                }
            }
        }
    }

    /// What to evaluate with: the bits asked for, weights by their own ranges, activations by the last ranges of
    /// training (section 4.4.1 of the chapter); by their own where there was no training.
    pub fn inference(&self) -> Vec<Decision> {
        let of = |p: usize| {
            let point = &self.points[p];
            let range = match (&self.memory.ranges[p], point.is_weight()) {
                (Some((lo, hi)), false) => GridRange::Fixed {
                    lo: lo.clone(),
                    hi: hi.clone(),
                },
                _ => GridRange::Observed { shrink: 0.0 },
            };
            Decision {
                steps: quantizer::steps(self.places[p].bits.ceil()),
                scheme: point.scheme,
                range,
                blend: None,
                noise: Noise::None,
                seed: 0,
            }
        };
        (0..self.points.len()).map(of).collect()
    }

    /// Points.
    pub fn points(&self) -> &[QuantizationPoint] {
        &self.points
    }
    /// Bits asked for, for each point.
    pub fn targets(&self) -> Vec<f64> {
        self.places.iter().map(|p| p.bits).collect()
    }
    /// Bits of the last step, for each point.
    pub fn bits(&self) -> &[f64] {
        &self.memory.bits
    }
    /// The step of each point's grid at the bits asked for and the last range; the largest of all channels.
    pub fn steps(&self) -> Vec<Option<f32>> {
        let of = |p: usize| {
            let (lo, hi) = self.memory.ranges[p].as_ref()?;
            let steps = quantizer::steps(self.places[p].bits.ceil())?;
            let scheme = self.points[p].scheme;
            let grids = lo
                .iter()
                .zip(hi)
                .map(|(lo, hi)| quantizer::QuantizationGrid::new(*lo, *hi, steps, scheme));
            grids.map(|g| g.step).reduce(f32::max)
        };
        (0..self.points.len()).map(of).collect()
    }
    /// The last averaged histogram of each point.
    pub fn histograms(&self) -> &[Option<Histogram>] {
        &self.memory.last
    }
    /// All that was learned.
    pub fn save(&self) -> Remembered {
        Remembered {
            method: self.method.save(),
            ..self.memory.clone()
        }
    }
    /// Goes on from there. False if that is of another network or method.
    pub fn load(&mut self, saved: &Remembered) -> bool {
        if saved.ranges.len() != self.points.len() || !self.method.load(&saved.method) {
            return false;
        }
        self.memory = saved.clone();
        true
    }
}
