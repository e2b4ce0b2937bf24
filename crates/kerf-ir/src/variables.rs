//! Sites by source variable: the unit that a programmer would change.
//!
//! The def-use rule of [`crate::groups`] makes one group of most kernels, since conversions are nowhere.
//! Here a site belongs to the variable that holds its result, and a part of an expression to the variable
//! that the expression's value goes into. Values that go straight into memory belong to the array.
use crate::sites::SiteMap;
use kerf_llvm::{Opcode, Value, demangle};
use kerf_num::Format;
use std::collections::BTreeMap;

/// A source variable in one format: `double` and `float` parts of a template's variable are two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceVariable {
    /// Device function that it is in, where that was not inlined.
    pub function: Option<String>,
    /// Its name; `array[]` for what is computed for an array; `line 12` where nothing has a name.
    pub name: String,
    /// Format of its sites.
    pub format: Format,
}

/// Names that begin so are of headers (the parameters of math functions), not the programmer's.
const RESERVED: &str = "__";

fn is_memory(i: Value) -> bool {
    matches!(
        i.opcode(),
        Some(Opcode::LLVMLoad | Opcode::LLVMStore | Opcode::LLVMAtomicRMW)
    )
}

/// What a value is stored to.
fn array(i: Value) -> Option<String> {
    let stores = i.users().into_iter();
    let store = stores
        .filter(|u| u.opcode() == Some(Opcode::LLVMStore) && u.operand(0) == i)
        .map(|u| u.operand(1).underlying().name())
        .find(|n| !n.is_empty())?;
    // The compiler's own suffixes: `out.coerce`, `tile.addr`. Shared arrays carry their function's name.
    let name = store.split('.').next().unwrap_or_default();
    let name = demangle(name);
    let name = name.rsplit("::").next().unwrap_or_default();
    (!name.is_empty()).then(|| format!("{name}[]"))
}

/// The variable of each site. Loads, stores and atomic operations have none: they keep the format of the
/// memory that they are of, whatever is computed from it.
pub fn of_sites(map: &SiteMap) -> Vec<Option<SourceVariable>> {
    let index: BTreeMap<Value, usize> = map
        .instructions
        .iter()
        .enumerate()
        .map(|(k, v)| (*v, k))
        .collect();
    let mut names: Vec<Option<String>> = map
        .sites
        .iter()
        .map(|s| s.variable.clone().filter(|n| !n.starts_with(RESERVED)))
        .collect();
    // Backwards, so that a whole expression takes its variable's name in one go; twice, since a value may
    // go round a loop first.
    for _ in 0..2 {
        for k in (0..map.sites.len()).rev() {
            let i = map.instructions[k];
            if names[k].is_some() || is_memory(i) {
                continue;
            }
            let same = |j: &usize| map.sites[*j].format == map.sites[k].format;
            // The value itself, or that of a comparison's operand, which has no result to follow.
            let near: Vec<Value> = match i.opcode() {
                Some(Opcode::LLVMFCmp) => i.operands(),
                _ => i.users(),
            };
            let mut near: Vec<usize> = near
                .iter()
                .filter_map(|v| index.get(v).copied())
                .filter(|j| !is_memory(map.instructions[*j]))
                .filter(same)
                .collect();
            near.sort_unstable();
            names[k] = near
                .into_iter()
                .find_map(|j| names[j].clone())
                .or_else(|| array(i));
        }
    }
    let one = |(k, s): (usize, &crate::sites::Site)| {
        if is_memory(map.instructions[k]) {
            return None;
        }
        let line = || match &s.location {
            Some(l) if l.line > 0 => format!("line {}", l.line),
            _ => "expression".to_owned(),
        };
        Some(SourceVariable {
            function: s.function.clone(),
            name: names[k].clone().unwrap_or_else(line),
            format: s.format,
        })
    };
    map.sites.iter().enumerate().map(one).collect()
}

/// The sites that a site's operands come from, through what only moves values (lanes of vectors, warp
/// shuffles). Those outside the kernel's sites, such as arguments and constants, are left out.
pub fn operands(map: &SiteMap) -> Vec<Vec<usize>> {
    let index: BTreeMap<Value, usize> = map
        .instructions
        .iter()
        .enumerate()
        .map(|(k, v)| (*v, k))
        .collect();
    let all = map.instructions.iter().map(|i| {
        let mut found = Vec::new();
        let mut seen: Vec<Value> = Vec::new();
        let mut left = match i.opcode() {
            Some(Opcode::LLVMPHI) => i.incoming().into_iter().map(|p| p.0).collect(),
            Some(Opcode::LLVMCall) => i.args(),
            Some(Opcode::LLVMStore) => vec![i.operand(0)],
            Some(Opcode::LLVMLoad) => Vec::new(),
            _ => i.operands(),
        };
        while let Some(v) = left.pop() {
            match index.get(&v) {
                Some(j) => found.push(*j),
                None if moves(v) && !seen.contains(&v) => {
                    seen.push(v);
                    left.extend(v.operands());
                }
                None => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    });
    all.collect()
}

fn moves(v: Value) -> bool {
    use Opcode::*;
    v.is_instruction()
        && matches!(
            v.opcode(),
            Some(
                LLVMExtractElement
                    | LLVMInsertElement
                    | LLVMShuffleVector
                    | LLVMFreeze
                    | LLVMBitCast
                    | LLVMExtractValue
                    | LLVMInsertValue
                    | LLVMCall
            )
        )
}
