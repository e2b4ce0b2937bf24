//! What a search tells whoever watches it.
use crate::result::{Demoted, Floor};
use crate::store::Phase;

/// What happens, for who watches.
#[derive(Debug)]
pub enum TuneEvent<'e> {
    /// What will be searched.
    Prepared {
        /// Groups.
        groups: usize,
        /// Sites in them.
        sites: usize,
        /// Sites that cannot change.
        excluded: usize,
        /// Possible plans, capped.
        plans: u64,
    },
    /// Plans are compiled, to predict their times.
    Compiled {
        /// So many.
        done: usize,
        /// Of so many.
        of: usize,
    },
    /// What the program itself does.
    Floor(&'e Floor),
    /// What a reader must know.
    Warning(&'e str),
    /// What a reader may want to know.
    Note(&'e str),
    /// An evaluation ended.
    Evaluated {
        /// What for.
        phase: Phase,
        /// How many there are now.
        done: usize,
        /// How many there may be.
        budget: usize,
        /// Its error; none if infinite or failed.
        error: Option<f64>,
        /// Its time over that of the program.
        time: Option<f64>,
        /// Best time within the tolerance so far, and its error.
        best: Option<(f64, f64)>,
        /// The tolerance.
        tolerance: f64,
        /// Seconds that the budget will take at most.
        left_s: f64,
    },
    /// A plan failed on other inputs.
    Demoted(&'e Demoted),
}

/// Hears of each event.
pub(crate) type Watch<'w> = dyn FnMut(&TuneEvent) + Send + 'w;
