//! What instructions do with pointers, indices and warps.
use kerf_llvm::{Module, Opcode, TypeKind, Value};

/// The elements of an array of the program that an operand of an address is an index of.
pub(super) fn array(m: &Module, address: Value, index: Value) -> Option<u64> {
    let mut base = address.operand(0);
    for _ in 0..8 {
        if base.is_global_var() {
            break;
        }
        base = match base.opcode().or_else(|| base.const_opcode())? {
            Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => base.operand(0),
            _ => return None,
        };
    }
    if !base.is_global_var() {
        return None;
    }
    let mut step = address.gep_type();
    for (k, i) in address.operands()[1..].iter().enumerate() {
        if k > 0 {
            step = match step.kind() {
                TypeKind::LLVMStructTypeKind => return None,
                _ => step.element(),
            };
        }
        if *i == index {
            let (all, one) = (m.size_of(base.global_type()), m.size_of(step).max(1));
            return Some(all / one).filter(|n| *n > 0);
        }
    }
    None
}

/// Values derived from a loaded integer that are looked at.
const MOST_USES: usize = 500;

/// The address computations that a value from memory becomes part of, and of how many elements of an array of the program it
/// chooses one, where that is known.
pub(super) fn index_uses(m: &Module, v: Value) -> (Vec<Value>, Option<u64>) {
    let mut seen = vec![(v, true)];
    let mut next = 0;
    let (mut uses, mut least) = (Vec::new(), None);
    while next < seen.len() && seen.len() < MOST_USES {
        let (at, plain) = seen[next];
        for u in at.users() {
            match u.opcode() {
                Some(Opcode::LLVMGetElementPtr) if u.operand(0) != at => {
                    uses.push(u);
                    let of = array(m, u, at).filter(|_| plain);
                    least = least.into_iter().chain(of).min();
                }
                Some(
                    Opcode::LLVMSExt
                    | Opcode::LLVMZExt
                    | Opcode::LLVMAdd
                    | Opcode::LLVMSub
                    | Opcode::LLVMMul
                    | Opcode::LLVMShl
                    | Opcode::LLVMTrunc
                    | Opcode::LLVMPHI,
                ) if seen.iter().all(|s| s.0 != u) => {
                    use Opcode::*;
                    let same = matches!(u.opcode(), Some(LLVMSExt | LLVMZExt | LLVMTrunc));
                    seen.push((u, plain && same));
                }
                _ => {}
            }
        }
        next += 1;
    }
    (uses, least)
}

/// Does an instruction exchange values between the threads of a warp?
pub(super) fn of_a_warp(i: Value) -> bool {
    let name = i.callee_name().unwrap_or_default();
    let kinds = ["shfl", "vote", "match", "redux", "activemask", "bar.warp"];
    name.starts_with("llvm.nvvm.") && kinds.iter().any(|k| name.contains(k))
}
