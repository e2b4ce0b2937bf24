//! Shared variables as places in the block's shared memory.
use super::lead::field;
use crate::cpu::context::offset;
use kerf_llvm::{Builder, Module, Opcode, Value, space};
use std::collections::BTreeMap;

/// Gives every shared variable its place in the block's shared memory; returns the static size.
pub(super) fn place_shared(m: &Module) -> u64 {
    let shared: Vec<Value> = m
        .globals()
        .into_iter()
        .filter(|g| g.ty().space() == space::SHARED)
        .collect();
    let mut end = 0u64;
    let mut places = Vec::new();
    for g in &shared {
        let bytes = m.size_of(g.global_type());
        let dynamic = g.is_declaration() || bytes == 0;
        if !dynamic {
            let align = u64::from(g.align().max(m.align_of(g.global_type())).max(16));
            end = end.next_multiple_of(align);
            places.push((*g, end, false));
            end += bytes;
        } else {
            places.push((*g, 0, true));
        }
    }
    let end = end.next_multiple_of(128);
    for (g, at, dynamic) in places {
        let at = if dynamic { end } else { at };
        g.expand_constant_users();
        let mut bases: BTreeMap<Value, Value> = BTreeMap::new();
        for u in g.users() {
            if !u.is_instruction() {
                continue;
            }
            let f = u.block().function();
            let base = *bases.entry(f).or_insert_with(|| {
                let first = f.blocks()[0].instructions()[0];
                let b = Builder::before(first);
                let sh = field(&b, f.params()[0], offset::SHARED, b.ptr_ty(0));
                let p = b.offset(sh, b.i64(at));
                b.cast(Opcode::LLVMAddrSpaceCast, p, g.ty())
            });
            for (k, op) in u.operands().into_iter().enumerate() {
                if op == g {
                    u.set_operand(k as u32, base);
                }
            }
        }
        if g.users().is_empty() {
            g.delete_global();
        }
    }
    end
}
