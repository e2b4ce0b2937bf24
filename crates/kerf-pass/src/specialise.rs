//! Device functions that several kernels call and want in different formats or variants: a copy for each.
//!
//! What was not inlined (recursion, `noinline`) is one function for all kernels, and a plan is made for
//! each kernel. Kernels that want the same of a function, and of all that it calls, share it; a kernel
//! that the plan leaves alone keeps the original.
use crate::math::MathVariant;
use crate::site_format::SiteFormat;
use kerf_ir::kernels::reachable;
use kerf_llvm::{Module, Opcode, Value};
use std::collections::BTreeMap;

/// What is to become of one instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Want {
    /// Another format.
    pub format: Option<SiteFormat>,
    /// Another way to compute it.
    pub math: Option<MathVariant>,
    /// A made function, by its number in [`crate::plan::Plan::functions`].
    pub made: Option<usize>,
}

/// What is wanted of the instructions of one function, by position in it.
type Formats = BTreeMap<usize, Want>;

/// What is wanted of instructions, for each kernel.
pub(crate) type Wanted = Vec<(Value, Vec<(Value, Want)>)>;

/// A function whose address is taken, which nobody can give another copy of.
#[derive(Debug)]
pub(crate) struct AddressTaken(pub Value);

struct Kernel {
    function: Value,
    reach: Vec<Value>,
    formats: BTreeMap<Value, Formats>,
}

impl Kernel {
    fn new(function: Value, wanted: &[(Value, Want)]) -> Kernel {
        let reach = reachable(function);
        let mut formats: BTreeMap<Value, Formats> = BTreeMap::new();
        for f in &reach {
            let place: BTreeMap<Value, usize> = f
                .instructions()
                .into_iter()
                .enumerate()
                .map(|(k, i)| (i, k))
                .collect();
            let here: Formats = wanted
                .iter()
                .filter_map(|(i, want)| place.get(i).map(|k| (*k, *want)))
                .collect();
            formats.insert(*f, here);
        }
        Kernel {
            function,
            reach,
            formats,
        }
    }

    /// What is wanted of a function and of all that it calls.
    fn demand(&self, g: Value) -> Vec<&Formats> {
        reachable(g).iter().map(|h| &self.formats[h]).collect()
    }
}

fn calls_only(g: Value) -> bool {
    g.users()
        .into_iter()
        .all(|u| u.opcode() == Some(Opcode::LLVMCall) && u.callee() == g && !u.args().contains(&g))
}

/// Makes copies where kernels differ; gives the instructions to change and what is wanted of them.
pub(crate) fn specialise(
    m: &Module,
    wanted: &Wanted,
) -> Result<BTreeMap<Value, Want>, AddressTaken> {
    let all: Vec<Kernel> = m
        .kernel_functions()
        .into_iter()
        .filter(|k| !k.is_declaration())
        .map(|k| {
            let mine = wanted.iter().find(|w| w.0 == k);
            Kernel::new(k, mine.map_or(&[], |w| w.1.as_slice()))
        })
        .collect();
    // For each function, the kernels that share a version of it; those that want nothing come first.
    let mut versions: Vec<(Value, Vec<Vec<usize>>)> = Vec::new();
    for g in m.functions().into_iter().filter(|g| !g.is_declaration()) {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (k, kernel) in all.iter().enumerate() {
            if kernel.function == g || !kernel.reach.contains(&g) {
                continue;
            }
            let demand = kernel.demand(g);
            match groups.iter_mut().find(|o| all[o[0]].demand(g) == demand) {
                Some(group) => group.push(k),
                None => groups.push(vec![k]),
            }
        }
        let nothing = |o: &Vec<usize>| all[o[0]].demand(g).iter().all(|f| f.is_empty());
        groups.sort_by_key(|o| !nothing(o));
        if groups.len() > 1 && !calls_only(g) {
            return Err(AddressTaken(g));
        }
        versions.push((g, groups));
    }
    // The version of a function that a kernel has; made of the original bodies.
    let mut version: BTreeMap<(usize, Value), Value> = BTreeMap::new();
    for (g, groups) in &versions {
        for (n, group) in groups.iter().enumerate() {
            let f = match n {
                0 => *g,
                _ => g.clone_function(&format!("{}.kerf.{n}", g.name())),
            };
            for k in group {
                version.insert((*k, *g), f);
            }
        }
    }
    let mut chosen = BTreeMap::new();
    for (k, kernel) in all.iter().enumerate() {
        for g in &kernel.reach {
            let f = version.get(&(k, *g)).copied().unwrap_or(*g);
            let body = f.instructions();
            for i in &body {
                for (n, op) in (0u32..).zip(i.operands()) {
                    if let Some(other) = version.get(&(k, op))
                        && *other != op
                    {
                        i.set_operand(n, *other);
                    }
                }
            }
            for (place, want) in &kernel.formats[g] {
                chosen.insert(body[*place], *want);
            }
        }
    }
    Ok(chosen)
}
