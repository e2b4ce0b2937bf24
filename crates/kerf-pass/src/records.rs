//! Records: a buffer whose elements have several fields, stored as planes (one for each field) or padded to vector width.
//!
//! Pointers stay those of the program's layout. Only an access knows the layout: its offset from the buffer's beginning is
//! taken apart into the record and the field, and it goes to where that field of that record is stored. So the pass has to
//! see all accesses, and nothing else about pointers matters. Values move as bits: the program's results stay.
mod layout;
mod place;
mod refusal;
mod rewrite;
mod survey;
mod trace;

pub use layout::{RUN, RecordLayout, RecordPlan, Records};
pub use refusal::RecordRefusal;
pub(crate) use refusal::RefusedRecords;
pub use survey::{RecordBuffer, survey};

use crate::storage::{Object, objects};
use kerf_ir::kernels::KernelInfo;
use kerf_llvm::{Module, Value};
use kerf_num::StorageFormat;
use rewrite::Buffer;
use std::collections::BTreeMap;
use trace::Trace;

/// A pointer parameter, by name or number.
fn parameter(kernel: Value, info: &KernelInfo, name: &str) -> Result<Value, RecordRefusal> {
    let all = objects(kernel, info);
    let parameters = all.iter().filter_map(|(n, o)| match o {
        Object::Parameter(p) => Some((n, *p)),
        _ => None,
    });
    let number = |p: Value| kernel.params().iter().position(|q| *q == p);
    let found = match name.parse::<usize>() {
        Ok(k) => parameters.clone().find(|(_, p)| number(*p) == Some(k)),
        Err(_) => parameters.clone().find(|(n, _)| *n == name),
    };
    found.map(|f| f.1).ok_or_else(|| RecordRefusal::Unknown {
        have: parameters.map(|f| f.0.clone()).collect(),
    })
}

/// The records of a plan in a kernel's parameter, in the format that the parameter is held in.
fn held_records(plan: &RecordPlan, held: Option<StorageFormat>) -> Result<Records, RecordRefusal> {
    let mixed = plan.fields.windows(2).any(|w| w[0] != w[1]);
    match held.is_some() && mixed {
        true => Err(RecordRefusal::MixedFormats),
        false => Records::new(plan, held),
    }
}

/// Whether the records of a parameter of a kernel could be stored so; the reason if not.
pub fn check(
    m: &Module,
    kernel: Value,
    info: &KernelInfo,
    (name, plan): (&str, &RecordPlan),
) -> Result<(), RecordRefusal> {
    let base = parameter(kernel, info, name)?;
    let records = Records::new(plan, None)?;
    let records = &records;
    Buffer { m, base, records }.check(&Trace::new(base)?)
}

/// Rewrites a parameter's accesses.
fn rewrite(m: &Module, base: Value, records: &Records) -> Result<(), RecordRefusal> {
    let buffer = Buffer { m, base, records };
    let trace = Trace::new(base)?;
    buffer.check(&trace)?;
    for u in &trace.pieces {
        buffer.split(*u, &trace)?;
    }
    for a in &Trace::new(base)?.accesses {
        buffer.access(a)?;
    }
    let f = base.argument_function();
    if let Some(k) = f.params().iter().position(|q| *q == base) {
        for a in ["dereferenceable", "dereferenceable_or_null"] {
            f.remove_param_attr(k as u32, a);
        }
    }
    Ok(())
}

/// Stores the records of a kernel's parameters as its plan says. `held` are the formats that memory has by then.
pub(crate) fn apply(
    m: &Module,
    kernel: Value,
    info: &KernelInfo,
    wanted: &BTreeMap<String, RecordPlan>,
    held: &BTreeMap<String, StorageFormat>,
) -> Result<(), RefusedRecords> {
    let mut done: Vec<Value> = Vec::new();
    for (name, plan) in wanted {
        let refuse = |why| RefusedRecords {
            name: name.clone(),
            why,
        };
        let base = parameter(kernel, info, name).map_err(refuse)?;
        if done.contains(&base) {
            return Err(refuse(RecordRefusal::NamedTwice));
        }
        done.push(base);
        let number = kernel.params().iter().position(|q| *q == base).unwrap_or(0);
        let own = info.params.get(number).map_or("", |p| p.name.as_str());
        let format = held.get(own).or_else(|| held.get(&number.to_string()));
        let records = held_records(plan, format.copied()).map_err(refuse)?;
        rewrite(m, base, &records).map_err(refuse)?;
    }
    Ok(())
}
