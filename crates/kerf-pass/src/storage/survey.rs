//! What could be held in narrower formats: every object of a kernel, with what stands against it.
use super::StorageRefusal;
use super::find::{Object, declared, objects, shared_name};
use super::trace::trace;
use kerf_ir::kernels::KernelInfo;
use kerf_llvm::{Module, Value};
use kerf_num::{Format, StorageFormat};
use std::collections::BTreeMap;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// What a pointer parameter points to; its number.
    Parameter(usize),
    /// A shared variable.
    Shared,
    /// A local array.
    Local,
    /// A `__constant__` or `__device__` variable.
    Variable,
}

/// An object that holds numbers.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// As a plan names it.
    pub key: String,
    /// As the source names it.
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
    /// Symbol of a variable that other kernels may use too.
    pub symbol: Option<String>,
    /// Format of its numbers, if they can be seen.
    pub format: Option<Format>,
    /// Instructions that read or write it.
    pub accesses: Vec<Value>,
    /// Positions of the objects that have to be held in the same format.
    pub together: Vec<usize>,
    /// Why it cannot be held in a format.
    pub refused: BTreeMap<StorageFormat, StorageRefusal>,
}

/// The name that a plan has to use; none if no name tells it from others.
fn key(all: &[(String, Object)], at: usize, number: usize) -> Option<String> {
    let (name, o) = &all[at];
    let alone = all.iter().filter(|x| x.0 == *name).count() == 1 && !name.is_empty();
    match o {
        _ if alone && name.parse::<usize>().is_err() => Some(name.clone()),
        Object::Parameter(_) => Some(number.to_string()),
        Object::Shared(g) => Some(g.name()),
        Object::Variable(_) => Some(name.clone()),
        Object::Local(_) => None,
    }
}

/// All objects of a kernel that hold numbers wider than one of the formats, or may do so.
pub fn survey(m: &Module, kernel: Value, info: &KernelInfo, to: &[StorageFormat]) -> Vec<Surveyed> {
    let all = objects(kernel, info);
    for (_, o) in &all {
        if let Object::Shared(g) | Object::Variable(g) = o {
            g.expand_constant_users();
        }
    }
    let params = kernel.params();
    let mut out = Vec::new();
    let mut traces = Vec::new();
    for (at, (name, o)) in all.iter().enumerate() {
        let number = params.iter().position(|p| *p == o.address()).unwrap_or(0);
        let key = key(&all, at, number);
        let (kind, symbol) = match o {
            Object::Parameter(_) => (ObjectKind::Parameter(number), None),
            Object::Shared(g) => (ObjectKind::Shared, Some(g.name())),
            Object::Local(_) => (ObjectKind::Local, None),
            Object::Variable(g) => (ObjectKind::Variable, Some(g.name())),
        };
        let mut s = Surveyed {
            key: key.clone().unwrap_or_default(),
            name: match o {
                Object::Shared(g) => shared_name(*g),
                _ => name.clone(),
            },
            kind,
            symbol,
            format: None,
            accesses: Vec::new(),
            together: Vec::new(),
            refused: BTreeMap::new(),
        };
        let declared = declared(m, kernel, info, *o);
        let (mut pointers, mut others) = (Vec::new(), Vec::new());
        for f in to {
            match trace(m, *o, declared, *f) {
                Ok(t) => {
                    s.format = t.format;
                    s.accesses = [t.loads, t.stores, t.atomics].concat();
                    (pointers, others) = (t.pointers, t.others);
                    if key.is_none() {
                        s.refused.insert(*f, StorageRefusal::SameName);
                    }
                }
                Err(why) => {
                    s.refused.insert(*f, why);
                }
            }
        }
        if s.format.is_none() {
            // Held as it is, everything is allowed that does not hide what is in it.
            for own in [Format::F64, Format::F32] {
                if let Ok(t) = trace(m, *o, declared, own.into())
                    && t.format == Some(own)
                {
                    s.format = t.format;
                    s.accesses = [t.loads, t.stores, t.atomics].concat();
                }
            }
        }
        traces.push((pointers, others));
        out.push(s);
    }
    for (at, (_, others)) in traces.iter().enumerate() {
        for v in others {
            match traces.iter().position(|(p, _)| p.contains(v)) {
                Some(o) if o != at => out[at].together.push(o),
                Some(_) => {}
                None => {
                    for f in to {
                        out[at].refused.insert(*f, StorageRefusal::Connected);
                    }
                }
            }
        }
        out[at].together.sort_unstable();
        out[at].together.dedup();
    }
    out
}
