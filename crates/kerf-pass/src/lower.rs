//! Other machine formats: chosen sites computed in f32, f16 or bf16, or f32 in f64.
//!
//! A site in a format takes its operands rounded to that format and rounds its result to it, once.
//! Sums, products, quotients and fma are the instruction in that format; where the hardware, or the
//! processor of the CPU executor, has none, a backend computes them in f32 and rounds, which gives the
//! same bits, since f32 has more than twice the digits of f16 and bf16. Math functions are the f32
//! function, with arguments and result rounded to the format. A load or store keeps its bytes: the value
//! that is loaded or stored is rounded.
mod functions;
mod operation;

use crate::convert;
use crate::engine::{Build, FormatEngine};
use crate::format_types::{format_of, typed};
use crate::shuffle;
use crate::site_format::SiteFormat;
use kerf_llvm::{Builder, IntPred, LlvmError, Opcode, Type, Value};
use kerf_num::Format;
use operation::Operation;

pub use operation::check;

/// Builds sites in machine formats.
pub(crate) struct Pass;

fn is_small(f: SiteFormat) -> bool {
    f.word().bytes() == 2
}

/// An integer in bf16, rounded once. By way of f32 it would be rounded twice, so the bits that the wide
/// format has no room for go into one that says whether they were zero: rounding to odd, which keeps
/// enough for the second rounding. (LLVM would make one conversion of what it knows to be exact, and
/// backends without that instruction two roundings of it.)
fn to_bf16(b: &Builder, n: Value, signed: bool) -> Value {
    let op = match signed {
        true => Opcode::LLVMSIToFP,
        false => Opcode::LLVMUIToFP,
    };
    let (bits, wide, lost) = match n.ty().int_bits() {
        0..=24 => (n.ty().int_bits(), Format::F32, 0),
        25..=32 => (32, Format::F32, 8),
        _ => (64, Format::F64, 11),
    };
    let t = b.int_ty(bits);
    let n = match signed {
        true => b.sext_or_trunc(n, t),
        false => b.zext_or_trunc(n, t),
    };
    let mut short = n;
    if lost > 0 {
        let below = (1u64 << lost) - 1;
        let rest = b.icmp(IntPred::LLVMIntNE, b.and(n, t.int(below)), t.zero());
        let odd = b.select(rest, t.int(below + 1), t.zero());
        let cut = b.or(b.and(n, t.int(!below)), odd);
        let size = match signed {
            true => b.xor(n, b.bin(Opcode::LLVMAShr, n, t.int(u64::from(bits) - 1))),
            false => n,
        };
        let large = b.icmp(IntPred::LLVMIntUGE, size, t.int(1 << (bits - lost)));
        short = b.select(large, cut, n);
    }
    let exact = b.cast(op, short, b.float_ty(wide));
    b.cast(Opcode::LLVMFPTrunc, exact, b.float_ty(Format::Bf16))
}

/// An integer in a format, rounded once.
fn from_integer(b: &Builder, n: Value, signed: bool, to: Type) -> Value {
    // f32 holds all integers that f16 does, and those beyond become infinite either way.
    if to.element().format() != Some(Format::Bf16) {
        let op = match signed {
            true => Opcode::LLVMSIToFP,
            false => Opcode::LLVMUIToFP,
        };
        return b.cast(op, n, to);
    }
    if !n.ty().is_vector() {
        return to_bf16(b, n, signed);
    }
    (0..n.ty().lanes()).fold(to.poison(), |v, k| {
        b.set_lane(v, to_bf16(b, b.lane(n, k), signed), k)
    })
}

