//! Sites on a GPU: each has its record in a thread's local memory, and functions take values into it.
//!
//! On the CPU executor the fields of a record are variables, and the code that takes a value stands where the value is: a
//! loop over threads stays one that can be vectorised. For a GPU the same code takes seconds to assemble, a hundred
//! instructions a site, and it runs once.
use super::fields::{CANCELLATION, FIELDS};
use super::local::{self, Locals};
use super::told::{self, Terms, lost, see, terms, told_of_argument};
use super::values::{arguments, field_of, lanes, larger, operands, values};
use kerf_ir::sites::float_shape;
use kerf_llvm::{Builder, Linkage, Module, Opcode, Type, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

/// What a value is recorded as.
struct Kind {
    /// The format of its site.
    format: Format,
    /// The operation that is computed once more for its local error.
    again: Option<Opcode>,
    /// Its operands are what a sum adds.
    sum: bool,
}

impl Kind {
    /// The name of the function that records a value of a format, computed from so many operands.
    fn name(&self, value: Format, operands: usize) -> String {
        let again = local::name(self.again);
        let sum = if self.sum { "_sum" } else { "" };
        format!(
            "__kerf_count_record_{again}{sum}_{operands}_{value}_{}",
            self.format
        )
    }
}

/// Functions that take values into records, by name.
pub(super) struct Recorders<'m> {
    m: &'m Module,
    functions: BTreeMap<String, Value>,
}

impl<'m> Recorders<'m> {
    pub(super) fn new(m: &'m Module) -> Recorders<'m> {
        Recorders {
            m,
            functions: BTreeMap::new(),
        }
    }

    /// A record of a thread's own, which is to be emptied at first.
    pub(super) fn record(&self, entry: &Builder) -> Value {
        entry.alloca(self.m.int_ty(64).array(FIELDS as u64))
    }

    /// Empties a record.
    pub(super) fn empty(b: &Builder, record: Value) {
        for field in 0..FIELDS {
            b.store(b.i64(0), field_of(b, record, field));
        }
    }

    /// Takes an execution of a site into its record.
    pub(super) fn see(&mut self, b: &Builder, i: Value, (op, format): (&str, Format), to: Value) {
        for v in values(i) {
            let kind = Kind {
                format,
                again: local::kind(i, op).filter(|_| v == i),
                sum: v == i && terms(i, op).is_some(),
            };
            let from: Vec<Vec<Value>> = match kind.sum || kind.again.is_some() {
                true => operands(i).into_iter().map(|x| lanes(b, x)).collect(),
                false => Vec::new(),
            };
            for (l, value) in lanes(b, v).into_iter().enumerate() {
                let from: Vec<Value> = from.iter().map(|x| x[l]).collect();
                let Some(own) = value.ty().format() else {
                    continue;
                };
                let types: Vec<Type> = from.iter().map(|x| x.ty()).collect();
                let f = self.function(&kind, own, &types);
                let mut args = vec![to, value];
                args.extend(from);
                b.call(f, &args);
            }
        }
        for (x, argument) in arguments(i).into_iter().zip(told::ARGUMENTS) {
            let Some(own) = x.ty().format() else { continue };
            let f = self.argument_function(own, argument);
            b.call(f, &[to, x]);
        }
    }

    /// The function that takes an argument of a math call in a format.
    fn argument_function(&mut self, format: Format, (what, own): (&str, [usize; 2])) -> Value {
        let m = self.m;
        let name = format!("__kerf_count_record_{what}_{format}");
        *self.functions.entry(name.clone()).or_insert_with(|| {
            let params = [m.ptr_ty(0), m.float_ty(format)];
            let f = m.add_function(&name, m.void_ty().function(&params));
            f.set_linkage(Linkage::LLVMInternalLinkage);
            f.add_enum_attr("noinline");
            let b = Builder::at_end(m.append_block(f, "entry"));
            let args = f.params();
            let slots: Vec<Value> = (0..FIELDS).map(|k| field_of(&b, args[0], k)).collect();
            told::take(&b, told_of_argument(&b, args[1], own), &slots);
            b.ret(None);
            f
        })
    }

    fn function(&mut self, kind: &Kind, value: Format, operands: &[Type]) -> Value {
        let m = self.m;
        let name = kind.name(value, operands.len());
        *self.functions.entry(name.clone()).or_insert_with(|| {
            let mut params = vec![m.ptr_ty(0), m.float_ty(value)];
            params.extend_from_slice(operands);
            let f = m.add_function(&name, m.void_ty().function(&params));
            f.set_linkage(Linkage::LLVMInternalLinkage);
            f.add_enum_attr("noinline");
            let b = Builder::at_end(m.append_block(f, "entry"));
            let args = f.params();
            take(&b, kind, args[0], args[1], &args[2..]);
            b.ret(None);
            f
        })
    }
}

/// Takes a value into a record.
fn take(b: &Builder, kind: &Kind, record: Value, value: Value, from: &[Value]) {
    let slots: Vec<Value> = (0..FIELDS).map(|k| field_of(b, record, k)).collect();
    see(b, value, &slots);
    let summands = match (kind.sum, from) {
        (true, &[x, y]) => Some(Terms::Two(x, y)),
        (true, &[x, y, z]) => Some(Terms::Product(x, y, z)),
        _ => None,
    };
    if let Some(s) = summands {
        let (x, y) = s.summands(b);
        let lost = lost(b, x, y, value, kind.format);
        let slot = slots[CANCELLATION];
        b.store(larger(b, lost, b.load(b.int_ty(64), slot)), slot);
    }
    if float_shape(value.ty()).is_some() && Locals::has_any(kind.format) {
        let again: &[Value] = if kind.again.is_some() { from } else { &[] };
        let again: Vec<Value> = again.iter().map(|x| local::widened(b, *x)).collect();
        let value = local::widened(b, value);
        local::take(b, kind.again, kind.format, value, &again, |k| slots[k]);
    }
}
