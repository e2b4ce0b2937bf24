//! Accuracy of operations on a device.
//!
//! [`measure`] measures one operation of the catalogue, by its key:
//!
//! ```no_run
//! # use kerf_device::accuracy::{measure, AccuracyBench, ArgumentEffort};
//! # fn f(bench: &mut AccuracyBench) -> Result<(), kerf_device::accuracy::AccuracyError> {
//! let accuracy = measure("exp.f32.sfu", bench, &ArgumentEffort::QUICK, &mut |share| {
//!     // told now and then how much is done, from 0 to 1
//! })?;
//! // None: a load, a selection or an integer sum has no accuracy.
//! # Ok(()) }
//! ```
//!
//! Results of the formats up to f32 are judged on the device itself, against a reference in f64; where
//! that is too near to the middle between two results to say which is right, and for the worst
//! arguments, MPFR decides on the host. Operations on f64, on 64-bit integers and on double words are
//! run on the device and judged by MPFR alone, on all cores of the host. Functions of one argument of at
//! most 32 bits are measured on every argument there is.
pub mod arguments;
pub mod bounds;
pub mod device;
pub mod errors;
pub mod exact;
pub mod number;
pub mod program;
pub mod ranges;
pub mod records;
pub mod report;
pub mod strata;
pub mod subject;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod tuples;
pub mod values;

use crate::operation::{Operation, find};
use crate::profile::{Accuracy, Coverage};
use device::KernelRunner;
use exact::ExactFunction;
use kerf_exec::{DeviceKind, ExecError, Executor};
use kerf_llvm::{LlvmError, Module};
use number::NumberKind;
use strata::Stratum;
use subject::{AccuracySubject, ArgumentOrigin};
use tally::{AccuracyTally, ArgumentCase, ErrorPlace, JudgedCase};

/// Why accuracy could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum AccuracyError {
    /// No operation has that key, or no kernel measures it.
    #[error("there is no operation {0}, or no kernel that measures it")]
    Unknown(String),
    /// The device is too old.
    #[error("{key} needs sm_{needs}, this device is {arch}")]
    TooOld {
        /// The operation.
        key: String,
        /// The first architecture that has it.
        needs: u32,
        /// The device's.
        arch: String,
    },
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
pub struct ArgumentEffort {
    /// Of a function of one argument of at most 32 bits: all of them, or so many in each binade.
    pub patterns: Option<u64>,
    /// All pairs of 16-bit arguments.
    pub pairs: bool,
    /// Tuples of f32 arguments, and of 16-bit ones where not all are taken.
    pub tuples: u64,
    /// Arguments of f64 operations, which the host judges; half as many of double words.
    pub doubles: usize,
    /// Segments (of up to 65,536 arguments) of one launch.
    pub blocks: usize,
}

impl ArgumentEffort {
    /// For a profile that is to be kept.
    pub const FULL: ArgumentEffort = ArgumentEffort {
        patterns: None,
        pairs: true,
        tuples: 1 << 28,
        doubles: 1 << 21,
        blocks: 1 << 14,
    };
    /// Exhaustive where that is cheap on a GPU, fewer samples elsewhere.
    pub const QUICK: ArgumentEffort = ArgumentEffort {
        patterns: None,
        pairs: false,
        tuples: 1 << 24,
        doubles: 1 << 16,
        blocks: 1 << 14,
    };
    /// A sample that the CPU executor manages in seconds.
    pub const TRIAL: ArgumentEffort = ArgumentEffort {
        patterns: Some(1 << 10),
        pairs: false,
        tuples: 1 << 18,
        doubles: 1 << 13,
        blocks: 1 << 10,
    };
}

/// Makes an executor of a finished module; the kernel's name comes with it.
pub type Load<'a> = dyn FnMut(&Module, &str) -> Result<Box<dyn Executor>, ExecError> + 'a;

/// What measurements need.
pub struct AccuracyBench<'a> {
    /// NVIDIA's libdevice, as bitcode.
    pub libdevice: &'a [u8],
    /// Architecture, `sm_90`.
    pub arch: &'a str,
    /// The device.
    pub load: &'a mut Load<'a>,
    /// Arguments to look at besides, by key of an f64 operation of one argument: hard-to-round ones.
    pub hard: &'a [(String, Vec<f64>)],
}

/// The operation that a list of hard-to-round arguments of a function is for, if its accuracy is measured on f64
/// arguments from the host.
pub fn takes_lists(function: &str) -> Option<String> {
    let key = format!("{function}.f64");
    let s = AccuracySubject::for_operation(&find(&key)?)?;
    (s.way == ArgumentOrigin::Values && s.arity == 1).then_some(key)
}

/// Can the accuracy of an operation be measured?
pub fn measurable(op: &Operation) -> bool {
    AccuracySubject::for_operation(op).is_some()
}

