//! A plan: what to do to a program's kernels. The identity plan changes nothing.
mod error;
mod made;
mod numbered;

use crate::block_refusal::BlockRefusal;
use crate::block_size;
use crate::coarsen::{CoarsenError, CoarsenObstacle, Coarsening, coarsen};
use crate::code_shape::{CodeShape, shape_code};
use crate::engine::ChosenFormats;
use crate::formats;
use crate::index_space;
use crate::made_calls::MadeCalls;
use crate::math::{self, MathVariant};
use crate::partition::{self, Partition, PartitionRefusal};
use crate::reblock;
use crate::records::{self, RecordLayout, RecordPlan};
use crate::site_format::SiteFormat;
use crate::specialise::{Wanted, specialise};
use crate::storage;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::rewriting::Rewriting;
use kerf_ir::sites::{self, Site};
use kerf_llvm::{Module, Value};
use kerf_num::StorageFormat;
use numbered::NumberedKernel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use error::{PlanError, PlanPlace};

/// What to do to one kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelPlan {
    /// Format of a site, by site number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sites: BTreeMap<usize, SiteFormat>,
    /// Variant of a math site, by site number; it goes with the format that the site has or gets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub math: BTreeMap<usize, MathVariant>,
    /// Math sites that are computed by functions made for a range; their formats are those that the sites have or get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeCalls>,
    /// Format in which a buffer or array is held: a pointer parameter by name or number, a shared or
    /// local array by name, a variable of the program as `constant NAME` or `device NAME`. Scaled formats
    /// have their scale in the name: `i16*2^-12`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storage: BTreeMap<String, StorageFormat>,
    /// How the records of a buffer are stored ([`crate::records`]), by pointer parameter (name or number). Fields have the
    /// program's types; in a buffer that `storage` holds in another format they have that.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, RecordPlan>,
    /// Clusters of expressions that are written differently ([`crate::rewriting`]), before anything else is changed. New
    /// operations get the widest of the formats that the plan gives to the sites of their cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<Rewriting>,
    /// A second version of the kernel, and which warps run it; the first is the one described above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
    /// Threads of a block that the kernel is compiled for; it can then be launched with no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<[u32; 3]>,
    /// Warp-sized blocks that are put together to one ([`crate::index_space`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regroup: Option<u32>,
    /// Threads along x of the blocks that launches get in place of their own ([`crate::reblock`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reblock: Option<u32>,
    /// Neighbouring threads whose work one thread does ([`crate::coarsen`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarsen: Option<Coarsening>,
    /// How the kernel's machine code is laid out ([`crate::code_shape`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeShape>,
}

impl KernelPlan {
    /// Does it change nothing?
    pub fn is_identity(&self) -> bool {
        self.sites.is_empty()
            && self.math.is_empty()
            && self.made.is_empty()
            && self.storage.is_empty()
            && self.records.is_empty()
            && self.rewrites.is_empty()
            && self.partition.is_none()
            && self.block.is_none()
            && self.regroup.is_none()
            && self.reblock.is_none()
            && self.coarsen.is_none()
            && self.code.is_none()
    }

    /// Could the kernel run as this plan says and, in some warps, as a partition says?
    pub fn partition_fits(&self, m: &Module, kernel: Value, p: &Partition) -> bool {
        let numbered = NumberedKernel::unchanged(m, "", kernel);
        let functions: Vec<_> = self.made.iter().chain(&p.made).collect();
        let functions: Vec<_> = functions.into_iter().map(|c| &c.function).collect();
        let wants = |chosen| numbered.wants(&chosen, &functions).ok();
        match (wants(self.choices()), wants(p.choices())) {
            (Some(first), Some(second)) => partition::check(kernel, p, &first, &second).is_ok(),
            _ => false,
        }
    }
}

/// A plan for a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this schema.
    pub version: u32,
    /// What to do, by kernel name; kernels that are not named stay as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernels: BTreeMap<String, KernelPlan>,
    /// Values of the workload's launch parameters; those that are not named have their default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub launch: BTreeMap<String, i64>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            version: 1,
            kernels: BTreeMap::new(),
            launch: BTreeMap::new(),
        }
    }
}

