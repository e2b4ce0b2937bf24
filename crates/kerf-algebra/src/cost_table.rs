//! What operations cost, as a device profile says it.
use kerf_ir::pure_operation::PureOperation;
use std::collections::BTreeMap;

/// Costs of operations on a device in one format.
#[derive(Debug, Clone, PartialEq)]
pub struct CostTable {
    clocks: BTreeMap<PureOperation, f64>,
    reciprocal: f64,
}

impl CostTable {
    /// Asks for the cost of each operation, in clocks or any other unit, by its name in device profiles.
    pub fn new(cost: impl Fn(&str) -> f64) -> CostTable {
        use PureOperation::*;
        let one = |o: PureOperation| {
            let clocks = match o {
                // Modifiers of other instructions.
                Neg | Abs => 0.0,
                Sub => cost("add"),
                o => cost(o.name()),
            };
            (o, clocks)
        };
        CostTable {
            clocks: PureOperation::all().map(one).collect(),
            reciprocal: cost("rcp"),
        }
    }

    /// Cost of an operation; a division may be one of 1.
    pub fn clocks(&self, o: PureOperation, reciprocal: bool) -> f64 {
        match reciprocal {
            true => self.reciprocal,
            false => self.clocks.get(&o).copied().unwrap_or(0.0),
        }
    }
}
