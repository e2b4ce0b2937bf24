//! Storage: a buffer, shared array or local array held in a narrower format.
//!
//! Loads become narrow loads and a widening, stores a rounding and a narrow store, and every step through
//! the buffer is scaled. That is possible only where all that is done with its address is seen and all
//! its content is of one format; otherwise the buffer is refused, with the reason.
mod find;
mod rewrite;
mod steps;
mod trace;

use crate::site_format::SiteFormat;
use kerf_ir::kernels::KernelInfo;
use kerf_ir::llvm::{LlvmError, Module, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

pub use find::{Object, objects};

/// An object that is to be held in another format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Narrowed {
    object: Object,
    from: Format,
    to: Format,
}

/// What a kernel's plan asks for: each object and its format, or the name that cannot have it and why.
pub(crate) fn check(
    m: &Module,
    kernel: Value,
    info: &KernelInfo,
    wanted: &BTreeMap<String, SiteFormat>,
) -> Result<Vec<Narrowed>, (String, SiteFormat, String)> {
    let mut out: Vec<Narrowed> = Vec::new();
    for (name, format) in wanted {
        let refuse = |why: String| (name.clone(), *format, why);
        if format.is_pair() {
            return Err(refuse("pairs are for computing, not for storing".into()));
        }
        let object = find::find(kernel, info, name).map_err(refuse)?;
        if let Object::Shared(g) = object {
            g.expand_constant_users();
        }
        let to = format.word();
        let Some(from) = trace::trace(m, object, to).map_err(refuse)?.format else {
            continue; // nothing reads or writes it
        };
        if from == to {
            continue;
        }
        if out.iter().any(|o| o.object == object) {
            return Err(refuse("the plan names it twice".into()));
        }
        out.push(Narrowed { object, from, to });
    }
    Ok(out)
}

/// The format that an object is read and written in, and whether it can be held in another; none where
/// nothing reads or writes it.
pub fn possible(m: &Module, object: Object, to: SiteFormat) -> Result<Option<Format>, String> {
    if let Object::Shared(g) = object {
        g.expand_constant_users();
    }
    trace::trace(m, object, to.word()).map(|t| t.format)
}

/// Holds objects, which [`check`] has passed, in their formats.
pub(crate) fn apply(m: &Module, all: &[Narrowed]) -> Result<(), LlvmError> {
    let mut done: Vec<Object> = Vec::new();
    for n in all {
        // A shared variable may be asked for by several kernels.
        if done.contains(&n.object) {
            continue;
        }
        done.push(n.object);
        if let Object::Shared(g) = n.object {
            g.expand_constant_users();
        }
        let t = trace::trace(m, n.object, n.to).map_err(LlvmError)?;
        rewrite::rewrite(m, n.object, &t, n.from, n.to);
    }
    if all.is_empty() { Ok(()) } else { m.verify() }
}

/// Do two kernels want different things of one shared variable? Gives its name.
pub(crate) fn conflict(a: &[Narrowed], b: &[Narrowed]) -> Option<String> {
    a.iter().find_map(|x| {
        let y = b.iter().find(|y| y.object == x.object)?;
        match (x.object, x.to != y.to) {
            (Object::Shared(g), true) => Some(find::shared_name(g)),
            _ => None,
        }
    })
}

/// A shared variable of the plan that a kernel without that wish uses too: its name.
pub(crate) fn also_used(all: &[Narrowed], kernel: Value, mine: &[Narrowed]) -> Option<String> {
    let reach = kerf_ir::kernels::reachable(kernel);
    all.iter().find_map(|n| match n.object {
        Object::Shared(g) if !mine.iter().any(|o| o.object == n.object) => {
            let used = g
                .users()
                .iter()
                .any(|u| u.is_instruction() && reach.contains(&u.block().function()));
            used.then(|| find::shared_name(g))
        }
        _ => None,
    })
}
