//! What a campaign came to, in numbers.
use super::campaign::{ComparedRoutes, KernelVerdict};
use crate::random_kernel::{self, Uses};
use std::collections::BTreeMap;
use std::fmt;

/// Counts over the kernels of a campaign.
#[derive(Debug, Default)]
pub struct ReferenceTally {
    kernels: usize,
    compared: usize,
    same_shadows: usize,
    same_flips: usize,
    same_outputs: usize,
    values: usize,
    with_low_word: usize,
    flips: u64,
    with_flips: usize,
    on_host: usize,
    host_reasons: BTreeMap<String, usize>,
    features: [usize; FEATURES.len()],
    differences: Vec<String>,
    failures: Vec<String>,
}

/// A feature of random kernels: its name, and whether a kernel has it.
type Feature = (&'static str, fn(&Uses) -> bool);

/// What the kernels that were compared contain.
const FEATURES: [Feature; 9] = [
    ("f64", |u| u.f64),
    ("f32", |u| u.f32),
    ("f16", |u| u.f16),
    ("math functions", |u| u.math),
    ("branches", |u| u.branches),
    ("loops", |u| u.loops),
    ("shared memory", |u| u.shared),
    ("shuffles", |u| u.shuffle),
    ("integer atomics", |u| u.atomics),
];

impl ReferenceTally {
    /// Counts verdicts by seed.
    pub fn new(verdicts: &BTreeMap<u64, KernelVerdict>) -> ReferenceTally {
        let mut tally = ReferenceTally::default();
        for (seed, verdict) in verdicts {
            tally.kernels += 1;
            match verdict {
                KernelVerdict::Compared(c) => tally.add_compared(*seed, c),
                KernelVerdict::NeedsHost(why) => {
                    tally.on_host += 1;
                    for reason in why {
                        *tally.host_reasons.entry(reason.clone()).or_default() += 1;
                    }
                }
                KernelVerdict::Failed { why, .. } => {
                    tally.failures.push(format!("seed {seed}: {why}"));
                }
            }
        }
        tally
    }

    fn add_compared(&mut self, seed: u64, c: &ComparedRoutes) {
        self.compared += 1;
        self.same_shadows += usize::from(c.shadows_differ.is_empty());
        self.same_flips += usize::from(c.flips_differ.is_empty());
        self.same_outputs += usize::from(c.outputs_differ.is_none());
        self.values += c.values;
        self.with_low_word += c.with_low_word;
        self.flips += c.flips;
        self.with_flips += usize::from(c.flips > 0);
        let uses = random_kernel::module(seed, 1).kernels[0].uses;
        for (n, (_, has)) in self.features.iter_mut().zip(FEATURES) {
            *n += usize::from(has(&uses));
        }
        let found = c.differences();
        let found = found.iter().map(|d| format!("seed {seed}: {d}"));
        self.differences.extend(found);
    }

    /// Some kernels were compared, none differs, and none failed.
    pub fn passed(&self) -> bool {
        self.compared > 0 && self.differences.is_empty() && self.failures.is_empty()
    }
}

impl fmt::Display for ReferenceTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (100 * self.compared).checked_div(self.kernels).unwrap_or(0);
        writeln!(
            f,
            "{} kernels, {} compared ({percent} %), {} left to the tables on both routes, {} failed",
            self.kernels,
            self.compared,
            self.on_host,
            self.failures.len()
        )?;
        writeln!(
            f,
            "  same bits of every shadow: {} of {} ({} values, {} of them with a low word)",
            self.same_shadows, self.compared, self.values, self.with_low_word
        )?;
        writeln!(
            f,
            "  same flips of every comparison: {} of {} ({} flips, in {} kernels)",
            self.same_flips, self.compared, self.flips, self.with_flips
        )?;
        writeln!(
            f,
            "  same outputs of the kernel itself: {} of {}",
            self.same_outputs, self.compared
        )?;
        let features = FEATURES.iter().zip(self.features);
        let features: Vec<String> = features
            .map(|((what, _), n)| format!("{what} {n}"))
            .collect();
        writeln!(f, "  compared kernels with: {}", features.join(", "))?;
        for (why, n) in &self.host_reasons {
            writeln!(f, "  left to the tables, {n} kernels: {why}")?;
        }
        for d in &self.differences {
            writeln!(f, "  different: {d}")?;
        }
        for e in &self.failures {
            writeln!(f, "  failed: {e}")?;
        }
        Ok(())
    }
}
