//! The static, cast-aware score of AMPT-GA (Kotipalli et al. 2019, section 4.3) on the site graph.
//!
//! Operations are counted by format, and conversions where formats meet: one for each value and each
//! format that some user wants it in, as the passes place them. Nothing is executed, so how often a loop
//! runs is a guess. Registers and latency are left out; the score ranks plans and is an optimistic time.
//! Memory is apart: what is loaded and stored costs nothing in the score itself, as published, and can be
//! asked for beside it.
use crate::prediction::TimePredictor;
use crate::setting::PARTS;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_device::profile::DeviceProfile;
use kerf_num::Format;
use kerf_pass::{MathVariant, SiteFormat};
use kerf_search::Assignment;
use std::collections::{BTreeMap, BTreeSet};

/// A loop is taken to run this often.
const LOOP: f64 = 16.0;

/// What operations cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Where they come from.
    source: String,
    /// Cost by key of the profile (`add.f64`), in units of an f64 addition.
    costs: BTreeMap<String, f64>,
    /// Whether loops count more than once.
    loops: bool,
    /// What a byte from or to memory costs; none if the profile does not tell.
    byte: Option<f64>,
}

/// Formats by their names in a profile.
const FORMATS: [Format; 4] = [Format::F64, Format::F32, Format::F16, Format::Bf16];

/// A load counts as this part of itself where one of the same memory went before it in the kernel: neighbours
/// share lines of the caches.
const NEAR: f64 = 0.25;

/// A byte of device memory in f64 additions, `unit` of which a multiprocessor does in a clock.
fn byte(p: &DeviceProfile, unit: f64) -> Option<f64> {
    let l = &p.limits;
    let (sms, clock) = (l.sms.value?, l.clock_mhz.value?);
    let bytes = l.copy_bandwidth.value.filter(|b| *b > 0.0)?;
    Some(unit * sms * clock * 1e6 / bytes)
}

impl Weights {
    /// As the text has them: 2 for f64, 1 for f32, 4 for a conversion (section 1, and the gains of +1 and -4 in section
    /// 4.4; section 4.3 gives four cycles where f64 takes one, which fits neither). What it does not speak of, f16, is
    /// taken as another factor of two.
    pub fn published() -> Weights {
        Weights {
            source: "static score, weights of AMPT-GA".into(),
            costs: BTreeMap::new(),
            loops: false,
            byte: None,
        }
    }

    /// By the throughputs of a device, where they are known.
    pub fn from_profile(p: &DeviceProfile) -> Weights {
        let rate = |key: &str| {
            let o = p.operations.get(key)?;
            o.throughput.value.filter(|t| *t > 0.0)
        };
        let unit = rate("add.f64").unwrap_or(1.0);
        let costs = p.operations.keys();
        let costs = costs.filter_map(|k| Some((k.clone(), unit / rate(k)?)));
        Weights {
            source: format!("static score, throughputs of profile {}", p.name),
            costs: costs.collect(),
            loops: true,
            byte: byte(p, unit),
        }
    }

    /// By the energies of a device, where they are known; none if that is nowhere.
    pub fn from_energies(p: &DeviceProfile) -> Option<Weights> {
        let known = p.operations.iter();
        let costs: BTreeMap<String, f64> = known
            .filter_map(|(k, o)| Some((k.clone(), o.energy_pj.value.filter(|e| *e > 0.0)?)))
            .collect();
        let unit = *costs.get("add.f64")?;
        Some(Weights {
            source: format!("static counts, energies of profile {}", p.name),
            costs: costs.into_iter().map(|(k, e)| (k, e / unit)).collect(),
            loops: true,
            byte: None,
        })
    }

    fn get(&self, function: &str, format: Format) -> Option<f64> {
        self.costs.get(&format!("{function}.{format}")).copied()
    }

    /// An operation of the simplest kind.
    fn plain(&self, format: Format) -> f64 {
        self.get("add", format).unwrap_or(match format {
            Format::F64 => 1.0,
            Format::F32 => 0.5,
            Format::F16 | Format::Bf16 => 0.25,
        })
    }

    /// A conversion: as dear as two additions in f64, where nobody says otherwise.
    fn cast(&self, from: Format, to: Format) -> f64 {
        let key = format!("convert.{from}.{to}");
        self.costs.get(&key).copied().unwrap_or(2.0)
    }

    /// What one execution of a site costs in a format. Loads and stores are free, conversions too.
    pub fn site(&self, op: &str, format: SiteFormat) -> f64 {
        match format.is_pair() {
            true => self.pair(op, format.word()),
            false => self.operation(op, format.word()),
        }
    }

    /// One operation on pairs of words: the instructions of the algorithms (Joldes, Muller, Popescu 2017), each as dear as a sum.
    /// Functions are polynomials of about 30 products and sums of pairs.
    fn pair(&self, op: &str, word: Format) -> f64 {
        let instructions = match op {
            "phi" | "load" | "store" | "atomicrmw" | "call" | "asm" | "fpext" | "fptrunc" => 0.0,
            "fneg" | "fabs" | "copysign" | "select" | "fcmp" => 2.0,
            "fadd" | "fsub" => 20.0,
            "fmul" => 9.0,
            "fma" | "fmuladd" => 29.0,
            "fdiv" | "sqrt" => 30.0,
            "sitofp" | "uitofp" | "fptosi" | "fptoui" => 4.0,
            _ => 30.0 * 29.0,
        };
        instructions * self.plain(word)
    }

