//! Calls of functions of the file and of CUDA's device runtime.
use super::file_syntax::{CallStatement, Variable};
use super::function::FunctionLifter;
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::signature::{Declared, as_argument};
use super::syntax::Operand;
use super::types::Ty;
use kerf_llvm::{Type, Value};

impl FunctionLifter<'_> {
    /// A call, under its guard.
    pub(super) fn call(&mut self, c: &CallStatement) -> Lifted<()> {
        let Operand::Name(name) = &c.callee else {
            return refuse("a call by address is not supported");
        };
        let Some(callee) = self.context.signatures.all.get(name).cloned() else {
            return match self.lifter.regs.find(&c.callee) {
                Ok(Some(_)) => refuse("a call by address is not supported"),
                _ => refuse(format!("function {name} is not declared")),
            };
        };
        if callee.text.params.len() != c.arguments.len()
            || callee.text.results.len() != c.results.len()
        {
            return refuse(format!("the call does not fit the declaration of {name}"));
        }
        let Some((p, negated)) = &c.guard else {
            return emit(&mut self.lifter, c, &callee);
        };
        let p = self.lifter.read(p, Ty::Pred)?;
        let not = self.lifter.b.int_ty(1).int(u64::from(*negated));
        let p = self.lifter.b.xor(p, not);
        self.lifter.under(p, |l| emit(l, c, &callee))
    }
}

fn emit(l: &mut Lifter, c: &CallStatement, callee: &Declared) -> Lifted<()> {
    let types = callee.f.global_type().params();
    let mut arguments = Vec::new();
    for ((o, v), t) in c.arguments.iter().zip(&callee.text.params).zip(&types) {
        arguments.push(argument(l, o, v, *t)?);
    }
    let by_address = match (callee.text.results.as_slice(), c.results.as_slice()) {
        ([v], [o]) if v.is_array() => {
            arguments.push(argument(l, o, v, l.b.ptr_ty(0))?);
            true
        }
        _ => false,
    };
    let result = l.b.call(callee.f, &arguments);
    let [to] = c.results.as_slice() else {
        return Ok(());
    };
    if by_address {
        return Ok(());
    }
    match l.symbol(to) {
        Some(place) => {
            let t = l.b.int_ty(callee.text.results[0].ty.width().max(8));
            let v = as_argument(&l.b, result, t);
            l.b.store(v, place);
            Ok(())
        }
        None => {
            let t = l.b.int_ty(callee.text.results[0].ty.width());
            let v = as_argument(&l.b, result, t);
            l.write(to, v, false)
        }
    }
}

/// An argument: the content of a `.param` variable, its address for a struct, or a register.
fn argument(l: &Lifter, o: &Operand, v: &Variable, t: Type) -> Lifted<Value> {
    match (l.symbol(o), v.is_array()) {
        (Some(place), true) => Ok(place),
        (None, true) => refuse("a struct is passed in something that is no .param variable"),
        (Some(place), false) => {
            let bits = l.b.int_ty(v.ty.width().max(8));
            Ok(as_argument(&l.b, l.b.load(bits, place), t))
        }
        (None, false) => {
            let bits = l.read(o, Ty::Bits(v.ty.width().max(8)))?;
            Ok(as_argument(&l.b, bits, t))
        }
    }
}
