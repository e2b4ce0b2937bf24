//! What the assembler makes of approximate functions in f32, before the unit sees them.
//!
//! Read off what ptxas 12.9 and 13.4 emit for sm_90 (`bench/probes/sfu/folded.py`, `constants.py`), and confirmed by an H200's bits:
//! of a constant it is the correctly rounded value, so a quotient by a constant is a product with
//! that reciprocal, in all forms of the division; the reciprocal of a reciprocal is the number itself; that of a power of
//! two that nothing else needs is the power with the other sign. The last two are done in the `.ftz` forms only.
use super::flush::flush;
use kerf_llvm::{Builder, Module, Opcode, Value};
use kerf_num::Format;
use rug::Float;

const RCP: &str = "llvm.nvvm.rcp.approx.ftz.f";
const DIV: &str = "llvm.nvvm.div.approx.ftz.f";
const EX2: &str = "llvm.nvvm.ex2.approx.ftz.f";

/// The reciprocal of a constant, where it is a normal number as the constant is.
fn of_constant(v: Value) -> Option<f64> {
    let c = v.const_real()? as f32;
    let r = 1.0 / c;
    (c.is_normal() && r.is_normal()).then_some(f64::from(r))
}

/// A function of the unit, of a constant: correctly rounded. Constants of which the value is not a number, and those that
/// are not normal, are left to the unit, which has the same to say.
fn value_of(name: &str, v: Value) -> Option<f64> {
    let (function, form) = name.strip_prefix("llvm.nvvm.")?.split_once(".approx")?;
    let c = v.const_real()? as f32;
    let x = Float::with_val(200, c);
    let y = match function {
        _ if !c.is_normal() => return None,
        "sin" => x.sin(),
        "cos" => x.cos(),
        "ex2" => x.exp2(),
        "lg2" if c > 0.0 => x.log2(),
        "sqrt" if c > 0.0 => x.sqrt(),
        "rsqrt" if c > 0.0 => x.recip_sqrt(),
        _ => return None,
    };
    let y = y.to_f32();
    let flushed = form.contains(".ftz") && y.is_subnormal();
    Some(if flushed { 0.0 } else { f64::from(y) })
}

/// The reciprocal of what a `.ftz` operation gave, without the unit.
fn of_result(b: &Builder, v: Value) -> Option<Value> {
    let name = v.callee_name()?;
    if name == RCP {
        return v.args().first().copied();
    }
    // `.f`, in other versions of LLVM `.f32`. A power that something else needs too stays.
    if !name.starts_with(EX2) || v.users().len() != 1 {
        return None;
    }
    let x = *v.args().first()?;
    Some(b.call(v.callee(), &[b.fneg(x)]))
}

fn folded(i: Value, name: &str) -> Option<Value> {
    let b = Builder::before(i);
    let a = i.args();
    if name == RCP {
        let of_constant = of_constant(a[0]).map(|r| i.ty().real(r));
        return of_constant.or_else(|| of_result(&b, a[0]));
    }
    let ftz = name.contains(".ftz");
    let r = match of_constant(a[1]) {
        Some(r) => i.ty().real(r),
        None if name == DIV => of_result(&b, a[1])?,
        None => return None,
    };
    let product = |x, y| b.bin(Opcode::LLVMFMul, x, y);
    Some(match ftz {
        true => flush(&b, product(flush(&b, a[0]), flush(&b, r))),
        false => product(a[0], r),
    })
}

/// Does it to a module.
pub(super) fn fold(m: &Module) {
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        for i in f.instructions() {
            let Some(name) = i.callee_name() else {
                continue;
            };
            let quotient =
                name.starts_with("llvm.nvvm.div.approx") || name.starts_with("llvm.nvvm.div.full");
            if i.ty().format() != Some(Format::F32) {
                continue;
            }
            let new = match name == RCP || quotient {
                true => folded(i, &name),
                false => value_of(&name, i.operand(0)).map(|y| i.ty().real(y)),
            };
            if let Some(v) = new {
                i.become_value(v);
            }
        }
    }
}
