//! The line of the source that a refusal is about.
use kerf_llvm::Value;

/// Line of the source, where it is known; printed as ` at line 7`, or as nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLine(pub Option<u32>);

impl AtLine {
    /// Where an instruction is from.
    pub(crate) fn new(i: Value) -> AtLine {
        AtLine(kerf_ir::sites::location(i, "").map(|l| l.line))
    }
}

impl std::fmt::Display for AtLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(l) => write!(f, " at line {l}"),
            None => Ok(()),
        }
    }
}