/// A kernel's name if that finds it, its symbol where several share the name.
fn name_of(k: &KernelInfo, all: &[KernelInfo]) -> String {
    match kernels::find(all, &k.name) {
        Ok(found) if found.symbol == k.symbol => k.name.clone(),
        _ => k.symbol.clone(),
    }
}

impl Plan {
    /// Parses JSON.
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let p: Plan = serde_json::from_str(text)?;
        if p.version != 1 {
            return Err(PlanError::Version(p.version));
        }
        Ok(p)
    }

    /// Does it change nothing?
    pub fn is_identity(&self) -> bool {
        self.launch.is_empty() && self.kernels.values().all(KernelPlan::is_identity)
    }

    /// What it says of records, and nothing else.
    pub fn of_records(&self) -> Plan {
        let mut plan = Plan::default();
        for (name, k) in self.kernels.iter().filter(|(_, k)| !k.records.is_empty()) {
            let records = k.records.clone();
            let mine = KernelPlan {
                records,
                ..KernelPlan::default()
            };
            plan.kernels.insert(name.clone(), mine);
        }
        plan
    }

    /// Whether something in it is computed in double words.
    pub fn has_double_words(&self) -> bool {
        let sites = self.kernels.values().flat_map(|k| k.sites.values());
        let second = self.kernels.values().filter_map(|k| k.partition.as_ref());
        let mut all = sites.chain(second.flat_map(|p| p.sites.values()));
        all.any(|f| f.is_pair())
    }

    /// The plan that gives a format to every site of a prepared module that can have it.
    pub fn all_sites(m: &Module, format: SiteFormat) -> Plan {
        let infos = kernels::kernels(m);
        let mut plan = Plan::default();
        for k in &infos {
            let Some(f) = m.function(&k.symbol) else {
                continue;
            };
            let map = sites::sites(m, f);
            let can = |s: &Site| {
                SiteFormat::from(s.format) == format
                    || formats::check(map.instructions[s.id], format).is_ok()
            };
            let sites: BTreeMap<usize, SiteFormat> = map
                .sites
                .iter()
                .filter(|s| can(s))
                .map(|s| (s.id, format))
                .collect();
            if !sites.is_empty() {
                let k_plan = plan.kernels.entry(name_of(k, &infos)).or_default();
                k_plan.sites = sites;
            }
        }
        plan
    }

    /// Adds the format to every buffer and array of a prepared module that can be held in it.
    pub fn hold_all(&mut self, m: &Module, format: StorageFormat) {
        let infos = kernels::kernels(m);
        for k in &infos {
            let Some(f) = m.function(&k.symbol) else {
                continue;
            };
            for name in storage::possible(m, f, k, format) {
                let k_plan = self.kernels.entry(name_of(k, &infos)).or_default();
                k_plan.storage.insert(name, format);
            }
        }
    }

    /// Adds the layout to every parameter of a prepared module that is a buffer of records and can be stored so.
    pub fn lay_out_records(&mut self, m: &Module, layout: RecordLayout) {
        let infos = kernels::kernels(m);
        for k in &infos {
            let Some(f) = m.function(&k.symbol) else {
                continue;
            };
            for b in records::survey(m, f, k) {
                let possible = b.records(layout);
                let Some(r) = possible.filter(|r| records::check(m, f, k, (&b.key, r)).is_ok())
                else {
                    continue;
                };
                let k_plan = self.kernels.entry(name_of(k, &infos)).or_default();
                k_plan.records.insert(b.key, r);
            }
        }
    }

    /// Adds the variant to every site of a prepared module that can have it in the format that the plan
    /// gives it.
    pub fn compute_all(&mut self, m: &Module, variant: MathVariant) {
        let infos = kernels::kernels(m);
        for k in &infos {
            let Some(f) = m.function(&k.symbol) else {
                continue;
            };
            let name = name_of(k, &infos);
            let map = sites::sites(m, f);
            let formats = self.kernels.get(&name).map(|k| k.sites.clone());
            let format = |s: &Site| {
                let given = formats.as_ref().and_then(|f| f.get(&s.id));
                given.copied().unwrap_or_else(|| s.format.into())
            };
            let can = |s: &&Site| math::check(map.instructions[s.id], variant, format(s)).is_ok();
            let found: Vec<usize> = map.sites.iter().filter(can).map(|s| s.id).collect();
            if !found.is_empty() {
                let mine = self.kernels.entry(name).or_default();
                mine.math.extend(found.into_iter().map(|id| (id, variant)));
            }
        }
    }

    /// What the plan asks of sites becomes the cheap version of each kernel, and the kernel as it is the
    /// other one; how buffers are held goes for both.
    pub fn partitioned(mut self, lambda: f64, select: partition::Select) -> Plan {
        for k in self.kernels.values_mut() {
            k.partition = Some(Partition {
                lambda,
                select,
                sites: std::mem::take(&mut k.sites),
                math: std::mem::take(&mut k.math),
                made: std::mem::take(&mut k.made),
            });
        }
        self
    }

    /// What the plan asks of buffers and arrays, by kernel; refused as a whole if anything cannot be.
    /// `copies` are the kernels' second versions, which hold everything as the first do.
    fn held(
        &self,
        m: &Module,
        infos: &[KernelInfo],
        copies: &[partition::Versions],
    ) -> Result<Vec<storage::Narrowed>, PlanError> {
        let mut by: Vec<(String, Value, Vec<storage::Narrowed>)> = Vec::new();
        for k in infos {
            let Some(first) = m.function(&k.symbol) else {
                continue;
            };
            let second = copies.iter().filter(|c| c.first == first).map(|c| c.second);
            let mine = self
                .kernels
                .iter()
                .find(|(n, _)| kernels::find(infos, n).is_ok_and(|i| i.symbol == k.symbol));
            for f in std::iter::once(first).chain(second) {
                let (name, held) = match mine {
                    None => (k.name.clone(), Vec::new()),
                    Some((name, plan)) => {
                        let held = storage::check(m, f, k, &plan.storage).map_err(|refused| {
                            PlanError::Storage {
                                kernel: name.clone(),
                                buffer: refused.name,
                                format: refused.format,
                                why: refused.why,
                            }
                        })?;
                        (name.clone(), held)
                    }
                };
                by.push((name, f, held));
            }
        }
        for (a, _, held) in &by {
            for (b, f, mine) in &by {
                let other =
                    storage::conflict(held, mine).or_else(|| storage::also_used(held, *f, mine));
                if let Some(variable) = other {
                    return Err(PlanError::SharedVariable {
                        variable,
                        kernels: [a.clone(), b.clone()],
                    });
                }
            }
        }
        Ok(by.into_iter().flat_map(|b| b.2).collect())
    }

    /// Carries the plan out on a prepared module. What cannot be done is refused, not left out; a site
    /// that is to keep the format it has is left alone.
    pub fn apply(&self, m: &Module) -> Result<(), PlanError> {
        self.carry_out(m, false).map(|_| ())
    }

    /// The same with counters of what stores in scaled formats lose ([`storage::LOSSES`]). Gives what is counted, in the
    /// order of the counters. Threads do the work of one, and code has the compilers' shape: neither changes bits.
    pub fn apply_with_losses(&self, m: &Module) -> Result<Vec<storage::CountedObject>, PlanError> {
        let mut plain = self.clone();
        for k in plain.kernels.values_mut() {
            (k.coarsen, k.code) = (None, None);
        }
        plain.carry_out(m, true)
    }

    /// Whether it holds something in a scaled format.
    pub fn has_scaled_storage(&self) -> bool {
        let mut all = self.kernels.values().flat_map(|k| k.storage.values());
        all.any(|f| f.scaled().is_some())
    }

    fn carry_out(
        &self,
        m: &Module,
        count_losses: bool,
    ) -> Result<Vec<storage::CountedObject>, PlanError> {
        let infos = kernels::kernels(m);
        let functions = self.functions();
        let mut wanted = Wanted::new();
        let mut versions: Vec<partition::Versions> = Vec::new();
        let mut rewritten: Vec<Value> = Vec::new();
        for (name, k) in &self.kernels {
            let unknown = |have| PlanError::UnknownKernel {
                kernel: name.clone(),
                have,
            };
            let info = kernels::find(&infos, name).map_err(unknown)?;
            let f = m
                .function(&info.symbol)
                .ok_or_else(|| unknown(vec![info.name.clone()]))?;
            let twice = wanted.iter().any(|w| w.0 == f);
            if twice && (!k.rewrites.is_empty() || rewritten.contains(&f)) {
                return Err(PlanError::RewrittenTwice(name.clone()));
            }
            let numbered = NumberedKernel::rewritten(m, name, f, &k.rewrites)?;
            if !k.rewrites.is_empty() {
                rewritten.push(f);
            }
            let chosen = numbered.wants(&k.choices(), &functions)?;
            if let Some(p) = &k.partition {
                let refused = |why| PlanError::Partition {
                    kernel: name.clone(),
                    why,
                };
                if versions.iter().any(|v| v.first == f) {
                    return Err(refused(PartitionRefusal::NamedTwice));
                }
                let cheap = numbered.wants(&p.choices(), &functions)?;
                partition::check(f, p, &chosen, &cheap).map_err(refused)?;
                let v = partition::Versions::new(f, p.select);
                wanted.push((v.second, v.moved(&cheap)));
                versions.push(v);
            }
            match wanted.iter_mut().find(|w| w.0 == f) {
                Some(w) => w.1.extend(chosen),
                None => wanted.push((f, chosen)),
            }
        }
        let held = self.held(m, &infos, &versions)?;
        if wanted.iter().any(|w| !w.1.is_empty()) {
            let chosen = specialise(m, &wanted).map_err(|e| PlanError::Shared {
                function: kerf_llvm::demangle(&e.0.name()),
            })?;
            let marks: Vec<(Value, MathVariant)> = chosen
                .iter()
                .filter_map(|(i, w)| w.math.map(|v| (*i, v)))
                .collect();
            let mut now = math::mark(m, &marks)?;
            let made: Vec<(Value, usize)> = chosen
                .iter()
                .filter_map(|(i, w)| w.made.map(|n| (*i, n)))
                .collect();
            now.extend(math::mark_made(m, &made));
            let formats: ChosenFormats = chosen
                .iter()
                .filter_map(|(i, w)| Some((now.get(i).copied().unwrap_or(*i), w.format?)))
                .collect();
            formats::apply(m, formats)?;
            kerf_ir::half_overflow::limit_halves(m);
            math::expand(m)?;
            math::expand_made(m, &functions)?;
        }
        let counted = storage::apply(m, &held, count_losses)?;
        self.store_records(m, &infos, &versions)?;
        for v in versions {
            v.join(m)?;
        }
        self.shape(m, &infos)?;
        Ok(counted)
    }

    /// Stores records as the plan says, in both versions of a kernel that has two.
    fn store_records(
        &self,
        m: &Module,
        infos: &[KernelInfo],
        versions: &[partition::Versions],
    ) -> Result<(), PlanError> {
        let planned = self.kernels.iter().filter(|(_, k)| !k.records.is_empty());
        let mut done: Vec<Value> = Vec::new();
        for (name, k) in planned {
            let found = kernels::find(infos, name).ok();
            let Some((info, f)) = found.and_then(|i| Some((i, m.function(&i.symbol)?))) else {
                continue;
            };
            if done.contains(&f) {
                return Err(PlanError::RecordsTwice(name.clone()));
            }
            done.push(f);
            let second = versions.iter().filter(|v| v.first == f).map(|v| v.second);
            for version in std::iter::once(f).chain(second) {
                records::apply(m, version, info, &k.records, &k.storage).map_err(|refused| {
                    PlanError::Records {
                        kernel: name.clone(),
                        buffer: refused.name,
                        why: refused.why,
                    }
                })?;
            }
            m.verify()?;
        }
        Ok(())
    }

    /// What the plan says of blocks, after everything else: parameters come last.
    fn shape(&self, m: &Module, infos: &[KernelInfo]) -> Result<(), PlanError> {
        for (name, k) in &self.kernels {
            let found = kernels::find(infos, name).ok();
            let Some(f) = found.and_then(|i| m.function(&i.symbol)) else {
                continue;
            };
            let refused = |why| PlanError::Block {
                kernel: name.clone(),
                why,
            };
            if let Some(x) = k.reblock {
                if k.block.is_some() || k.regroup.is_some() {
                    return Err(refused(BlockRefusal::TwoBlocks));
                }
                if let Some(why) = reblock::obstacle(m, f, x) {
                    return Err(refused(why));
                }
            }
            if let Some(c) = k.regroup {
                let block = [index_space::GROUP, 1, 1];
                if k.block.is_some_and(|b| b != block) {
                    return Err(refused(BlockRefusal::NotGroup { group: block[0] }));
                }
                index_space::regroup(m, f, c).map_err(refused)?;
            } else if let Some(block) = k.block {
                block_size::fix(m, f, block).map_err(refused)?;
            }
        }
        self.lay_out(m)?;
        Ok(())
    }

    /// The last passes, which change no bits: threads with several elements, and the shape of the code. Gives how each kernel was
    /// coarsened, by symbol.
    pub fn lay_out(&self, m: &Module) -> Result<BTreeMap<String, Coarsening>, PlanError> {
        let infos = kernels::kernels(m);
        let mut coarsened = BTreeMap::new();
        for (name, k) in &self.kernels {
            let found = kernels::find(&infos, name).ok();
            let Some(f) = found.and_then(|i| m.function(&i.symbol)) else {
                continue;
            };
            if let Some(c) = &k.coarsen {
                coarsen_kernel(m, f, k).map_err(|e| match e {
                    CoarsenError::Obstacle(why) => PlanError::Coarsen {
                        kernel: name.clone(),
                        why,
                    },
                    CoarsenError::Pass(e) => PlanError::Pass(e),
                })?;
                coarsened.insert(f.name(), *c);
            }
            if let Some(shape) = &k.code {
                let kernel = name.clone();
                shape_code(f, shape).map_err(|why| PlanError::Code { kernel, why })?;
            }
        }
        Ok(coarsened)
    }
}

