//! What is held in memory as a variable of the search: buffers, shared and local arrays, variables of the program.
//!
//! Whoever touches a buffer has to hold it alike, so all parameters that get it, all buffers that such a
//! parameter gets, and what is copied or swapped between them are one variable.
use crate::formats::{NARROW, precision};
use kerf_ir::kernels::KernelInfo;
use kerf_llvm::{Module, Value};
use kerf_num::Format;
use kerf_pass::SiteFormat;
use kerf_pass::storage::{Kind, Surveyed, survey};
use kerf_run::run::Session;
use kerf_run::storage::{Touches, touches, unfit};
use kerf_workload::Mistakes;
use kerf_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A parameter or array of a kernel, as a plan names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Kernel, as plans name it.
    pub kernel: String,
    /// Position of the kernel in the subject.
    #[serde(skip)]
    pub at: usize,
    /// Parameter or array.
    pub name: String,
    /// Loads and stores of it, by site.
    pub sites: Vec<usize>,
}

/// Memory that changes its format as one.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// For people: `buffer in`, `buffers u, next`, `shared tile in k`, `constant table`.
    pub name: String,
    /// Its format; none if it is not known.
    pub own: Option<Format>,
    /// Buffers of the workload, by name.
    pub buffers: Vec<String>,
    /// Where kernels touch it.
    pub places: Vec<Place>,
    /// Why it cannot be held in a format.
    pub refused: BTreeMap<SiteFormat, String>,
}

/// Memory that keeps its format, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedStorage {
    /// For people.
    pub name: String,
    /// Why.
    pub why: String,
}

/// A kernel's objects, with sites for accesses.
pub(crate) struct Objects {
    symbol: String,
    name: String,
    all: Vec<(Surveyed, Vec<usize>)>,
}

/// What a kernel has. `instructions` are those of its sites.
pub(crate) fn objects(
    m: &Module,
    f: Value,
    info: &KernelInfo,
    name: &str,
    instructions: &[Value],
) -> Objects {
    let number: BTreeMap<Value, usize> = (0..).zip(instructions).map(|(n, i)| (*i, n)).collect();
    let all = survey(m, f, info, &NARROW.map(|f| f.word()));
    let sites = |s: &Surveyed| {
        let mut n: Vec<usize> = s
            .accesses
            .iter()
            .filter_map(|i| number.get(i))
            .copied()
            .collect();
        n.sort_unstable();
        n.dedup();
        n
    };
    Objects {
        symbol: info.symbol.clone(),
        name: name.to_owned(),
        all: all
            .into_iter()
            .map(|s| (sites(&s), s))
            .map(|(n, s)| (s, n))
            .collect(),
    }
}

/// Sets of things that go together.
struct Sets(Vec<usize>);

