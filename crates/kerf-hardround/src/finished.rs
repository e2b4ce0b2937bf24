//! What is known of the units that are done: sums and cases, so that memory does not grow with their number.
use crate::group::GroupRecord;
use crate::leaf::PieceMethod;
use crate::search::PhaseCounts;
use crate::unit_record::Written;
use crate::unit_set::UnitSet;
use std::collections::BTreeMap;

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
    pub units: UnitSet,
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
    /// The first of each group that has some, by its first unit.
    pub exact_first: BTreeMap<u64, Vec<String>>,
}

impl FinishedUnits {
    /// One more group; one of which units are there already changes nothing.
    pub fn add(&mut self, u: GroupRecord) {
        if self.units.count_in(&u.range()) > 0 {
            return;
        }
        self.units.insert(u.range());
        self.arguments += u.length;
        self.counts.add(&u.counts);
        for (sum, (method, _)) in self.trivial.iter_mut().zip(TRIVIAL) {
            *sum += u.methods.get(method.name()).copied().unwrap_or(0);
        }
        self.exact += u.exact;
        if !u.exact_first.is_empty() {
            self.exact_first.insert(u.unit, u.exact_first);
        }
        self.cases
            .extend(u.cases.iter().filter_map(|c| Written::from_line(c)));
    }
}