/// Coarsens a kernel as its plan says.
fn coarsen_kernel(m: &Module, f: Value, k: &KernelPlan) -> Result<(), CoarsenError> {
    match &k.coarsen {
        Some(_) if k.regroup.is_some() => Err(CoarsenObstacle::Regrouped.into()),
        Some(c) => coarsen(m, f, c),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_round_trips_and_unknown_fields_are_refused() {
        let text = serde_json::to_string(&Plan::default()).expect("serialises");
        assert_eq!(text, r#"{"version":1}"#);
        assert!(Plan::parse(&text).expect("parses").is_identity());
        assert!(matches!(
            Plan::parse(r#"{"version":2}"#),
            Err(PlanError::Version(2))
        ));
        assert!(Plan::parse(r#"{"version":1,"sitez":{}}"#).is_err());
        let text = r#"{"version":1,"kernels":{"k":{"sites":{"3":"f32","4":"dw64.cmp"}}}}"#;
        let p = Plan::parse(text).expect("parses");
        assert!(!p.is_identity());
        assert_eq!(serde_json::to_string(&p).expect("serialises"), text);
        let text = r#"{"version":1,"kernels":{"k":{"coarsen":{"factor":8,"axis":"y","run":2}}}}"#;
        let p = Plan::parse(text).expect("parses");
        assert!(!p.is_identity());
        assert_eq!(serde_json::to_string(&p).expect("serialises"), text);
        let text = r#"{"version":1,"kernels":{"k":{"math":{"3":"approx.ftz"},"partition":{"lambda":0.25,"select":"slot","math":{"3":"accurate"}}}}}"#;
        let p = Plan::parse(text).expect("parses");
        assert!(!p.is_identity());
        assert_eq!(serde_json::to_string(&p).expect("serialises"), text);
    }
}
