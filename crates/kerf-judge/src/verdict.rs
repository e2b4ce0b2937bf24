//! What a judgement says, as the document that programs read.
use crate::cases::Case;
use crate::speed::{Pace, Speed};
use kerf_num::Metric;
use kerf_run::job::{CandidateFinding, Defect, LeftOut, OutputErrors};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Name and version of the document.
pub const SCHEMA: &str = "kerf.judge/1";

/// The decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateDecision {
    /// Correct on every input that counts, and not slower.
    Accepted,
    /// Wrong on some input, or slower.
    Refused,
    /// No input counts, or something could not be judged.
    Undecided,
}

impl CandidateDecision {
    /// The exit code of the command.
    pub fn exit_code(self) -> i32 {
        match self {
            CandidateDecision::Accepted => 0,
            CandidateDecision::Refused => 1,
            CandidateDecision::Undecided => 2,
        }
    }

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            CandidateDecision::Accepted => "accepted",
            CandidateDecision::Refused => "refused",
            CandidateDecision::Undecided => "undecided",
        }
    }
}

/// What came of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseOutcome {
    /// The candidate is right.
    Passed,
    /// It is wrong.
    Failed,
    /// The input says nothing.
    LeftOut,
    /// The same input as an earlier one.
    Same,
    /// Time was up.
    NotTried,
}

/// An input, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedCase {
    /// The input.
    #[serde(flatten)]
    pub case: Case,
    /// What came of it.
    pub outcome: CaseOutcome,
    /// Why it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Errors of both programs, by output.
    pub outputs: Vec<OutputErrors>,
    /// What is wrong.
    pub findings: Vec<CandidateFinding>,
}

/// A defect of the candidate, at the smallest input that shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundDefect {
    /// What is wrong.
    pub defect: Defect,
    /// In words.
    pub words: String,
    /// Inputs that show it.
    pub inputs: usize,
    /// The first of them.
    pub first: String,
    /// The smallest that was found.
    pub smallest: Case,
    /// What it says there: which element, which access.
    pub message: String,
}

/// Largest errors of an output over all inputs that count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstErrors {
    /// Output.
    pub name: String,
    /// Of the original, on inputs where it could be measured.
    pub original: Option<f64>,
    /// Of the candidate; none where one of its errors is infinite or could not be measured.
    pub candidate: Option<f64>,
    /// Inputs on which both were measured.
    pub inputs: usize,
}

/// How many inputs there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCounts {
    /// Those that were tried.
    pub tried: usize,
    /// Those that were not, since time was up.
    pub not_tried: usize,
    /// Those that say something.
    pub counted: usize,
    /// Those on which the candidate is wrong.
    pub failed: usize,
    /// Those that say nothing.
    pub left_out: usize,
    /// Those that were the same as earlier ones.
    pub same: usize,
    /// Those on which an error beyond the tolerance is let pass, since a change of the inputs by one unit in the last place
    /// explains it.
    pub ill_conditioned: usize,
    /// Those of the counted ones that ran with every access checked.
    pub checked: usize,
}

/// A judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateVerdict {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of Kerf.
    pub kerf: String,
    /// The decision.
    pub decision: CandidateDecision,
    /// Is it right on every input that counts? None where none counts but values at the edges of their formats.
    pub correct: Option<bool>,
    /// Is it faster?
    pub pace: Pace,
    /// Faster was asked for.
    pub must_be_faster: bool,
    /// The original's source.
    pub original: PathBuf,
    /// The candidate's.
    pub candidate: PathBuf,
    /// The workload.
    pub workload: PathBuf,
    /// What errors are.
    pub metric: Metric,
    /// What they may be.
    pub tolerance: f64,
    /// How many inputs there were.
    pub inputs: InputCounts,
    /// Largest errors, by output.
    pub errors: Vec<WorstErrors>,
    /// What is wrong, the most frequent first among those that were seen first.
    pub defects: Vec<FoundDefect>,
    /// Times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<Speed>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_speed: Option<String>,
    /// What was noticed and decides nothing.
    pub notes: Vec<String>,
    /// All inputs.
    pub cases: Vec<TriedCase>,
    /// Seconds that it took.
    pub wall_s: f64,
}

impl CandidateVerdict {
    /// Why it is undecided, in a sentence; from the reasons why inputs were left out.
    pub fn why_undecided(&self) -> Option<String> {
        if self.decision != CandidateDecision::Undecided {
            return None;
        }
        let mut reasons: Vec<String> = Vec::new();
        for c in &self.cases {
            let why = c.left_out.as_ref().map(LeftOut::words);
            if let Some(why) = why.filter(|w| !reasons.contains(w)) {
                reasons.push(why);
            }
        }
        reasons.truncate(3);
        Some(format!(
            "no input with the workload's own values counts: {}",
            match reasons.is_empty() {
                true => "there are none".to_owned(),
                false => reasons.join("; "),
            }
        ))
    }
}