impl Pass {
    /// A function on f32, with arguments and result rounded to the format.
    fn in_f32(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        args: &[Value],
        to: SiteFormat,
        f: &dyn Fn(&Builder, &[Value]) -> Value,
    ) -> Result<Value, LlvmError> {
        let args = args
            .iter()
            .map(|a| match format_of(*a) {
                Some(_) => e.rounded(*a, to, SiteFormat::F32),
                None => Ok(*a),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let r = f(b, &args);
        Ok(match format_of(r) {
            Some(_) => convert::words(b, r, to.word()),
            None => r,
        })
    }

    /// A call of libdevice's f32 function. What it leaves in memory goes through variables of its own
    /// to where the program expects numbers of its format.
    fn library(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        single: &str,
        to: SiteFormat,
    ) -> Result<Value, LlvmError> {
        let mut args = match i.opcode() {
            Some(Opcode::LLVMCall) => i.args(),
            _ => i.operands(),
        };
        let float = b.float_ty(Format::F32);
        let entry = i.block().function().blocks()[0];
        let mut kept = Vec::new();
        for k in functions::results(single) {
            let first = entry
                .first()
                .ok_or_else(|| LlvmError("a block without instructions".into()))?;
            let own = std::mem::replace(&mut args[*k], Builder::before(first).alloca(float));
            kept.push((args[*k], own));
        }
        let own = args.iter().find_map(|a| format_of(*a));
        let ret = if format_of(i).is_some() {
            float
        } else {
            i.ty()
        };
        let m = e.m;
        let call = |b: &Builder, args: &[Value]| {
            let params: Vec<Type> = args.iter().map(|a| a.ty()).collect();
            let f = m.declare(&format!("__nv_{single}"), ret.function(&params));
            if kerf_ir::prepare::is_pure_math(f) {
                f.mark_pure();
            }
            b.call(f, args)
        };
        let r = self.in_f32(e, b, &args, to, &call)?;
        for (from, at) in kept {
            let v = convert::words(b, b.load(float, from), to.word());
            let v = convert::words(b, v, own.unwrap_or(SiteFormat::F64).word());
            b.store(v, at);
        }
        Ok(r)
    }

    /// A call of libdevice's f64 function, its operands widened, which is exact.
    fn wide_library(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        single: &str,
    ) -> Result<Value, LlvmError> {
        let double = functions::double(single)
            .ok_or_else(|| LlvmError(format!("__nv_{single} has no version in f64")))?;
        let args = match i.opcode() {
            Some(Opcode::LLVMCall) => i.args(),
            _ => i.operands(),
        };
        let args = args
            .iter()
            .map(|a| match format_of(*a) {
                Some(_) => e.get(*a, SiteFormat::F64),
                None => Ok(*a),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let ret = match format_of(i) {
            Some(_) => b.float_ty(Format::F64),
            None => i.ty(),
        };
        let params: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let f =
            e.m.declare(&format!("__nv_{double}"), ret.function(&params));
        if kerf_ir::prepare::is_pure_math(f) {
            f.mark_pure();
        }
        Ok(b.call(f, &args))
    }

    fn moved(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        to: SiteFormat,
    ) -> Result<Value, LlvmError> {
        let x = match shuffle::find(i) {
            Some(s) => {
                let v = e.get(s.value, to)?;
                return Ok(shuffle::build(b, &s, v));
            }
            None => e.get(i.operand(0), to)?,
        };
        Ok(match i.opcode() {
            Some(Opcode::LLVMExtractElement) => b.lane_at(x, i.operand(1)),
            Some(Opcode::LLVMInsertElement) => {
                let y = e.get(i.operand(1), to)?;
                b.set_lane_at(x, y, i.operand(2))
            }
            Some(Opcode::LLVMShuffleVector) => {
                let y = e.get(i.operand(1), to)?;
                b.shuffle(x, y, &i.shuffle_mask())
            }
            _ => b.freeze(x),
        })
    }
}

impl Build for Pass {
    fn build(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        to: SiteFormat,
    ) -> Result<Value, LlvmError> {
        let t = typed(e.m, to, i.ty());
        let args = match i.opcode() {
            Some(Opcode::LLVMCall) => i.args(),
            _ => i.operands(),
        };
        let own = format_of(i).unwrap_or(to);
        Ok(
            match operation::in_format(i, to).map_err(|e| LlvmError(e.to_string()))? {
                Operation::Binary(op) => b.bin(op, e.get(args[0], to)?, e.get(args[1], to)?),
                // The instruction is no more than a formula in f32 on NVPTX; the function is exact.
                Operation::Remainder if !i.ty().is_vector() => {
                    self.library(e, b, i, "fmodf", to)?
                }
                Operation::Remainder => {
                    b.bin(Opcode::LLVMFRem, e.get(args[0], to)?, e.get(args[1], to)?)
                }
                Operation::Reciprocal => b.bin(Opcode::LLVMFDiv, t.real(1.0), e.get(args[0], to)?),
                Operation::Negate => b.fneg(e.get(args[0], to)?),
                Operation::Select => b.select(args[0], e.get(args[1], to)?, e.get(args[2], to)?),
                Operation::Compare => {
                    b.fcmp(i.real_pred(), e.get(args[0], to)?, e.get(args[1], to)?)
                }
                Operation::Convert => e.get(args[0], to)?,
                Operation::FromInteger { signed } => from_integer(b, args[0], signed, t),
                Operation::ToInteger { signed } => {
                    let op = match signed {
                        true => Opcode::LLVMFPToSI,
                        false => Opcode::LLVMFPToUI,
                    };
                    match to {
                        SiteFormat::Bf16 => {
                            self.in_f32(e, b, &args, to, &|b, x| b.cast(op, x[0], i.ty()))?
                        }
                        _ => b.cast(op, e.get(args[0], to)?, i.ty()),
                    }
                }
                Operation::Load => {
                    let next = i
                        .next()
                        .ok_or_else(|| LlvmError("a block ends with a load".into()))?;
                    convert::words(&Builder::before(next), i, to.word())
                }
                Operation::Store => {
                    let own = format_of(args[0]).unwrap_or(own);
                    let v = e.rounded(args[0], to, own)?;
                    i.set_operand(0, v);
                    i
                }
                Operation::Intrinsic(name) => {
                    let args = args
                        .iter()
                        .map(|a| e.get(*a, to))
                        .collect::<Result<Vec<_>, _>>()?;
                    b.intrinsic(name, &[t], &args)
                }
                Operation::Wide(name) => {
                    let call = |b: &Builder, x: &[Value]| b.intrinsic(name, &[x[0].ty()], x);
                    match is_small(to) {
                        true => self.in_f32(e, b, &args, to, &call)?,
                        false => call(b, &[e.get(args[0], to)?]),
                    }
                }
                Operation::OfNumber(name) => self.in_f32(e, b, &args, to, &|b, x| {
                    let types = match name {
                        "llvm.is.fpclass" => vec![x[0].ty()],
                        _ => vec![i.ty(), x[0].ty()],
                    };
                    b.intrinsic(name, &types, x)
                })?,
                Operation::Library(single) if to == SiteFormat::F64 => {
                    self.wide_library(e, b, i, &single)?
                }
                Operation::Library(single) => self.library(e, b, i, &single, to)?,
                Operation::Nvvm(name) => self.in_f32(e, b, &args, to, &|b, x| {
                    b.intrinsic(&format!("llvm.nvvm.{name}"), &[], x)
                })?,
                Operation::Lane(name) => {
                    let mut args = args;
                    let v = e.get(args[1], to)?;
                    let bits = b.int_ty(8 * to.word().bytes() as u32);
                    args[1] = b.zext_or_trunc(b.bitcast(v, bits), b.int_ty(32));
                    let moved = b.intrinsic(&format!("llvm.nvvm.{name}"), &[], &args);
                    b.bitcast(b.zext_or_trunc(moved, bits), v.ty())
                }
                Operation::Move => self.moved(e, b, i, to)?,
                Operation::Phi => return Err(LlvmError("phis are built first".into())),
            },
        )
    }
}
