//! Calls that the interpreter knows.
use super::arithmetic::{extreme, fma, mask, signed};
use super::interpreter::{Interpreter, Unknown, V};
use kerf_llvm::Value;
use std::collections::BTreeMap;

impl Interpreter<'_> {
    pub(super) fn call_instruction(
        &mut self,
        i: Value,
        frame: &BTreeMap<Value, V>,
    ) -> Result<Option<V>, Unknown> {
        let name = i.callee_name().ok_or("a call of a pointer")?;
        if name.starts_with("llvm.lifetime") || name.starts_with("llvm.assume") {
            return Ok(None);
        }
        let args = i
            .args()
            .into_iter()
            .map(|a| self.value(a, frame))
            .collect::<Result<Vec<_>, _>>()?;
        if !i.callee().is_declaration() {
            let depth = self.memory.len();
            let r = self.call(i.callee(), args)?;
            self.memory.truncate(depth);
            return Ok(r);
        }
        if let Some(r) = name.strip_prefix("llvm.nvvm.read.ptx.sreg.") {
            let v = self.registers.get(r).ok_or_else(|| name.clone())?;
            return Ok(Some(V::Int(u64::from(*v))));
        }
        let base = name
            .trim_start_matches("llvm.")
            .split('.')
            .next()
            .unwrap_or_default();
        if i.ty().is_int() {
            let n = i.ty().int_bits();
            let x: Vec<u64> = args
                .iter()
                .map(|a| {
                    if let V::Int(n) = a {
                        Ok(*n)
                    } else {
                        Err(name.clone())
                    }
                })
                .collect::<Result<_, _>>()?;
            let s = |k: usize| signed(x[k], n);
            return Ok(Some(V::Int(mask(
                match base {
                    "umin" => x[0].min(x[1]),
                    "umax" => x[0].max(x[1]),
                    "smin" => s(0).min(s(1)) as u64,
                    "smax" => s(0).max(s(1)) as u64,
                    "abs" => s(0).wrapping_abs() as u64,
                    "ctpop" => u64::from(x[0].count_ones()),
                    _ => return Err(name),
                },
                n,
            ))));
        }
        if !i.ty().is_float() {
            return Err(name);
        }
        let f = self.format(i, i.ty());
        let x: Vec<f64> = args
            .iter()
            .map(|a| match a {
                V::Float(x) => Ok(f.round(*x)),
                _ => Err(name.clone()),
            })
            .collect::<Result<_, _>>()?;
        Ok(Some(V::Float(match base {
            "fma" => fma(x[0], x[1], x[2], f),
            "fabs" => x[0].abs(),
            "copysign" if !x[1].is_nan() => x[0].copysign(x[1]),
            "minnum" | "minimumnum" => extreme(x[0], x[1], true),
            "maxnum" | "maximumnum" => extreme(x[0], x[1], false),
            "sqrt" => f.round(x[0].sqrt()),
            "floor" => x[0].floor(),
            "ceil" => x[0].ceil(),
            "trunc" => x[0].trunc(),
            "rint" | "nearbyint" | "roundeven" => x[0].round_ties_even(),
            _ => return Err(name),
        })))
    }
}
