//! Sites in other formats, whichever pass builds them.
use crate::carry::carry;
use crate::engine::{self, Build, ChosenFormats, FormatEngine};
use crate::format_refusal::FormatRefusal;
use crate::shuffle;
use crate::site_format::SiteFormat;
use crate::{composite, doubleword, lower};
use kerf_llvm::{Builder, LlvmError, Module, PassOptions, TargetMachine, Value};

struct Both;

impl Build for Both {
    fn build(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        to: SiteFormat,
    ) -> Result<Value, LlvmError> {
        match to.is_pair() {
            true => composite::Pass.build(e, b, i, to),
            false => lower::Pass.build(e, b, i, to),
        }
    }
}

/// Whether an instruction can be computed in a format that is not its own; the reason if not.
pub fn check(i: Value, to: SiteFormat) -> Result<(), FormatRefusal> {
    match to.is_pair() {
        true => composite::check(i, to),
        false => lower::check(i, to),
    }
}

/// Computes the chosen instructions, each of which [`check`] has passed, in their formats.
pub fn apply(m: &Module, mut chosen: ChosenFormats) -> Result<(), LlvmError> {
    if chosen.is_empty() {
        return Ok(());
    }
    carry(m, &mut chosen);
    let mut shuffles: Vec<shuffle::Shuffle> = Vec::new();
    for f in m.functions() {
        let moved = f.instructions().into_iter();
        let moved = moved
            .filter(|i| chosen.contains_key(i))
            .filter_map(shuffle::find);
        shuffles.extend(moved);
    }
    engine::rewrite(m, &chosen, &Both)?;
    shuffles.iter().for_each(shuffle::clean);
    if chosen.values().any(|f| f.is_pair()) {
        doubleword::link(m)?;
    }
    // Conversions of the source, and the ways of halves, that nothing uses any more.
    TargetMachine::nvptx("sm_70")?.run_passes(m, "function(dce)", PassOptions::default())?;
    m.verify()
}
