//! Formats for what only moves values: lanes of vectors, warp shuffles, conversions of the source.
//!
//! Rounding commutes with moving. So a mover of values that exist in a narrow format moves them in that
//! format, and one whose users all want one narrow format moves the rounded value. A conversion of the
//! source whose operand changed its format starts from what the operand is now, which leaves no chains
//! of conversions that cancel out.
use crate::engine::{ChosenFormats, in_order};
use crate::format_types::format_of;
use crate::shuffle;
use crate::site_format::SiteFormat;
use kerf_llvm::{Module, Opcode, Value};

/// What a mover moves; none for anything else.
pub(crate) fn moved(i: Value) -> Option<Vec<Value>> {
    Some(match i.opcode()? {
        Opcode::LLVMExtractElement | Opcode::LLVMFreeze => vec![i.operand(0)],
        Opcode::LLVMInsertElement | Opcode::LLVMShuffleVector => {
            vec![i.operand(0), i.operand(1)]
        }
        Opcode::LLVMBitCast | Opcode::LLVMCall => vec![shuffle::find(i)?.value],
        _ => return None,
    })
}

fn narrow(f: SiteFormat, own: SiteFormat) -> bool {
    !f.is_pair() && f.word().bytes() < own.word().bytes()
}

/// The format that all have in common.
fn common(mut all: impl Iterator<Item = Option<SiteFormat>>) -> Option<SiteFormat> {
    let first = all.next()??;
    all.all(|f| f == Some(first)).then_some(first)
}

fn format(i: Value, chosen: &ChosenFormats) -> Option<SiteFormat> {
    let own = format_of(i)?;
    if matches!(i.opcode(), Some(Opcode::LLVMFPExt | Opcode::LLVMFPTrunc)) {
        return chosen.contains_key(&i.operand(0)).then_some(own);
    }
    let home = |v: &Value| chosen.get(v).copied().or_else(|| format_of(*v));
    let values = moved(i)?;
    let come = common(values.iter().filter(|v| !v.is_constant()).map(home));
    if let Some(f) = come.filter(|f| narrow(*f, own)) {
        return Some(f);
    }
    // A lane is better converted alone than with its whole vector.
    if i.opcode() == Some(Opcode::LLVMExtractElement) {
        return None;
    }
    common(i.users().iter().map(|u| chosen.get(u).copied())).filter(|f| narrow(*f, own))
}

/// Adds the movers and conversions that the chosen instructions take along.
pub(crate) fn carry(m: &Module, chosen: &mut ChosenFormats) {
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let movers: Vec<Value> = in_order(f)
            .into_iter()
            .flat_map(|b| b.instructions())
            .filter(|i| {
                matches!(i.opcode(), Some(Opcode::LLVMFPExt | Opcode::LLVMFPTrunc))
                    || moved(*i).is_some()
            })
            .filter(|i| format_of(*i).is_some())
            .collect();
        loop {
            let before = chosen.len();
            for i in &movers {
                if !chosen.contains_key(i)
                    && let Some(f) = format(*i, chosen)
                {
                    chosen.insert(*i, f);
                }
            }
            if chosen.len() == before {
                break;
            }
        }
    }
}
