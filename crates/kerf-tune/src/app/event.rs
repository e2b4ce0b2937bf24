//! What the tuner of applications tells whoever watches it.
use super::evaluate::EvaluationFailure;
use super::result::KernelShare;

/// What happens, for who watches.
#[derive(Debug)]
pub enum AppEvent<'e> {
    /// What a reader must know.
    Warning(&'e str),
    /// The program itself ran: seconds, kernels that are tuned, groups.
    Prepared(f64, &'e [KernelShare], usize),
    /// An evaluation: how many, error or failure, time.
    Evaluated(usize, Result<f64, &'e EvaluationFailure>, Option<f64>),
    /// Candidates are replayed: calls and bytes of the record, seconds of one replay.
    Replayed(u64, u64, f64),
    /// A plan of the search that the program does not confirm: its speed-up, and why.
    Rejected(f64, &'e str),
    /// A kernel is tuned alone from here on.
    Alone(&'e str),
    /// A kernel has nothing but memory that others share, so it is not tuned alone.
    Shared(&'e str),
    /// The plans of kernels that were tuned alone run together.
    Together,
}