    /// One site's operation in a format.
    fn operation(&self, op: &str, format: Format) -> f64 {
        // Functions exist in f32 only, below f64; arguments are converted.
        let small = precision_below_f32(format);
        let function = |name: &str| {
            if let Some(c) = self.get(name, format) {
                return c;
            }
            let wide = self.get(name, Format::F32).filter(|_| small);
            match wide {
                Some(c) => c + 2.0 * self.cast(format, Format::F32),
                None => 10.0 * self.plain(format),
            }
        };
        let name = match op {
            "phi" | "load" | "store" | "atomicrmw" | "call" | "asm" => return 0.0,
            // Conversions are counted where formats meet; those from and to integers stay.
            "fpext" | "fptrunc" => return 0.0,
            "sitofp" | "uitofp" | "fptosi" | "fptoui" => {
                return self.cast(Format::F64, Format::F32);
            }
            // The publication counts every operation as one.
            _ if self.costs.is_empty() => return self.plain(format),
            "fneg" | "fabs" | "copysign" => return 0.5 * self.plain(format),
            "select" => "select",
            "fcmp" | "minnum" | "maxnum" | "minimumnum" | "maximumnum" | "fmin" | "fmax" => "min",
            "fadd" | "fsub" => "add",
            "fmul" => "mul",
            "fma" | "fmuladd" => "fma",
            "fdiv" => return function("div"),
            "sincos" | "sinpi" | "cospi" => return function("sin"),
            "exp10" => return function("exp2"),
            "log10" | "log1p" => return function("log"),
            "expm1" => return function("exp"),
            f if self.get(f, Format::F32).is_some() => return function(f),
            // Functions that no profile has are about as dear as two exponentials (erf, gamma).
            f if !f.contains('.') => return 2.0 * function("exp"),
            _ => "add",
        };
        self.get(name, format).unwrap_or(self.plain(format))
    }
}

fn precision_below_f32(f: Format) -> bool {
    matches!(f, Format::F16 | Format::Bf16)
}

/// A division or function by a variant, as [`Weights::operation`] has it by its own way.
impl Weights {
    fn variant(&self, op: &str, format: Format, v: MathVariant) -> f64 {
        let own = self.operation(op, format);
        let name = match op {
            "fdiv" | "div.rn" | "fdividef" => "div",
            "sincos" => "sin",
            "exp10" => "exp2",
            "log10" => "log2",
            o => o,
        };
        let wide = if format == Format::F64 { "f64" } else { "f32" };
        let unit = |name: &str| self.costs.get(&format!("{name}.{wide}.sfu")).copied();
        // A unit that nobody measured is taken as the reciprocal's, or as half of the accurate way.
        let unit = unit(name).or_else(|| unit("rcp")).unwrap_or(0.5 * own);
        let fma = self.get("fma", format).unwrap_or(self.plain(format));
        let casts = match precision_below_f32(format) {
            true => 2.0 * self.cast(format, Format::F32),
            false => 0.0,
        };
        match v {
            MathVariant::Accurate => own,
            MathVariant::Reciprocal => self.get("mul", format).unwrap_or(self.plain(format)),
            MathVariant::Full | MathVariant::FullFtz => 1.5 * unit + casts,
            // Around the unit, arguments and results are scaled so that subnormal numbers survive.
            MathVariant::Approx => unit + casts + 3.0 * self.plain(format),
            _ => unit + casts + 3.0 * f64::from(v.steps().unwrap_or(0)) * fma,
        }
    }
}

/// One site.
struct Node {
    /// Which kernel and site.
    place: (usize, usize),
    own: Format,
    op: String,
    /// Cost by format, and by format of the words of pairs.
    cost: Vec<f64>,
    pair_cost: Vec<f64>,
    /// Times that it runs, as guessed, for each of its lanes.
    times: f64,
    users: Vec<usize>,
    /// Part of its bytes that come from memory, if it loads or stores.
    near: f64,
}

/// The score.
pub struct StaticScore<'s> {
    subject: &'s Subject,
    tunable: &'s Tunable,
    weights: Weights,
    nodes: Vec<Node>,
    base: f64,
}

