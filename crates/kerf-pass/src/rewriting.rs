//! Clusters of expressions written differently: new operations in the place of a kernel's sites.
//!
//! New operations stand as late as what they are for allows, but in as few loops as possible, as conversions do
//! ([`crate::engine::places`]); a step that several outputs need is computed once where one place serves them all.
//! Multiply-adds are explicit, and no operation carries a flag, so that nothing is contracted or reordered afterwards.
use crate::engine::places::Places;
use kerf_ir::pure_operation::{PureOperation, recognise};
use kerf_ir::rewriting::{Rewriting, RewritingOperand, RewritingStep};
use kerf_ir::sites::SiteMap;
use kerf_llvm::{Builder, LlvmError, Module, Opcode, Type, Value};
use kerf_num::Format;
use std::collections::{BTreeMap, BTreeSet};

/// Why a cluster cannot be rewritten so.
#[derive(Debug, thiserror::Error)]
pub enum RewritingError {
    /// There is no such site.
    #[error("site {site} is none of the kernel's {count}")]
    UnknownSite {
        /// As the plan numbers it.
        site: usize,
        /// Sites of the kernel.
        count: usize,
    },
    /// Sites are in no order, or belong to two clusters.
    #[error("site {0} is named twice, or its cluster's sites do not ascend")]
    Repeated(usize),
    /// It is no operation of this kind.
    #[error(
        "site {0} is no arithmetic operation or function of f64 or f32 scalars in the kernel itself, of one format with its cluster"
    )]
    NotPure(usize),
    /// A value is used that nothing stands for.
    #[error("the value of site {0} is used outside its cluster, and is not among its outputs")]
    Lost(usize),
    /// Something is given that is not asked for.
    #[error("output {0} is no site of its cluster")]
    NoOutput(usize),
    /// An operand names nothing.
    #[error(
        "`{0}` names no value: an earlier step, or an operand of a replaced site that is not replaced itself"
    )]
    NoValue(RewritingOperand),
    /// A value is not there yet where it is needed.
    #[error("`{leaf}` is not computed on every way to site {site}")]
    NotYet {
        /// The value.
        leaf: RewritingOperand,
        /// Where it is needed.
        site: usize,
    },
    /// LLVM refuses it.
    #[error("{0}")]
    Llvm(#[from] LlvmError),
}

/// What was made of a cluster.
pub(crate) struct RewrittenCluster {
    /// Sites that are no more.
    pub sites: BTreeSet<usize>,
    /// Operations that stand in their place.
    pub operations: Vec<Value>,
}

/// A new operation, and whether it stands at the end of its block.
struct Made {
    value: Value,
    block: usize,
    at_end: bool,
}

/// Where something is needed: before an instruction of a block.
#[derive(Copy, Clone)]
struct Position {
    block: usize,
    before: Value,
    /// That is the end of the block.
    at_end: bool,
}

struct Emitter<'a> {
    m: &'a Module,
    map: &'a SiteMap,
    r: &'a Rewriting,
    places: &'a Places,
    ty: Type,
    format: Format,
    /// The site that is being replaced.
    site: usize,
    made: BTreeMap<usize, Vec<Made>>,
    operations: Vec<Value>,
}

