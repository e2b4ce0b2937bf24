//! The smallest sizes at which a defect shows: each size in turn, by bisection between one at which it does not show and one
//! at which it does. Deterministic; whether a defect shows need not be monotonic, so the result is a size below which the
//! bisection found none, and always one at which it was seen.
use crate::cases::Case;
use crate::trials::{CandidateTrials, TrialWorker};
use kerf_run::job::{Defect, JobError};
use std::time::Instant;

/// Runs for one defect, at most.
const MOST_RUNS: usize = 48;

/// The smallest case found, and the message there.
pub struct Minimised {
    /// The input.
    pub case: Case,
    /// What the defect says there.
    pub message: String,
    /// Runs that it took.
    pub runs: usize,
}

/// Reduces the sizes of a case as long as the candidate shows the defect.
pub fn minimise(
    trials: &CandidateTrials,
    worker: &mut TrialWorker,
    case: &Case,
    defect: Defect,
    message: String,
) -> Result<Minimised, JobError> {
    let mut best = Minimised {
        case: case.clone(),
        message,
        runs: 0,
    };
    for d in 0..case.sizes.len() {
        let (mut passes, mut fails) = (0, best.case.sizes[d].1);
        // The least first: it decides most often.
        let mut next = 1;
        let in_time = |runs| runs < MOST_RUNS && Instant::now() < trials.deadline;
        while next > passes && next < fails && in_time(best.runs) {
            let mut smaller = best.case.clone();
            smaller.sizes[d].1 = next;
            smaller.name = crate::cases::sizes_in_words(&smaller.sizes);
            best.runs += 1;
            let report = trials.case(worker, &smaller)?;
            match report.findings.into_iter().find(|f| f.defect == defect) {
                Some(f) => {
                    fails = next;
                    (best.case, best.message) = (smaller, f.message);
                }
                None => passes = next,
            }
            next = passes + (fails - passes) / 2;
        }
    }
    Ok(best)
}