impl<'s> StaticScore<'s> {
    /// Counts the operations of a subject.
    pub fn new(subject: &'s Subject, tunable: &'s Tunable, weights: Weights) -> StaticScore<'s> {
        let mut nodes: Vec<Node> = Vec::new();
        for (at, k) in subject.kernels.iter().enumerate() {
            let first = nodes.len();
            let mut met = BTreeSet::new();
            for s in &k.sites {
                let memory = ["load", "store"].contains(&s.op.as_str());
                let group = tunable.chosen.get(&(at, s.id)).map(|c| c.0);
                let again = group.is_some_and(|g| !met.insert((g, s.op.clone())));
                let times = match weights.loops {
                    true => LOOP.powi(s.loop_depth as i32),
                    false => 1.0,
                };
                let cost = FORMATS.map(|f| weights.operation(&s.op, f));
                let pair_cost = FORMATS.map(|f| weights.pair(&s.op, f));
                nodes.push(Node {
                    place: (at, s.id),
                    own: s.format,
                    op: s.op.clone(),
                    cost: cost.to_vec(),
                    pair_cost: pair_cost.to_vec(),
                    times: times * f64::from(s.lanes.max(1)),
                    users: Vec::new(),
                    near: match (memory, again) {
                        (false, _) => 0.0,
                        (true, false) => 1.0,
                        (true, true) => NEAR,
                    },
                });
            }
            for (site, from) in k.operands.iter().enumerate() {
                for f in from {
                    nodes[first + f].users.push(first + site);
                }
            }
        }
        let mut s = StaticScore {
            subject,
            tunable,
            weights,
            nodes,
            base: 1.0,
        };
        s.base = s.score(&vec![0; tunable.groups.len()]);
        s
    }

    fn format(&self, n: &Node, a: &[u8]) -> SiteFormat {
        let chosen = self.tunable.format(n.place.0, n.place.1, a);
        chosen.unwrap_or(SiteFormat::from(n.own))
    }

    /// A conversion. A word is the high part of a pair of its own kind; the others are split, or added, in both formats.
    fn conversion(&self, from: SiteFormat, to: SiteFormat) -> f64 {
        let (a, b) = (from.word(), to.word());
        match (from.is_pair() || to.is_pair(), a == b) {
            (true, true) => 0.0,
            (true, false) => {
                self.weights.cast(a, b) + self.weights.cast(b, a) + self.weights.plain(Format::F64)
            }
            (false, _) => self.weights.cast(a, b),
        }
    }

    /// Cost of a math call in a format: by the variant of each version, as many warps as run it.
    fn math(&self, n: &Node, format: Format, a: &[u8]) -> Option<f64> {
        let (at, site) = n.place;
        if let Some(f) = self.tunable.made_function(self.subject, at, site, a)
            && self.tunable.variant(self.subject, at, site, a) == MathVariant::Accurate
        {
            let fma = self.weights.get("fma", format);
            let fma = fma.unwrap_or(self.weights.plain(format));
            return Some(f64::from(f.code.slots()) * fma);
        }
        self.tunable.math.get(&n.place)?;
        let first = self.tunable.variant(self.subject, at, site, a);
        let second = self.tunable.second(self.subject, at, site, a);
        let cost = |v| self.weights.variant(&n.op, format, v);
        let part = self.tunable.part(at, a).unwrap_or(0);
        let part = f64::from(part) / f64::from(PARTS);
        Some((1.0 - part) * cost(first) + part * second.map_or(0.0, cost))
    }

    /// What the bytes cost that each kernel loads and stores, by the formats in which they are held; none if
    /// the weights do not tell.
    pub fn memory_by_kernel(&self, a: &[u8]) -> Option<Vec<f64>> {
        let byte = self.weights.byte?;
        let mut all = vec![0.0; self.subject.kernels.len()];
        for n in &self.nodes {
            let scaled = self.tunable.scaled_bytes(n.place.0, n.place.1, a);
            let bytes = scaled.unwrap_or_else(|| self.format(n, a).word().bytes()) as f64;
            all[n.place.0] += byte * bytes * n.near * n.times;
        }
        Some(all)
    }

    /// Cost of all operations and conversions.
    pub fn score(&self, a: &[u8]) -> f64 {
        self.by_kernel(a).iter().sum()
    }

    /// The same, kernel by kernel.
    pub fn by_kernel(&self, a: &[u8]) -> Vec<f64> {
        let formats: Vec<SiteFormat> = self.nodes.iter().map(|n| self.format(n, a)).collect();
        let mut all = vec![0.0; self.subject.kernels.len()];
        for (n, home) in self.nodes.iter().zip(&formats) {
            let word = home.word();
            let at = FORMATS.iter().position(|f| *f == word).unwrap_or(0);
            let cost = match home.is_pair() {
                true => n.pair_cost[at],
                false => self.math(n, word, a).unwrap_or(n.cost[at]),
            };
            let total = &mut all[n.place.0];
            let rewritten = self.tunable.rewritten_cost(n.place.0, n.place.1, a);
            *total += rewritten * cost * n.times;
            let mut wanted: Vec<SiteFormat> = n.users.iter().map(|u| formats[*u]).collect();
            wanted.retain(|f| f != home);
            wanted.sort_unstable();
            wanted.dedup();
            for to in wanted {
                *total += self.conversion(*home, to) * n.times;
            }
        }
        all
    }
}

impl TimePredictor for StaticScore<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        (self.base > 0.0).then(|| self.score(a) / self.base)
    }
    fn describe(&self) -> String {
        self.weights.source.clone()
    }
}