impl Emitter<'_> {
    fn leaf(&self, o: &RewritingOperand) -> Result<Value, RewritingError> {
        match o {
            RewritingOperand::Leaf { site, operand } => {
                Ok(self.map.instructions[*site].operand(*operand))
            }
            other => Err(RewritingError::NoValue(*other)),
        }
    }

    /// Block in which a value is defined; the first for what is there always.
    fn definition(&self, v: Value) -> Option<usize> {
        match v.is_instruction() {
            true => self.places.number.get(&v.block()).copied(),
            false => Some(0),
        }
    }

    /// The last block that defines something that a step needs, on the way to a block.
    fn earliest(&self, step: &RewritingStep, to: usize) -> Result<usize, RewritingError> {
        let mut last = 0;
        let mut left: Vec<&RewritingOperand> = step.operands.iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(o) = left.pop() {
            match o {
                RewritingOperand::Constant(_) => {}
                RewritingOperand::Step(k) => {
                    if seen.insert(*k) {
                        left.extend(&self.r.steps[*k].operands);
                    }
                }
                leaf => {
                    let at = self.definition(self.leaf(leaf)?);
                    let at = at.filter(|at| self.places.dominates(*at, to));
                    last = last.max(at.ok_or(RewritingError::NotYet {
                        leaf: *leaf,
                        site: self.site,
                    })?);
                }
            }
        }
        Ok(last)
    }

    fn operand(&mut self, o: &RewritingOperand, at: Position) -> Result<Value, RewritingError> {
        match o {
            RewritingOperand::Constant(c) => Ok(self.ty.real(*c)),
            RewritingOperand::Step(k) => self.step(*k, at),
            leaf => self.leaf(leaf),
        }
    }

    /// The value of a step, at a position.
    fn step(&mut self, k: usize, at: Position) -> Result<Value, RewritingError> {
        let there = |m: &&Made| match m.block == at.block {
            true => !m.at_end || at.at_end,
            false => self.places.dominates(m.block, at.block),
        };
        if let Some(m) = self.made.get(&k).and_then(|all| all.iter().find(there)) {
            return Ok(m.value);
        }
        let step = self.r.steps[k].clone();
        let first = self.earliest(&step, at.block)?;
        let block = self.places.least_loops(first, at.block);
        let at = match block == at.block {
            true => at,
            false => Position {
                block,
                before: self.places.blocks[block]
                    .terminator()
                    .ok_or_else(|| LlvmError("a block has no end".into()))?,
                at_end: true,
            },
        };
        let mut args = Vec::new();
        for o in &step.operands {
            args.push(self.operand(o, at)?);
        }
        let value = self.operation(step.operation, &args, at.before);
        self.made.entry(k).or_default().push(Made {
            value,
            block: at.block,
            at_end: at.at_end,
        });
        if value.is_instruction() {
            self.operations.push(value);
        }
        Ok(value)
    }

    fn operation(&self, o: PureOperation, x: &[Value], before: Value) -> Value {
        use PureOperation::*;
        let b = Builder::before(before);
        match o {
            Add => b.bin(Opcode::LLVMFAdd, x[0], x[1]),
            Sub => b.bin(Opcode::LLVMFSub, x[0], x[1]),
            Mul => b.bin(Opcode::LLVMFMul, x[0], x[1]),
            Div => b.bin(Opcode::LLVMFDiv, x[0], x[1]),
            Neg => b.fneg(x[0]),
            Fma => b.intrinsic("llvm.fma", &[self.ty], x),
            Abs => b.intrinsic("llvm.fabs", &[self.ty], x),
            function => {
                let types = vec![self.ty; x.len()];
                let name = function.library_name(self.format);
                let f = self.m.declare(&name, self.ty.function(&types));
                if kerf_ir::prepare::is_pure_math(f) {
                    f.mark_pure();
                }
                b.call(f, x)
            }
        }
    }
}

/// Do sites, operands and outputs of a rewriting fit each other and the kernel? Gives the format of its operations.
fn check(map: &SiteMap, r: &Rewriting) -> Result<Format, RewritingError> {
    let known = |site: &usize| *site < map.sites.len();
    let all = r.sites.iter().chain(r.outputs.keys());
    if let Some(site) = all.clone().find(|s| !known(s)) {
        return Err(RewritingError::UnknownSite {
            site: *site,
            count: map.sites.len(),
        });
    }
    if let Some(w) = r.sites.windows(2).find(|w| w[0] >= w[1]) {
        return Err(RewritingError::Repeated(w[1]));
    }
    let mut format = None;
    for site in &r.sites {
        let pure = recognise(map.instructions[*site])
            .filter(|_| map.sites[*site].function.is_none())
            .filter(|p| *format.get_or_insert(p.format) == p.format);
        pure.ok_or(RewritingError::NotPure(*site))?;
        let inside = |u: &Value| r.sites.iter().any(|s| map.instructions[*s] == *u);
        let users = map.instructions[*site].users();
        if !r.outputs.contains_key(site) && !users.iter().all(inside) {
            return Err(RewritingError::Lost(*site));
        }
    }
    if let Some(site) = r.outputs.keys().find(|s| !r.sites.contains(s)) {
        return Err(RewritingError::NoOutput(*site));
    }
    let leaf = |site: usize, operand: u32| {
        let i = r.sites.contains(&site).then(|| map.instructions[site])?;
        let v = ((operand as usize) < i.operands().len()).then(|| i.operand(operand))?;
        let replaced = r.sites.iter().any(|s| map.instructions[*s] == v);
        (v.ty() == i.ty() && !replaced).then_some(v)
    };
    let names = |o: &RewritingOperand, before: usize| match o {
        RewritingOperand::Step(k) => *k < before,
        RewritingOperand::Leaf { site, operand } => leaf(*site, *operand).is_some(),
        RewritingOperand::Constant(c) => {
            format != Some(Format::F32) || c.is_nan() || f64::from(*c as f32) == *c
        }
    };
    let steps = r.steps.iter().enumerate();
    let operands = steps.flat_map(|(k, s)| s.operands.iter().map(move |o| (o, k)));
    let outputs = r.outputs.values().map(|o| (o, r.steps.len()));
    match operands.chain(outputs).find(|(o, k)| !names(o, *k)) {
        Some((o, _)) => Err(RewritingError::NoValue(*o)),
        None => format.ok_or_else(|| LlvmError("a rewriting replaces no site".into()).into()),
    }
}

