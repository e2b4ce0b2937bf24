//! What is known of the units that are done: sums and cases, so that memory does not grow with their number.
use crate::certificate::{UnitRecord, Written};
use crate::leaf::PieceMethod;
use crate::search::PhaseCounts;
use std::collections::{BTreeMap, BTreeSet};

/// Ways of dealing with arguments that are worth saying.
pub const TRIVIAL: [(PieceMethod, &str); 4] = [
    (
        PieceMethod::AllHard,
        "all hard: the value stays next to numbers of the format; not listed",
    ),
    (
        PieceMethod::NoneHard,
        "none hard: the value stays away from them",
    ),
    (
        PieceMethod::Overflow,
        "overflow: results beyond the largest number",
    ),
    (
        PieceMethod::Underflow,
        "underflow: results below a quarter of the smallest number",
    ),
];

/// Units that are done.
#[derive(Debug, Default)]
pub struct FinishedUnits {
    /// Their numbers.
    pub numbers: BTreeSet<u64>,
    /// Their arguments.
    pub arguments: u64,
    /// What the phases saw.
    pub counts: PhaseCounts,
    /// Hard cases, in no order.
    pub cases: Vec<Written>,
    /// Arguments by [`TRIVIAL`].
    pub trivial: [u64; TRIVIAL.len()],
    /// Exact cases.
    pub exact: u64,
    /// The first of each unit that has some.
    pub exact_first: BTreeMap<u64, Vec<String>>,
}

impl FinishedUnits {
    /// One more; one that is there already changes nothing.
    pub fn add(&mut self, u: UnitRecord) {
        if !self.numbers.insert(u.unit) {
            return;
        }
        self.arguments += u.length;
        self.counts.add(&u.counts);
        for (sum, (method, _)) in self.trivial.iter_mut().zip(TRIVIAL) {
            let alike = u.pieces.iter().filter(|p| p.method == method);
            *sum += alike.map(|p| p.length).sum::<u64>();
        }
        self.exact += u.exact;
        if !u.exact_first.is_empty() {
            self.exact_first.insert(u.unit, u.exact_first);
        }
        self.cases.extend(u.cases);
    }
}
