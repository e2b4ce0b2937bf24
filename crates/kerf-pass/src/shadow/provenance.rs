//! Where the bits of an integer come from.
use super::{Pass, lanes};
use kerf_llvm::{Opcode, Value};
use kerf_num::Format;

/// Values that a walk looks at before it gives up.
const MOST: usize = 400;

/// What an integer, or the float with its bits, is made of.
#[derive(Default)]
pub(super) struct Provenance {
    /// A float's bits may be in it.
    pub hides_float: bool,
    /// Integers from memory that are in it.
    pub loads: Vec<Value>,
}

/// Operations of whose floats only a number is taken, or a decision.
fn is_rounded(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        LLVMFPToSI | LLVMFPToUI | LLVMFCmp | LLVMICmp | LLVMPtrToInt
    )
}

impl Pass<'_> {
    /// Follows the integers that a value is computed from. Of a float, the integer that has its bits.
    pub(super) fn provenance(&self, v: Value) -> Provenance {
        let mut found = Provenance::default();
        let mut seen = vec![v];
        let mut at = 0;
        while let Some(x) = seen.get(at).copied() {
            at += 1;
            if seen.len() > MOST {
                found.hides_float = true;
                break;
            }
            if x != v && lanes(x.ty()).is_some() {
                found.hides_float |= !x.is_constant();
                continue;
            }
            let next = self.made_from(x, &mut found);
            for o in next {
                if !seen.contains(&o) {
                    seen.push(o);
                }
            }
        }
        found
    }

    /// The operands whose bits go into a value.
    fn made_from(&self, x: Value, found: &mut Provenance) -> Vec<Value> {
        use Opcode::*;
        let Some(op) = x.opcode() else {
            // Arguments of kernels come from the host; those of other functions from anywhere.
            let kernel = || self.kernel_params.contains(&x);
            found.hides_float |= x.is_argument() && !kernel();
            return Vec::new();
        };
        match op {
            _ if is_rounded(op) => Vec::new(),
            LLVMLoad | LLVMAtomicRMW | LLVMAtomicCmpXchg => {
                found.loads.push(x);
                Vec::new()
            }
            LLVMPHI => x.incoming().into_iter().map(|(v, _)| v).collect(),
            LLVMSelect => vec![x.operand(1), x.operand(2)],
            LLVMCall => {
                let name = x.callee_name().unwrap_or_default();
                let known = name.starts_with("llvm.") || name.starts_with("__nv_");
                found.hides_float |= !known;
                // A conversion to an integer rounds; a copy of the bits does not.
                let rounds = name.contains("2int")
                    || name.contains("2ll")
                    || name.contains("2uint")
                    || name.contains("2ull");
                match rounds {
                    true => Vec::new(),
                    false => x.args(),
                }
            }
            _ => x.operands(),
        }
    }

    /// Formats of the floats whose bits go into an integer directly.
    pub(super) fn made_of_bits(&self, v: Value) -> Vec<Format> {
        let mut all = Vec::new();
        let mut seen = vec![v];
        let mut at = 0;
        while let Some(x) = seen.get(at).copied() {
            at += 1;
            if let Some((f, _)) = lanes(x.ty()) {
                all.push(f);
                continue;
            }
            if seen.len() > MOST || x.opcode().is_none_or(is_rounded) {
                continue;
            }
            let operands = match x.opcode() {
                Some(Opcode::LLVMLoad) => Vec::new(),
                Some(Opcode::LLVMCall) => x.args(),
                _ => x.operands(),
            };
            for o in operands {
                if !seen.contains(&o) && !o.ty().is_ptr() {
                    seen.push(o);
                }
            }
        }
        all
    }
}
