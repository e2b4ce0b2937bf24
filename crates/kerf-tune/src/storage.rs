//! What is held in memory as a variable of the search: buffers, shared and local arrays, variables of the program.
//!
//! Whoever touches a buffer has to hold it alike, so all parameters that get it, all buffers that such a
//! parameter gets, and what is copied or swapped between them are one variable.
use crate::formats::{precision, stored_formats};
use kerf_ir::kernels::KernelInfo;
use kerf_llvm::{Module, Value};
use kerf_num::{Format, StorageFormat};
use kerf_pass::storage::{ObjectKind, Surveyed, survey};
use kerf_run::run::WorkloadSession;
use kerf_run::storage::{Touches, touches, unfit};
use kerf_workload::Mistakes;
use kerf_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A parameter or array of a kernel, as a plan names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoragePlace {
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
    pub places: Vec<StoragePlace>,
    /// Why it cannot be held in a format.
    pub refused: BTreeMap<StorageFormat, String>,
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
    let all = survey(m, f, info, &stored_formats());
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
    session: &WorkloadSession,
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
            if kernels[*k].symbol == *symbol && s.kind == ObjectKind::Parameter(*n) {
                sets.join(*buffer, node(*k, *o));
            }
        }
    }
    for (symbol, buffer) in &t.variables {
        for (k, o) in &flat {
            let s = &kernels[*k].all[*o].0;
            if s.kind == ObjectKind::Variable && s.symbol.as_ref() == Some(symbol) {
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
        let alike = HeldAlike {
            workload,
            touches: t,
            kernels,
            others,
            buffers: (0..buffers).filter(mine).collect(),
            objects: (0..flat.len())
                .filter(|n| sets.root(buffers + n) == root)
                .map(|n| flat[n])
                .collect(),
        };
        out.extend(alike.stored());
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

/// Position of an object: of its kernel, and among the objects of that.
type ObjectAt = (usize, usize);

/// Whether a format keeps fewer digits than another, or fewer bytes.
fn lowers(own: Format, to: StorageFormat) -> bool {
    match to {
        StorageFormat::Float(f) => precision(f) < precision(own),
        StorageFormat::Scaled(s) => s.bytes() < own.bytes(),
    }
}

/// Buffers and objects that are held alike.
struct HeldAlike<'a> {
    workload: &'a Workload,
    touches: &'a Touches,
    kernels: &'a [Objects],
    /// Symbols of variables that kernels use which the workload does not launch.
    others: &'a [String],
    /// Buffers of the workload, by position.
    buffers: Vec<usize>,
    objects: Vec<ObjectAt>,
}

impl HeldAlike<'_> {
    fn object(&self, (kernel, object): &ObjectAt) -> &Surveyed {
        &self.kernels[*kernel].all[*object].0
    }

    /// Loads and stores of an object, by site.
    fn sites(&self, (kernel, object): &ObjectAt) -> &[usize] {
        &self.kernels[*kernel].all[*object].1
    }

    /// They as one variable; none if there is nothing to hold.
    fn stored(&self) -> Option<Stored> {
        let own = self.objects.iter().find_map(|o| self.object(o).format);
        let floats = |b: &usize| {
            let all = self.workload.buffers[*b].elem.scalars();
            all.iter().any(|(_, s)| s.is_float())
        };
        let any = self.objects.iter().any(|o| !self.sites(o).is_empty());
        if !any && !self.buffers.iter().any(floats) {
            return None; // integers, or nothing
        }
        let refused = stored_formats()
            .into_iter()
            .filter_map(|to| Some((to, self.refusal(own, to)?)));
        let buffers = self.buffers.iter();
        let buffers: Vec<String> = buffers
            .map(|b| self.workload.buffers[*b].name.clone())
            .collect();
        Some(Stored {
            name: self.name(&buffers)?,
            own,
            buffers,
            places: self.places(),
            refused: refused.collect(),
        })
    }

    /// Why they cannot be held in a format.
    fn refusal(&self, own: Option<Format>, to: StorageFormat) -> Option<String> {
        let mut why = None;
        if self.touches.application && to.scaled().is_some() {
            why = Some("applications hold memory in floating-point formats".into());
        }
        for b in &self.buffers {
            let buffer = &self.workload.buffers[*b];
            if self.touches.in_structs.contains(b) {
                why = Some(format!(
                    "the address of `{}` is passed in a struct",
                    buffer.name
                ));
            } else if self.buffers.len() > 1 && !touched(self.touches, *b) {
                why = Some(format!(
                    "`{}` is copied, and no kernel touches it",
                    buffer.name
                ));
            } else if own.is_some_and(|f| lowers(f, to)) {
                why = why.or_else(|| unfit(buffer, to).map(|e| e.to_string()));
            }
        }
        let mut objects = self.objects.iter();
        why.or_else(|| objects.find_map(|o| self.object_refusal(o, own, to)))
    }

    /// Why one of the objects cannot be held in a format.
    fn object_refusal(
        &self,
        at: &ObjectAt,
        own: Option<Format>,
        to: StorageFormat,
    ) -> Option<String> {
        let s = self.object(at);
        let named = |why: &str| match self.objects.len() {
            1 => why.to_owned(),
            _ => format!("{} in {}: {why}", s.name, self.kernels[at.0].name),
        };
        if let Some(why) = s.refused.get(&to) {
            return Some(named(&why.to_string()));
        }
        if s.format.is_some() && s.format != own {
            return Some(named("it holds another format"));
        }
        if s.kind == ObjectKind::Variable && self.touches.application {
            return Some("applications keep the formats of their variables".into());
        }
        let elsewhere = |s: &String| self.others.contains(s);
        if s.symbol.as_ref().is_some_and(elsewhere) {
            return Some("a kernel that the workload does not launch uses it too".into());
        }
        None
    }

    /// What people call them.
    fn name(&self, buffers: &[String]) -> Option<String> {
        let mut keys: Vec<&str> = Vec::new();
        for o in &self.objects {
            let s = self.object(o);
            if s.kind == ObjectKind::Variable && !keys.contains(&s.key.as_str()) {
                keys.push(&s.key);
            }
        }
        Some(match buffers {
            _ if !keys.is_empty() => {
                named_variables(self.workload, self.touches, &keys, &self.buffers)
            }
            [] => {
                let first = self.objects.first()?;
                let (s, kernel) = (self.object(first), &self.kernels[first.0].name);
                let what = if s.kind == ObjectKind::Local {
                    "local"
                } else {
                    "shared"
                };
                match self.objects.len() {
                    1 => format!("{kernel}: {what} {}", s.name),
                    _ => format!("{what} {}", s.name),
                }
            }
            [one] => format!("buffer {one}"),
            all => format!("buffers {}", all.join(", ")),
        })
    }

    /// Where kernels touch them. A parameter that a kernel does not use is named all the same: its buffer is held so. A
    /// variable is named by all kernels that have anything to do with it.
    fn places(&self) -> Vec<StoragePlace> {
        let named = |o: &&ObjectAt| {
            let kind = &self.object(o).kind;
            !self.sites(o).is_empty()
                || matches!(kind, ObjectKind::Parameter(_) | ObjectKind::Variable)
        };
        let objects = self.objects.iter().filter(named);
        let places = objects.map(|o| StoragePlace {
            kernel: self.kernels[o.0].name.clone(),
            at: o.0,
            name: self.object(o).key.clone(),
            sites: self.sites(o).to_vec(),
        });
        places.collect()
    }
}