impl Sets {
    fn root(&self, mut i: usize) -> usize {
        while self.0[i] != i {
            i = self.0[i];
        }
        i
    }
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// All memory of the kernels that a workload launches. `others` are symbols of shared variables that
/// kernels use which it does not launch.
pub(crate) fn stored(
    session: &Session,
    kernels: &[Objects],
    others: &[String],
) -> Result<Vec<Stored>, Mistakes> {
    Ok(stored_from_touches(
        session.workload,
        &touches(session)?,
        kernels,
        others,
    ))
}

/// The same for buffers and what touches them, wherever that is known from.
pub(crate) fn stored_from_touches(
    workload: &Workload,
    t: &Touches,
    kernels: &[Objects],
    others: &[String],
) -> Vec<Stored> {
    let buffers = workload.buffers.len();
    // Buffers first, then the objects of all kernels.
    let flat: Vec<(usize, usize)> = (0..kernels.len())
        .flat_map(|k| (0..kernels[k].all.len()).map(move |o| (k, o)))
        .collect();
    let node = |k: usize, o: usize| {
        let at = flat.iter().position(|x| *x == (k, o));
        buffers + at.unwrap_or(0)
    };
    let mut sets = Sets((0..buffers + flat.len()).collect());
    for (symbol, n, buffer) in &t.parameters {
        for (k, o) in &flat {
            let s = &kernels[*k].all[*o].0;
            if kernels[*k].symbol == *symbol && s.kind == Kind::Parameter(*n) {
                sets.join(*buffer, node(*k, *o));
            }
        }
    }
    for (symbol, buffer) in &t.variables {
        for (k, o) in &flat {
            let s = &kernels[*k].all[*o].0;
            if s.kind == Kind::Variable && s.symbol.as_ref() == Some(symbol) {
                sets.join(*buffer, node(*k, *o));
            }
        }
    }
    for (a, b) in &t.copies {
        sets.join(*a, *b);
    }
    for (k, o) in &flat {
        let s = &kernels[*k].all[*o].0;
        for with in &s.together {
            sets.join(node(*k, *o), node(*k, *with));
        }
        let same = |(k2, o2): &&(usize, usize)| kernels[*k2].all[*o2].0.symbol == s.symbol;
        for (k2, o2) in flat.iter().filter(same).filter(|_| s.symbol.is_some()) {
            sets.join(node(*k, *o), node(*k2, *o2));
        }
    }
    let mut out = Vec::new();
    for root in (0..buffers + flat.len()).filter(|n| sets.root(*n) == *n) {
        let mine = |n: &usize| sets.root(*n) == root;
        let b: Vec<usize> = (0..buffers).filter(mine).collect();
        let o: Vec<(usize, usize)> = (0..flat.len())
            .filter(|n| sets.root(buffers + n) == root)
            .map(|n| flat[n])
            .collect();
        out.extend(one(workload, t, kernels, others, &b, &o));
    }
    // Buffers in the order of the workload, then arrays.
    out
}

/// Whether a kernel gets a buffer, or it is the content of a variable.
fn touched(t: &Touches, buffer: usize) -> bool {
    t.parameters.iter().any(|p| p.2 == buffer) || t.variables.iter().any(|v| v.1 == buffer)
}

/// What people call variables of the program and the buffers that go with them: a variable's own content goes by its name.
fn named_variables(w: &Workload, t: &Touches, keys: &[&str], buffers: &[usize]) -> String {
    let beside: Vec<&str> = buffers
        .iter()
        .filter(|b| !t.variables.iter().any(|v| v.1 == **b))
        .map(|b| w.buffers[*b].name.as_str())
        .collect();
    match beside.as_slice() {
        [] => keys.join(", "),
        [one] => format!("{}, buffer {one}", keys.join(", ")),
        all => format!("{}, buffers {}", keys.join(", "), all.join(", ")),
    }
}

/// One variable; none if there is nothing to hold.
fn one(
    w: &Workload,
    t: &Touches,
    kernels: &[Objects],
    others: &[String],
    buffers: &[usize],
    objects: &[(usize, usize)],
) -> Option<Stored> {
    let get = |(k, o): &(usize, usize)| &kernels[*k].all[*o];
    let mut refused: BTreeMap<SiteFormat, String> = BTreeMap::new();
    let own = objects.iter().find_map(|o| get(o).0.format);
    for to in NARROW {
        let mut why = None;
        for b in buffers {
            let b2 = &w.buffers[*b];
            if t.in_structs.contains(b) {
                why = Some(format!(
                    "the address of `{}` is passed in a struct",
                    b2.name
                ));
            } else if buffers.len() > 1 && !touched(t, *b) {
                why = Some(format!("`{}` is copied, and no kernel touches it", b2.name));
            } else if own.is_some_and(|f| precision(to.word()) < precision(f)) {
                why = why.or_else(|| unfit(b2, to));
            }
        }
        for o in objects {
            let (s, _) = get(o);
            let of = || match objects.len() {
                1 => String::new(),
                _ => format!("{} in {}: ", s.name, kernels[o.0].name),
            };
            if let Some(r) = s.refused.get(&to.word()) {
                why = why.or_else(|| Some(of() + r));
            }
            if s.format.is_some() && s.format != own {
                why = why.or_else(|| Some(of() + "it holds another format"));
            }
            if s.kind == Kind::Variable && t.application {
                let text = "applications keep the formats of their variables";
                why = why.or_else(|| Some(text.into()));
            }
            if s.symbol.as_ref().is_some_and(|s| others.contains(s)) {
                let text = "a kernel that the workload does not launch uses it too";
                why = why.or_else(|| Some(text.into()));
            }
        }
        if let Some(why) = why {
            refused.insert(to, why);
        }
    }
    let floats = |b: &usize| {
        let all = w.buffers[*b].elem.scalars();
        all.iter().any(|(_, s)| s.is_float())
    };
    let any = objects.iter().any(|o| !get(o).1.is_empty());
    if !any && !buffers.iter().any(floats) {
        return None; // integers, or nothing
    }
    let names: Vec<String> = buffers.iter().map(|b| w.buffers[*b].name.clone()).collect();
    let mut keys: Vec<&str> = Vec::new();
    for o in objects {
        let s = &get(o).0;
        if s.kind == Kind::Variable && !keys.contains(&s.key.as_str()) {
            keys.push(&s.key);
        }
    }
    let name = match names.as_slice() {
        _ if !keys.is_empty() => named_variables(w, t, &keys, buffers),
        [] => {
            let (s, k) = (&get(objects.first()?).0, &kernels[objects.first()?.0].name);
            let what = if s.kind == Kind::Local {
                "local"
            } else {
                "shared"
            };
            match objects.len() {
                1 => format!("{k}: {what} {}", s.name),
                _ => format!("{what} {}", s.name),
            }
        }
        [one] => format!("buffer {one}"),
        all => format!("buffers {}", all.join(", ")),
    };
    // A parameter that a kernel does not use is named all the same: its buffer is held so. A variable is named by all
    // kernels that have anything to do with it.
    let named = |o: &&(usize, usize)| {
        let (s, sites) = get(o);
        !sites.is_empty() || matches!(s.kind, Kind::Parameter(_) | Kind::Variable)
    };
    let places = objects.iter().filter(named).map(|o| Place {
        kernel: kernels[o.0].name.clone(),
        at: o.0,
        name: get(o).0.key.clone(),
        sites: get(o).1.clone(),
    });
    Some(Stored {
        name,
        own,
        buffers: names,
        places: places.collect(),
        refused,
    })
}
