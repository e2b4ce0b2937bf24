//! Sums that round to an integer.
//!
//! Libraries round x to an integer by adding a constant so large that the sum has no fraction left, 1.5 * 2^52 in f64:
//! the low bits of the sum are the integer, and the sum less the constant is the integer as a number (Dekker; libdevice's
//! exp does so, and PTX has such code in line). The rounding is meant. A shadow that kept the fraction would belong to no
//! integer at all, and what is computed with both would be wrong by any factor; so the shadow of such a sum is its value.
use kerf_llvm::{Opcode, Value};
use kerf_num::Format;

/// Is a constant so large, in its format, that numbers of its size have no fraction, and each integer is one of them?
fn leaves_no_fraction(v: Value, format: Format) -> bool {
    let bits = match format {
        Format::F64 => 52,
        Format::F32 => 23,
        Format::F16 | Format::Bf16 => return false,
    };
    let least = f64::from(bits).exp2();
    v.const_real()
        .is_some_and(|c| (least..2.0 * least).contains(&c.abs()))
}

/// Does an instruction round to an integer by a sum with a large constant?
pub(super) fn rounds_by_sum(i: Value) -> bool {
    let Some(format) = i.ty().format() else {
        return false;
    };
    let terms = match i.opcode() {
        Some(Opcode::LLVMFAdd) => vec![i.operand(0), i.operand(1)],
        Some(Opcode::LLVMCall) => match i.callee_name() {
            Some(n) if n.starts_with("llvm.fma.") || n.starts_with("llvm.nvvm.fma.") => {
                i.args().into_iter().skip(2).collect()
            }
            Some(n) if n.starts_with("llvm.nvvm.add.") => i.args(),
            _ => return false,
        },
        _ => return false,
    };
    terms.into_iter().any(|t| leaves_no_fraction(t, format))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_llvm::Module;

    #[test]
    fn large_constants_round() {
        let text = "
declare double @llvm.fma.f64(double, double, double)
declare float @llvm.nvvm.fma.rm.f(float, float, float)
define void @f(double %x, float %y) {
  %a = fadd double %x, 0x4338000000000000
  %b = call double @llvm.fma.f64(double %x, double %x, double 0xC338000000000000)
  %c = call float @llvm.nvvm.fma.rm.f(float %y, float %y, float 0x4168000020000000)
  %d = fadd double %x, 0x4168000020000000
  %e = fmul double %x, 0x4338000000000000
  %g = call double @llvm.fma.f64(double %x, double 0x4338000000000000, double 1.0)
  %h = fsub double %a, 0x4338000000000000
  ret void
}";
        let m = Module::parse(text.as_bytes(), "f.ll").expect("parses");
        let f = m.function("f").expect("it is there");
        let all: Vec<bool> = f.instructions().into_iter().map(rounds_by_sum).collect();
        let expected = [true, true, true, false, false, false, false, false];
        assert_eq!(all, expected);
    }
}
