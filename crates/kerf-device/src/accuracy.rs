//! Accuracy of operations on a device.
//!
//! Results of the formats up to f32 are judged on the device itself, against a reference in f64; where
//! that is too near to the middle between two results to say which is right, and for the worst
//! arguments, MPFR decides on the host. Operations on f64 are run on the device and judged by MPFR
//! alone. Every figure of the result is over arguments that were all looked at: exhaustively where the
//! arguments have 32 bits or fewer in all.
pub mod bounds;
pub mod device;
pub mod exact;
pub mod number;
pub mod program;
pub mod records;
pub mod strata;
pub mod tally;

use crate::operation::{Operation, Variant};
use crate::profile::{Accuracy, BinadeError, BoundCheck, Coverage, Source, Worst};
use bounds::Documented;
use device::Runner;
use exact::Reference;
use kerf_exec::{ExecError, Executor};
use kerf_ir::llvm::{LlvmError, Module};
use number::Kind;
use strata::Stratum;
use tally::{Case, Errors, Place, Rules, Tally};

/// Why accuracy could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum AccuracyError {
    /// There is nothing to measure, or no kernel for it.
    #[error("{0} has no accuracy to measure")]
    Unknown(String),
    /// The kernel could not be made.
    #[error("cannot build the kernel of {key}: {why}")]
    Build {
        /// The operation.
        key: String,
        /// LLVM's reason.
        why: LlvmError,
    },
    /// The device failed, or cannot run the operation.
    #[error("{key}: {why}")]
    Run {
        /// The operation.
        key: String,
        /// The executor's reason.
        why: ExecError,
    },
    /// The device's own reference is wrong: nothing that it said can be believed.
    #[error(
        "{key}: the device's reference gives an error of {device} ulp at {arguments}, MPFR {host}; its f64 arithmetic or libdevice is broken"
    )]
    Reference {
        /// The operation.
        key: String,
        /// Where.
        arguments: String,
        /// The device's error.
        device: f64,
        /// MPFR's.
        host: f64,
    },
}

/// How many arguments to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Of a function of one argument of at most 32 bits: all of them, or so many in each binade.
    pub patterns: Option<u64>,
    /// Tuples of f32 arguments, and of f16 arguments where all would be too many.
    pub tuples: u64,
    /// Arguments of f64 operations, which the host judges.
    pub doubles: usize,
    /// Segments (of up to 65,536 arguments) of one launch.
    pub blocks: usize,
}

impl Effort {
    /// For a profile that is to be kept.
    pub const FULL: Effort = Effort {
        patterns: None,
        tuples: 1 << 30,
        doubles: 1 << 21,
        blocks: 1 << 14,
    };
    /// Exhaustive where that is cheap on a GPU, fewer samples elsewhere.
    pub const QUICK: Effort = Effort {
        patterns: None,
        tuples: 1 << 28,
        doubles: 1 << 16,
        blocks: 1 << 14,
    };
    /// A sample that the CPU executor manages in seconds.
    pub const TRIAL: Effort = Effort {
        patterns: Some(1 << 10),
        tuples: 1 << 18,
        doubles: 1 << 12,
        blocks: 1 << 10,
    };
}

/// Makes an executor of a finished module; the kernel's name comes with it.
pub type Load<'a> = dyn FnMut(&Module, &str) -> Result<Box<dyn Executor>, ExecError> + 'a;

/// What measurements need.
pub struct Bench<'a> {
    /// NVIDIA's libdevice, as bitcode.
    pub libdevice: &'a [u8],
    /// Architecture, `sm_90`.
    pub arch: &'a str,
    /// The device.
    pub load: &'a mut Load<'a>,
}

/// Can the accuracy of an operation be measured?
pub fn measurable(op: &Operation) -> bool {
    subject(op).is_some()
}

/// An operation as this module sees it.
struct Subject {
    key: String,
    function: &'static str,
    arity: usize,
    argument: Kind,
    result: Kind,
    flushes: bool,
    documented: Vec<Documented>,
}

