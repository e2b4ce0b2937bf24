//! Storage: a buffer, shared array, local array or variable of the program held in a narrower format: a floating-point
//! format, or codes with a scale ([`kerf_num::scaled`]).
//!
//! Loads become narrow loads and a widening, stores a rounding and a narrow store, and every step through
//! the buffer is scaled. That is possible only where all that is done with its address is seen and all
//! its content is of one format; otherwise the buffer is refused, with the reason.
mod codes;
mod content;
mod find;
mod losses;
mod refusal;
mod rewrite;
mod steps;
mod survey;
mod trace;

use kerf_ir::kernels::KernelInfo;
use kerf_llvm::{LlvmError, Module, Value};
use kerf_num::{Format, StorageFormat};
use std::collections::{BTreeMap, BTreeSet};
use trace::Trace;

pub use find::{Object, is_variable, objects, variable};
pub(crate) use losses::LossCounter;
pub use losses::{CountedObject, LOSSES};
pub(crate) use refusal::RefusedObject;
pub use refusal::{AccessVerb, StorageRefusal};
pub use survey::{ObjectKind, Surveyed, survey};

/// An object that is to be held in another format.
#[derive(Debug, Clone)]
pub(crate) struct Narrowed {
    /// Kernel and object, for people.
    kernel: String,
    name: String,
    object: Object,
    /// What the source says that it holds.
    declared: Option<Format>,
    from: Format,
    to: StorageFormat,
}

/// An object with all that is done with it.
struct Traced {
    held: Narrowed,
    trace: Trace,
}

/// Something else that a pointer to an object may point to, or that it is copied from or to, and that is
/// not held in the same way.
fn stranger(t: &Traced, all: &[Traced]) -> bool {
    let known = |v: &Value| {
        all.iter().any(|o| {
            (o.held.from, o.held.to) == (t.held.from, t.held.to) && o.trace.pointers.contains(v)
        })
    };
    // What is copied from one to the other is numbers of one format.
    let copied = |o: &Traced| o.trace.loose().any(|w| t.trace.loose().any(|v| v == w));
    let apart = |o: &Traced| o.held.from != t.held.from && copied(o);
    !t.trace.others.iter().all(known) || all.iter().any(apart)
}

/// Traces an object; none where there is nothing to do.
fn traced(
    m: &Module,
    (kernel, name): (&str, &str),
    object: Object,
    declared: Option<Format>,
    to: StorageFormat,
) -> Result<Option<Traced>, StorageRefusal> {
    if let Object::Shared(g) | Object::Variable(g) = object {
        g.expand_constant_users();
    }
    let trace = trace::trace(m, object, declared, to)?;
    let Some(from) = trace.format.filter(|from| to != (*from).into()) else {
        return Ok(None); // nothing reads or writes it, or it is in that format
    };
    Ok(Some(Traced {
        held: Narrowed {
            kernel: kernel.to_owned(),
            name: name.to_owned(),
            object,
            declared,
            from,
            to,
        },
        trace,
    }))
}

/// Refuses to take bytes that are copied for numbers where the source does not say that they are.
fn numbers(t: &Traced) -> Result<(), StorageRefusal> {
    let Object::Parameter(_) = t.held.object else {
        return Ok(()); // a variable's type says it
    };
    match t.trace.loose().next().is_none() || t.held.declared == Some(t.held.from) {
        true => Ok(()),
        false => Err(StorageRefusal::UntypedBytes),
    }
}

/// Can all these objects of a kernel have these formats at once?
pub fn fit_together(
    m: &Module,
    kernel: Value,
    info: &KernelInfo,
    wanted: &BTreeMap<String, StorageFormat>,
) -> bool {
    check(m, kernel, info, wanted).is_ok()
}

/// What a kernel's plan asks for: each object and its format.
pub(crate) fn check(
    m: &Module,
    kernel: Value,
    info: &KernelInfo,
    wanted: &BTreeMap<String, StorageFormat>,
) -> Result<Vec<Narrowed>, RefusedObject> {
    let mut all: Vec<Traced> = Vec::new();
    for (name, format) in wanted {
        let refuse = |why| RefusedObject {
            name: name.clone(),
            format: *format,
            why,
        };
        let object = find::find(kernel, info, name).map_err(refuse)?;
        if all.iter().any(|o| o.held.object == object) {
            return Err(refuse(StorageRefusal::NamedTwice));
        }
        let declared = find::declared(m, kernel, info, object);
        if let Some(t) = traced(m, (&info.name, name), object, declared, *format).map_err(refuse)? {
            numbers(&t).map_err(refuse)?;
            all.push(t);
        }
    }
    match all.iter().find(|t| stranger(t, &all)) {
        Some(t) => Err(RefusedObject {
            name: t.held.name.clone(),
            format: t.held.to,
            why: StorageRefusal::Connected,
        }),
        None => Ok(all.into_iter().map(|t| t.held).collect()),
    }
}

