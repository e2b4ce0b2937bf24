//! What a trial of a candidate on one input finds.
use kerf_exec::ExecError;
use kerf_exec::cpu::launch::FaultKind;
use kerf_num::metrics::Rejection;
use serde::{Deserialize, Serialize};

/// What is wrong with a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Defect {
    /// It does not compile.
    NotCompiled,
    /// It cannot be launched where the original can.
    NotLaunched,
    /// Its error is beyond the tolerance, and larger than the original's.
    Inaccurate,
    /// NaN or infinity where the reference has none, or the other way round.
    NotFinite,
    /// Integers differ.
    IntegersDiffer,
    /// It leaves values unwritten that the original writes.
    Unwritten,
    /// It writes what the original leaves alone: values of an output, or an input.
    StrayWrite,
    /// It reads outside of its buffers.
    ReadOutside,
    /// It writes outside of its buffers.
    WriteOutside,
    /// Two accesses of one location that nothing orders.
    Race,
    /// A result depends on memory that was never written.
    Uninitialised,
    /// Its results depend on what it computed before.
    KeptState,
    /// Its results depend on what its outputs held before.
    MemoryContents,
    /// Its results depend on the order of its blocks.
    BlockOrder,
    /// Undefined behaviour of another kind: alignment, absent lanes, barriers, overflowing addresses.
    Undefined,
    /// It trapped, ran out of stack or waits for ever.
    Faulted,
    /// It did not end in time, or ended its process.
    Died,
}

impl Defect {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Defect::NotCompiled => "does not compile",
            Defect::NotLaunched => "cannot be launched where the original can",
            Defect::Inaccurate => "error beyond the tolerance",
            Defect::NotFinite => {
                "NaN or infinity where the reference has none, or none where it has"
            }
            Defect::IntegersDiffer => "integers differ",
            Defect::Unwritten => "leaves values unwritten that the original writes",
            Defect::StrayWrite => "writes what the original leaves alone",
            Defect::ReadOutside => "reads outside of its buffers",
            Defect::WriteOutside => "writes outside of its buffers",
            Defect::Race => "race",
            Defect::Uninitialised => "depends on memory that was never written",
            Defect::KeptState => "depends on earlier runs",
            Defect::MemoryContents => "depends on what its outputs held before",
            Defect::BlockOrder => "depends on the order of blocks",
            Defect::Undefined => "undefined behaviour",
            Defect::Faulted => "fault",
            Defect::Died => "did not end",
        }
    }

    /// What a rejected output tells.
    pub(super) fn from_rejection(r: Rejection) -> Defect {
        match r {
            Rejection::NothingCompared | Rejection::NotFiniteMismatch | Rejection::NanPairs => {
                Defect::NotFinite
            }
            Rejection::IntegersDiffer => Defect::IntegersDiffer,
            Rejection::BeyondTolerance => Defect::Inaccurate,
        }
    }

    /// What a failed run tells; none where it is not the kernel that failed.
    pub(super) fn from_failure(e: &ExecError) -> Option<Defect> {
        let (kind, writes) = match e {
            ExecError::Fault(f) => (f.kind, f.out_of_bounds.as_ref().is_some_and(|o| o.writes)),
            ExecError::Undefined { kind, .. } => (*kind, false),
            _ => return None,
        };
        Some(match kind {
            FaultKind::Memory if writes => Defect::WriteOutside,
            FaultKind::Memory => Defect::ReadOutside,
            FaultKind::Race => Defect::Race,
            FaultKind::Uninitialised => Defect::Uninitialised,
            FaultKind::Alignment | FaultKind::Lane | FaultKind::Barrier | FaultKind::Overflow => {
                Defect::Undefined
            }
            FaultKind::Trap | FaultKind::Assert | FaultKind::Stack | FaultKind::Deadlock => {
                Defect::Faulted
            }
        })
    }
}

/// A defect, and where it shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateFinding {
    /// What is wrong.
    pub defect: Defect,
    /// Output or buffer that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<String>,
    /// In words: which element, which access.
    pub message: String,
}

/// Why an input says nothing of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", content = "message", rename_all = "snake_case")]
pub enum LeftOut {
    /// The workload cannot have these sizes.
    Impossible(String),
    /// The original faults, or relies on undefined behaviour.
    OriginalFaults(String),
    /// The original itself misses the tolerance.
    OriginalInaccurate(String),
    /// The original's results depend on the order of blocks, or on earlier runs.
    OriginalUnsteady(String),
}

impl LeftOut {
    /// In words.
    pub fn words(&self) -> String {
        let (what, message) = match self {
            LeftOut::Impossible(m) => ("the workload cannot have these sizes", m),
            LeftOut::OriginalFaults(m) => ("the original faults", m),
            LeftOut::OriginalInaccurate(m) => ("the original misses the tolerance", m),
            LeftOut::OriginalUnsteady(m) => ("the original's own results vary", m),
        };
        format!("{what}: {message}")
    }
}

/// Errors of an output, of both programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputErrors {
    /// Output.
    pub name: String,
    /// Error of the original by the metric; none where it is infinite or nothing could be compared.
    pub original: Option<f64>,
    /// Error of the candidate, as `original`.
    pub candidate: Option<f64>,
    /// What was asked for.
    pub tolerance: f64,
    /// What the candidate's error may be: the tolerance, or where the input is ill conditioned what a change of the inputs
    /// by one unit in the last place explains. None: anything, since such a change makes the result infinite or NaN.
    pub allowed: Option<f64>,
}

/// What came of one input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CandidateReport {
    /// Digest of the inputs: equal ones are one input.
    pub inputs: String,
    /// Why it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Errors of both programs, by output.
    pub outputs: Vec<OutputErrors>,
    /// What is wrong with the candidate.
    pub findings: Vec<CandidateFinding>,
    /// What was noticed and decides nothing.
    pub notes: Vec<String>,
}