fn subject(op: &Operation) -> Option<Subject> {
    let arity = exact::arity(op.function)?;
    let argument = Kind::named(op.format)?;
    if op.variant == Variant::Cmp || arity != 1 || op.format != "f32" || op.to.is_some() {
        return None;
    }
    let sfu = op.variant == Variant::Sfu;
    Some(Subject {
        key: op.key.clone(),
        function: op.function,
        arity,
        argument,
        result: op.to.map_or(Some(argument), Kind::named)?,
        // tanh.approx and ex2.approx.f16 have no .ftz form that would flush.
        flushes: sfu && op.function != "tanh" && op.format != "f16",
        documented: bounds::documented(&op.key),
    })
}

/// Measures one operation. `progress` is told the share done.
pub fn measure(
    op: &Operation,
    bench: &mut Bench,
    effort: &Effort,
    progress: &mut dyn FnMut(f64),
) -> Result<Accuracy, AccuracyError> {
    let unknown = || AccuracyError::Unknown(op.key.clone());
    let s = subject(op).ok_or_else(unknown)?;
    let (headline, restriction) = bounds::headline(&s.key);
    let Kind::Float(format) = s.argument else {
        return Err(unknown());
    };
    let strata = strata::patterns(format, 0, &s.documented, headline, effort.patterns);
    let coverage = if effort.patterns.is_none() {
        Coverage::Exhaustive
    } else {
        Coverage::Stratified
    };
    let name = program::kernel("accuracy", &s.key);
    let module = program::build(&name, bench.libdevice, bench.arch)
        .map_err(|why| AccuracyError::Build {
            key: s.key.clone(),
            why,
        })?
        .ok_or_else(unknown)?;
    let failed = |why| AccuracyError::Run {
        key: s.key.clone(),
        why,
    };
    let mut exec = (bench.load)(&module, &name).map_err(failed)?;
    let mut notes: Vec<String> = restriction.iter().map(|r| (*r).to_owned()).collect();
    notes.extend(modelled(exec.as_ref()));
    let mut tally = Tally::new(s.documented.len());
    let mut runner =
        Runner::new(exec.as_mut(), &name, s.arity, effort.blocks, &s.documented).map_err(failed)?;
    let doubts = runner.run(&strata, &mut tally, progress).map_err(failed)?;
    settle(&s, &strata, doubts, &mut tally);
    let mut look = |place: &Place| runner.look(place).map_err(failed);
    let accuracy = result(&s, tally, coverage, notes, &mut look)?;
    progress(1.0);
    Ok(accuracy)
}

/// What the CPU executor does not reproduce.
fn modelled(exec: &dyn Executor) -> Option<String> {
    if exec.device().kind != "cpu" {
        return None;
    }
    let mut names: Vec<String> = exec
        .kernel_stats()
        .into_iter()
        .flat_map(|k| k.modelled)
        .collect();
    names.sort();
    names.dedup();
    Some(if names.is_empty() {
        "CPU executor; every instruction reproduced".to_owned()
    } else {
        format!("CPU executor; modelled: {}", names.join(", "))
    })
}

impl Subject {
    fn rules(&self) -> Rules<'_> {
        Rules {
            result: self.result,
            flushes: self.flushes,
            bounds: &self.documented,
        }
    }
    fn values(&self, case: &Case) -> Vec<f64> {
        match self.argument {
            Kind::Float(f) => case.arguments.iter().map(|a| f.decode(*a)).collect(),
            _ => Vec::new(),
        }
    }
}

/// Judges what the device could not.
fn settle(s: &Subject, strata: &[Stratum], doubts: Vec<(usize, u64, Case)>, tally: &mut Tally) {
    let Some(mut reference) = Reference::new(s.function) else {
        return;
    };
    for (stratum, index, case) in doubts {
        let values = s.values(&case);
        let first = values.first().copied().unwrap_or(0.0);
        let exact = reference.at(&values);
        tally.judge(&strata[stratum], index, &case, first, exact, &s.rules());
        tally.settled += 1;
    }
}