/// Measures one operation of the catalogue; none where there is no accuracy to speak of. `progress` is
/// told the share done.
pub fn measure(
    key: &str,
    bench: &mut AccuracyBench,
    effort: &ArgumentEffort,
    progress: &mut dyn FnMut(f64),
) -> Result<Option<Accuracy>, AccuracyError> {
    let op = find(key).ok_or_else(|| AccuracyError::Unknown(key.into()))?;
    let Some(s) = AccuracySubject::for_operation(&op) else {
        return Ok(None);
    };
    let accuracy = measure_subject(&s, bench, effort, progress)?;
    progress(1.0);
    Ok(Some(accuracy))
}

/// Measures a subject that need not be of the catalogue.
fn measure_subject(
    s: &AccuracySubject,
    bench: &mut AccuracyBench,
    effort: &ArgumentEffort,
    progress: &mut dyn FnMut(f64),
) -> Result<Accuracy, AccuracyError> {
    let digits = bench.arch.trim_start_matches("sm_");
    let digits = digits.trim_end_matches(|c: char| !c.is_ascii_digit());
    if digits.parse().is_ok_and(|have: u32| have < s.since) {
        // LLVM would end the process.
        return Err(AccuracyError::TooOld {
            key: s.key.clone(),
            needs: s.since,
            arch: bench.arch.into(),
        });
    }
    let prefix = match s.way {
        ArgumentOrigin::Values => "values",
        ArgumentOrigin::Patterns | ArgumentOrigin::Tuples => "accuracy",
    };
    let name = program::kernel(prefix, &s.key);
    let module = program::build(&name, bench.libdevice, bench.arch)
        .map_err(|why| AccuracyError::Build {
            key: s.key.clone(),
            why,
        })?
        .ok_or_else(|| AccuracyError::Unknown(s.key.clone()))?;
    let failed = |why| AccuracyError::Run {
        key: s.key.clone(),
        why,
    };
    let mut exec = (bench.load)(&module, &name).map_err(failed)?;
    let mut notes: Vec<String> = s.headline.words.iter().map(|r| (*r).to_owned()).collect();
    notes.extend(s.restriction());
    notes.extend(modelled(exec.as_ref()));
    let mut tally = AccuracyTally::new(s.documented.len());
    if s.way == ArgumentOrigin::Values {
        let n = match s.argument {
            NumberKind::Double(_) => effort.doubles / 2,
            _ => effort.doubles,
        };
        let mut arguments = arguments::words(s, n);
        let mut lists = 0;
        for (_, more) in bench.hard.iter().filter(|(k, _)| *k == s.key) {
            arguments.extend(more.iter().map(|x| x.to_bits()));
            lists += more.len();
        }
        if lists > 0 {
            notes.push(format!(
                "{lists} hard-to-round arguments of lists among them"
            ));
        }
        values::run(s, exec.as_mut(), &name, &arguments, &mut tally, progress).map_err(failed)?;
        let mut look = |place: &ErrorPlace| Ok(place.case());
        return report::report(s, tally, Coverage::Stratified, notes, &mut look);
    }
    let (strata, coverage) = strata_of(s, effort);
    let mut runner = KernelRunner::new(exec.as_mut(), &name, s.arity, effort.blocks, &s.documented)
        .map_err(failed)?;
    let doubts = runner.run(&strata, &mut tally, progress).map_err(failed)?;
    settle(s, &strata, doubts, &mut tally);
    let mut look = |place: &ErrorPlace| runner.look(place).map_err(failed);
    report::report(s, tally, coverage, notes, &mut look)
}

/// The arguments that the device goes through.
fn strata_of(s: &AccuracySubject, effort: &ArgumentEffort) -> (Vec<Stratum>, Coverage) {
    let coverage = |all: bool| match all {
        true => Coverage::Exhaustive,
        false => Coverage::Stratified,
    };
    let domain = s.headline.domain;
    match (s.argument, s.way) {
        (NumberKind::Float(f), ArgumentOrigin::Patterns) => (
            strata::patterns(f, 0, &s.documented, domain, effort.patterns),
            coverage(effort.patterns.is_none()),
        ),
        (NumberKind::Float(f), _) if s.arity == 2 && f.bytes() == 2 && effort.pairs => (
            strata::patterns(f, 16, &s.documented, domain, None),
            coverage(true),
        ),
        (NumberKind::Float(f), _) => (tuples::tuples(s, f, effort.tuples), coverage(false)),
        _ => (
            strata::integers(&s.documented, effort.patterns),
            coverage(effort.patterns.is_none()),
        ),
    }
}

/// What the CPU executor does not reproduce.
fn modelled(exec: &dyn Executor) -> Option<String> {
    if exec.device().kind != DeviceKind::Cpu {
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

/// Judges what the device could not.
fn settle(
    s: &AccuracySubject,
    strata: &[Stratum],
    doubts: Vec<(usize, u64, ArgumentCase)>,
    tally: &mut AccuracyTally,
) {
    let Some(mut reference) = ExactFunction::new(s.function, s.argument) else {
        return;
    };
    let rules = s.rules();
    for (stratum, index, case) in doubts {
        let sample = JudgedCase {
            index,
            arguments: &case.arguments,
            got: &case.got,
        };
        let exact = reference.at(&case.arguments);
        let first = s.value(&case.arguments, 0);
        tally.judge(&strata[stratum], sample, first, exact, &rules);
        tally.settled += 1;
    }
}