/// Rewrites clusters of a kernel, numbered by its sites as they are. The instructions of their sites are erased.
pub(crate) fn rewrite(
    m: &Module,
    kernel: Value,
    map: &SiteMap,
    all: &[Rewriting],
) -> Result<Vec<RewrittenCluster>, RewritingError> {
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let mut taken = BTreeSet::new();
    let mut formats = Vec::new();
    for r in all {
        formats.push(check(map, r)?);
        if let Some(site) = r.sites.iter().find(|s| !taken.insert(**s)) {
            return Err(RewritingError::Repeated(*site));
        }
    }
    let places = Places::from_function(kernel);
    let mut out = Vec::new();
    let mut stands_for: Vec<(Value, Value)> = Vec::new();
    for (r, format) in all.iter().zip(formats) {
        let mut e = Emitter {
            m,
            map,
            r,
            places: &places,
            ty: map.instructions[r.sites[0]].ty(),
            format,
            site: 0,
            made: BTreeMap::new(),
            operations: Vec::new(),
        };
        // In an order in which what is made for one can serve those after it.
        let block = |site: &usize| places.number.get(&map.instructions[*site].block()).copied();
        let mut outputs: Vec<usize> = r.outputs.keys().copied().collect();
        outputs.sort_by_key(|s| (block(s), *s));
        for site in outputs {
            let old = map.instructions[site];
            let block = block(&site).ok_or_else(|| LlvmError("dead code".into()))?;
            e.site = site;
            let at = Position {
                block,
                before: old,
                at_end: false,
            };
            if let leaf @ RewritingOperand::Leaf { .. } = r.outputs[&site] {
                let defined = e.definition(e.leaf(&leaf)?);
                if !defined.is_some_and(|d| places.dominates(d, block)) {
                    return Err(RewritingError::NotYet { leaf, site });
                }
            }
            stands_for.push((old, e.operand(&r.outputs[&site], at)?));
        }
        out.push(RewrittenCluster {
            sites: r.sites.iter().copied().collect(),
            operations: e.operations,
        });
    }
    replace(&stands_for);
    erase(map, &taken)?;
    m.verify()?;
    Ok(out)
}

/// Puts new values in the place of old ones. A new value may be the old one of another cluster.
fn replace(stands_for: &[(Value, Value)]) {
    let by: BTreeMap<Value, Value> = stands_for.iter().copied().collect();
    for (old, new) in stands_for {
        let mut new = *new;
        for _ in 0..stands_for.len() {
            match by.get(&new) {
                Some(next) => new = *next,
                None => break,
            }
        }
        old.replace_with(new);
    }
}

/// Erases sites, the last first: each has no user left by then but others of them.
fn erase(map: &SiteMap, sites: &BTreeSet<usize>) -> Result<(), RewritingError> {
    let mut left: Vec<usize> = sites.iter().rev().copied().collect();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|s| {
            let unused = map.instructions[*s].users().is_empty();
            if unused {
                map.instructions[*s].erase();
            }
            !unused
        });
        if left.len() == before {
            return Err(RewritingError::Lost(left[0]));
        }
    }
    Ok(())
}