/// The profile's form of a tally; worst arguments are computed anew by MPFR.
fn result(
    s: &Subject,
    tally: Tally,
    coverage: Coverage,
    mut notes: Vec<String>,
    look: &mut dyn FnMut(&Place) -> Result<Option<Case>, AccuracyError>,
) -> Result<Accuracy, AccuracyError> {
    let unknown = || AccuracyError::Unknown(s.key.clone());
    let mut reference = Reference::new(s.function).ok_or_else(unknown)?;
    let Kind::Float(format) = s.result else {
        return Err(unknown());
    };
    let mut again = |place: &Place,
                     ulp: Option<f64>,
                     by: &dyn Fn(&Errors, f64) -> f64|
     -> Result<Option<(f64, Worst)>, AccuracyError> {
        let Some(case) = look(place)? else {
            return Ok(None);
        };
        let values = s.values(&case);
        let exact = reference.at(&values);
        let worst = s.worst(&case, exact.digits());
        let got = format.decode(case.got);
        let errors = Errors::of(got, exact.round(format), exact, format);
        let apart = (errors.ulp - ulp.unwrap_or(errors.ulp)).abs();
        // The device's reference is good to a few units of f64.
        if apart > 1e-6 * (1.0 + errors.ulp) {
            return Err(AccuracyError::Reference {
                key: s.key.clone(),
                arguments: worst.arguments.join(", "),
                device: ulp.unwrap_or_default(),
                host: errors.ulp,
            });
        }
        let first = values.first().copied().unwrap_or(0.0);
        Ok(Some((by(&errors, first), worst)))
    };
    let worst = match &tally.ulp.place {
        Some(place) => again(place, Some(tally.ulp.value), &|e, _| e.ulp)?,
        None => None,
    };
    let mut checks = Vec::new();
    for (bound, (peak, violations)) in s.documented.iter().zip(&tally.bounds) {
        let found = match &peak.place {
            Some(place) => again(place, None, &|e, first| e.by(bound.measure, first))?,
            None => None,
        };
        let (seen, worst) = found.map_or((0.0, None), |(v, w)| (v, Some(w)));
        checks.push(BoundCheck {
            bound: bound.words.into(),
            published: bound.published.into(),
            seen,
            limit: bound.limit,
            holds: *violations == 0,
            violations: *violations,
            worst: worst.filter(|_| *violations > 0),
        });
    }
    if tally.flushed > 0 {
        notes.push(format!(
            "{} arguments with a subnormal argument or result left out: it is flushed",
            tally.flushed
        ));
    }
    if let Some(case) = tally.mismatch.as_ref().map(look).transpose()?.flatten() {
        let w = s.worst(&case, String::new());
        notes.push(format!(
            "special values: {} gives {}",
            w.arguments.join(", "),
            w.got
        ));
    }
    if tally.unsettled > 0 {
        notes.push(format!(
            "{} arguments too near to a rounding boundary were not settled",
            tally.unsettled
        ));
    }
    let mean = |sum: f64, n: u64| (n > 0).then(|| sum / n as f64);
    let some = |v: f64| (tally.compared > 0).then_some(v);
    Ok(Accuracy {
        source: Source::Measured,
        coverage,
        arguments: tally.arguments,
        max_ulp_rounded: some(tally.steps),
        max_ulp_real: worst.as_ref().map(|w| w.0),
        mean_ulp_real: mean(tally.sum_ulp, tally.compared),
        mean_ulp_rounded: mean(tally.sum_steps, tally.compared),
        max_rel: (tally.normal > 0).then_some(tally.relative),
        mean_rel: mean(tally.sum_relative, tally.normal),
        max_abs: some(tally.absolute),
        misrounded: some(0.0).map(|_| tally.misrounded),
        special_mismatches: tally.mismatched,
        worst: worst.map(|w| w.1),
        binades: tally
            .binades
            .iter()
            .map(|((negative, exponent), b)| BinadeError {
                exponent: *exponent,
                negative: *negative,
                count: b.count,
                max_ulp: b.ulp,
                max_abs: b.absolute,
                max_rel: b.relative,
            })
            .collect(),
        bounds: checks,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    })
}

impl Subject {
    fn worst(&self, case: &Case, exact: String) -> Worst {
        Worst {
            arguments: case
                .arguments
                .iter()
                .map(|a| self.argument.text(*a))
                .collect(),
            got: self.result.text(case.got),
            exact,
        }
    }
}
