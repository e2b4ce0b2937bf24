//! Groups: sites that change format together, so that no conversion comes between them.
//!
//! The def-use rule of AMPT-GA (Kotipalli et al. 2019, section 4.3): if `a = x + y; b = a + z`, then
//! x, y, z and the operations between them form one group. Conversions and comparisons end a chain:
//! a conversion is where formats may meet at no extra cost. Loads and stores of one object (a
//! parameter, a shared or local array) belong together, since its elements share a format.
use kerf_llvm::{Opcode, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

fn join(parent: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b)] = a.min(b);
}

/// Operands through which a group continues (not a conversion's, whose formats differ).
fn linked_operands(i: Value) -> Vec<Value> {
    use Opcode::*;
    match i.opcode() {
        Some(LLVMFPExt | LLVMFPTrunc | LLVMSIToFP | LLVMUIToFP | LLVMLoad) => Vec::new(),
        Some(LLVMSelect) => vec![i.operand(1), i.operand(2)],
        Some(LLVMPHI) => i.incoming().into_iter().map(|p| p.0).collect(),
        Some(LLVMCall) => i.args(),
        _ => i.operands(),
    }
}

/// The group of each site, by its instruction and format; groups are numbered in order of their first site.
pub fn assign(sites: &[(Value, Format)]) -> Vec<usize> {
    let index: BTreeMap<Value, usize> = sites
        .iter()
        .enumerate()
        .map(|(k, (i, _))| (*i, k))
        .collect();
    let mut parent: Vec<usize> = (0..sites.len()).collect();
    let mut objects: BTreeMap<(Value, Format), usize> = BTreeMap::new();
    for (k, (i, format)) in sites.iter().enumerate() {
        for op in linked_operands(*i) {
            if let Some(&j) = index.get(&op)
                && sites[j].1 == *format
            {
                join(&mut parent, k, j);
            }
        }
        let pointer = match i.opcode() {
            Some(Opcode::LLVMLoad | Opcode::LLVMAtomicRMW) => Some(i.operand(0)),
            Some(Opcode::LLVMStore) => Some(i.operand(1)),
            _ => None,
        };
        if let Some(p) = pointer {
            let object = p.underlying();
            let first = *objects.entry((object, *format)).or_insert(k);
            join(&mut parent, k, first);
        }
    }
    let mut number = BTreeMap::new();
    (0..sites.len())
        .map(|k| {
            let r = root(&mut parent, k);
            let next = number.len();
            *number.entry(r).or_insert(next)
        })
        .collect()
}