/// Names of the objects of a kernel that can be held in a format together.
pub fn possible(m: &Module, kernel: Value, info: &KernelInfo, to: StorageFormat) -> Vec<String> {
    let mut all: Vec<Traced> = objects(kernel, info)
        .iter()
        .filter_map(|(name, o)| {
            let declared = find::declared(m, kernel, info, *o);
            let t = traced(m, (&info.name, name), *o, declared, to)
                .ok()
                .flatten()?;
            numbers(&t).is_ok().then_some(t)
        })
        .collect();
    while let Some(k) = all.iter().position(|t| stranger(t, &all)) {
        all.remove(k);
    }
    all.into_iter().map(|t| t.held.name).collect()
}

/// Objects with scaled formats, each once, however many versions of its kernel there are.
fn counted_objects(traces: &[Traced]) -> Vec<CountedObject> {
    let mut all: Vec<CountedObject> = Vec::new();
    for t in traces {
        let new = t.held.counted().filter(|o| !all.contains(o));
        all.extend(new);
    }
    all
}

impl Narrowed {
    /// As something whose losses are counted, if it may lose something.
    fn counted(&self) -> Option<CountedObject> {
        Some(CountedObject {
            kernel: self.kernel.clone(),
            object: self.name.clone(),
            format: self.to.scaled()?,
        })
    }
}

/// Holds objects, which [`check`] has passed, in their formats. Gives those whose losses are counted, which is done where
/// `count_losses` says so.
pub(crate) fn apply(
    m: &Module,
    all: &[Narrowed],
    count_losses: bool,
) -> Result<Vec<CountedObject>, LlvmError> {
    let again = |n: &Narrowed| {
        traced(m, (&n.kernel, &n.name), n.object, n.declared, n.to)
            .map_err(|e| LlvmError(e.to_string()))
    };
    let (mut words, mut splits) = (BTreeMap::new(), BTreeMap::new());
    for n in all {
        if let Some(t) = again(n)? {
            words.extend(t.trace.words.into_iter().map(|w| (w, n.from)));
            splits.extend(t.trace.splits.into_iter().map(|c| (c, n.from)));
        }
    }
    for (w, from) in words {
        rewrite::retype(w, from);
    }
    for (c, from) in splits {
        rewrite::split(c, from);
    }
    let mut traces: Vec<Traced> = Vec::new();
    for n in all {
        // A variable may be asked for by several kernels.
        if !traces.iter().any(|t| t.held.object == n.object) {
            traces.extend(again(n)?);
        }
    }
    // Two objects may be read through one pointer, which is rewritten once.
    let mut done = BTreeSet::new();
    for t in &mut traces {
        t.trace.keep(&mut done);
    }
    let counted = match count_losses {
        true => counted_objects(&traces),
        false => Vec::new(),
    };
    let counters = match counted.is_empty() {
        true => Vec::new(),
        false => LossCounter::new(m, counted.len()),
    };
    for t in &traces {
        let at = counted
            .iter()
            .position(|o| Some(o) == t.held.counted().as_ref());
        let counter = at.and_then(|k| counters.get(k));
        rewrite::accesses(m, &t.trace, (t.held.from, t.held.to), counter);
    }
    for t in &traces {
        rewrite::object(m, t.held.object, t.held.from, t.held.to);
    }
    if !all.is_empty() {
        m.verify()?;
    }
    Ok(counted)
}

/// Name of a variable that several kernels may use.
fn common(o: Object) -> Option<(Value, String)> {
    match o {
        Object::Shared(g) | Object::Variable(g) => Some((g, find::shared_name(g))),
        Object::Parameter(_) | Object::Local(_) => None,
    }
}

/// Do two kernels want different things of one variable? Gives its name.
pub(crate) fn conflict(a: &[Narrowed], b: &[Narrowed]) -> Option<String> {
    a.iter().find_map(|x| {
        let y = b.iter().find(|y| y.object == x.object)?;
        common(x.object).filter(|_| x.to != y.to).map(|c| c.1)
    })
}

/// A variable of the plan that a kernel without that wish uses too: its name.
pub(crate) fn also_used(all: &[Narrowed], kernel: Value, mine: &[Narrowed]) -> Option<String> {
    let reach = kerf_ir::kernels::reachable(kernel);
    all.iter().find_map(|n| {
        let (g, name) = common(n.object).filter(|_| !mine.iter().any(|o| o.object == n.object))?;
        let used = g
            .users()
            .iter()
            .any(|u| u.is_instruction() && reach.contains(&u.block().function()));
        used.then_some(name)
    })
}
