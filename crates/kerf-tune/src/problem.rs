//! From a subject and what may change of it to the variables of a search.
use crate::algebra::{self, RewritableClusters};
use crate::approx::{self, Approx};
use crate::blocks;
use crate::coarse;
use crate::code;
use crate::formats::{precision, significant_bits, wider};
use crate::group::key;
pub use crate::group::{Group, Grouping};
use crate::launch::choice::LaunchChoice;
use crate::launch::space::ChoiceError;
use crate::made::{self, MadeScope};
use crate::records;
use crate::scaled::{self, ScaledScope};
use crate::setting::Setting;
use crate::storage::{FixedStorage, Stored};
use crate::subject::{Kernel, Subject};
pub use crate::tunable::{Excluded, Tunable};
use kerf_ir::sites::Site;
use kerf_num::Format;
use kerf_pass::{FormatRefusal, SiteFormat};
use std::collections::BTreeMap;

/// What a search may change.
#[derive(Debug, Clone)]
pub struct TuningScope<'w> {
    /// Formats of operations; empty: they keep theirs.
    pub formats: &'w [SiteFormat],
    /// Operations may have wider formats too, which are their groups' last levels.
    pub raise: bool,
    /// What changes together.
    pub by: Grouping,
    /// Hold memory in narrower formats too.
    pub storage: bool,
    /// And in scaled ones.
    pub scaled: Option<ScaledScope<'w>>,
    /// Math calls and the part of the warps that runs a second version.
    pub approx: Option<Approx>,
    /// Elements that a thread computes.
    pub layout: bool,
    /// How the records of buffers are stored.
    pub records: bool,
    /// Threads of the blocks of launches that are host code's.
    pub blocks: bool,
    /// How the code of kernels is laid out.
    pub code: bool,
    /// Expressions that are written differently.
    pub algebra: Option<&'w RewritableClusters>,
    /// Math calls by functions made for their arguments.
    pub made: Option<MadeScope<'w>>,
}

/// Why nothing can be searched.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProblemError {
    /// No site can change.
    #[error("there is nothing to tune in {kernels}: {why}")]
    Nothing {
        /// Kernels of the workload.
        kernels: String,
        /// Why.
        why: String,
    },
    /// No shape of a launch can change.
    #[error(transparent)]
    Launch(#[from] ChoiceError),
}

/// Why a site keeps its format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Obstacle {
    /// It is a load or store.
    #[error("a load or store keeps the format of its buffer")]
    Memory,
    /// Nothing narrower was asked for.
    #[error("its format is {0}, and none of the formats asked for is narrower")]
    NoneNarrower(Format),
    /// The pass refuses the narrower ones, in its words.
    #[error(transparent)]
    Refused(FormatRefusal),
}

/// Why a site cannot have any of the other formats; none if it can have one of them.
fn obstacle(k: &Kernel, site: usize, others: &OtherFormats) -> Option<Obstacle> {
    let own = k.sites[site].format;
    if k.variables[site].is_none() {
        return Some(Obstacle::Memory);
    }
    if others.all().next().is_none() {
        return Some(Obstacle::NoneNarrower(own));
    }
    let mut all = others.all();
    let refused = |f: SiteFormat| k.refused.get(&(site, f));
    if all.any(|f| refused(f).is_none()) {
        return None;
    }
    let why = others.all().find_map(refused)?;
    Some(Obstacle::Refused(why.clone()))
}

/// Those of the formats that are narrower, the widest first.
fn narrower(own: Format, formats: &[SiteFormat]) -> Vec<SiteFormat> {
    let mut some: Vec<SiteFormat> = formats.to_vec();
    some.retain(|f| significant_bits(*f) < precision(own));
    some.sort_by_key(|f| std::cmp::Reverse(significant_bits(*f)));
    some.dedup();
    some
}

/// Formats that operations of one format may have beside it.
struct OtherFormats {
    /// The widest first.
    narrower: Vec<SiteFormat>,
    /// The narrowest first.
    wider: &'static [SiteFormat],
}

impl OtherFormats {
    fn new(own: Format, formats: &[SiteFormat], raise: bool) -> OtherFormats {
        OtherFormats {
            narrower: narrower(own, formats),
            wider: if raise { wider(own) } else { &[] },
        }
    }

    /// In the order of the levels.
    fn all(&self) -> impl Iterator<Item = SiteFormat> + '_ {
        self.narrower.iter().chain(self.wider).copied()
    }

    /// The format of a site at each level of its group. A site that cannot follow its group goes as far as it can.
    fn of_site(&self, k: &Kernel, site: usize, own: SiteFormat) -> Vec<SiteFormat> {
        let mut all = vec![own];
        for part in [&self.narrower[..], self.wider] {
            let mut last = own;
            for f in part {
                if !k.refused.contains_key(&(site, *f)) {
                    last = *f;
                }
                all.push(last);
            }
        }
        all
    }
}

/// The groups of a subject's operations at the formats asked for.
pub fn tunable(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
) -> Result<Tunable, ProblemError> {
    with_storage(subject, formats, by, false)
}

/// The groups of a subject at the formats asked for; memory with `storage`.
pub fn with_storage(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
    storage: bool,
) -> Result<Tunable, ProblemError> {
    for_scope(
        subject,
        &TuningScope {
            formats,
            raise: false,
            by,
            storage,
            scaled: None,
            approx: None,
            layout: false,
            records: false,
            blocks: false,
            code: false,
            algebra: None,
            made: None,
        },
    )
}

/// The groups of a subject for everything that may change.
pub fn for_scope(subject: &Subject, scope: &TuningScope) -> Result<Tunable, ProblemError> {
    with_launch(subject, scope, |_| Ok(None))
}

/// The groups of a subject for everything that may change, and those that `launch` adds.
pub fn with_launch(
    subject: &Subject,
    scope: &TuningScope,
    launch: impl FnOnce(&mut Vec<Group>) -> Result<Option<LaunchChoice>, ChoiceError>,
) -> Result<Tunable, ProblemError> {
    let mut t = Tunable::default();
    if !scope.formats.is_empty() || scope.raise {
        formatted(subject, scope, &mut t);
    }
    if let Some(asked) = scope.approx {
        let added = approx::add(subject, scope.formats, scope.by, asked, &mut t.groups);
        (t.math, t.warps, t.single) = (added.math, added.warps, added.single);
    }
    if let Some(made) = &scope.made {
        t.made = made::add(subject, scope.formats, scope.by, made, &mut t.groups);
    }
    if let Some(found) = scope.algebra {
        t.rewritten = algebra::add(subject, found, &mut t.groups);
    }
    for g in &mut t.groups {
        g.lines.sort_unstable();
        g.lines.dedup();
    }
    tell_apart(&mut t.groups);
    t.launch = launch(&mut t.groups)?;
    if scope.layout {
        (t.coarse, t.uncoarsened) = coarse::add(subject, &mut t.groups);
    }
    if scope.records {
        (t.records, t.fixed_records) = records::add(subject, &mut t.groups);
    }
    if scope.blocks {
        (t.blocks, t.fixed_blocks) = blocks::add(subject, &mut t.groups);
    }
    if scope.code {
        t.code = code::add(subject, &mut t.groups);
    }
    match t.groups.is_empty() {
        false => Ok(t),
        true => Err(nothing(subject, scope, &t)),
    }
}

/// Operations and memory at the formats asked for.
fn formatted(subject: &Subject, scope: &TuningScope, t: &mut Tunable) {
    let (formats, by) = (scope.formats, scope.by);
    if scope.storage {
        hold(subject, scope, t);
    }
    for (at, k) in subject.kernels.iter().enumerate() {
        let mut index: BTreeMap<(String, Format, usize), usize> = BTreeMap::new();
        for s in &k.sites {
            if t.chosen.contains_key(&(at, s.id)) {
                continue; // goes with its memory
            }
            let others = OtherFormats::new(s.format, formats, scope.raise);
            if let Some(why) = obstacle(k, s.id, &others) {
                t.excluded.push(Excluded {
                    kernel: k.name.clone(),
                    site: s.id,
                    why: why.to_string(),
                });
                continue;
            }
            let key = key(k, s.id, by);
            let g = *index.entry(key.clone()).or_insert_with(|| {
                let mut all = vec![SiteFormat::from(s.format)];
                all.extend(others.all());
                t.groups.push(Group {
                    name: format!("{}: {}", k.name, key.0),
                    kernel: k.name.clone(),
                    at,
                    formats: all.into_iter().map(Setting::Format).collect(),
                    sites: Vec::new(),
                    lines: Vec::new(),
                    holds: Vec::new(),
                    rewrites: Vec::new(),
                    made: Vec::new(),
                });
                t.groups.len() - 1
            });
            let group = &mut t.groups[g];
            group.sites.push(s.id);
            let line = s.location.as_ref().map(|l| l.line);
            group.lines.extend(line.filter(|l| *l > 0));
            let site = others.of_site(k, s.id, SiteFormat::from(s.format));
            t.chosen.insert((at, s.id), (g, site));
        }
    }
}

/// Levels of memory after its own format, the most significant bits first: what its loads and stores then have, and what it is
/// held in.
fn memory_levels(
    subject: &Subject,
    s: &Stored,
    own: Format,
    scope: &TuningScope,
) -> Vec<(SiteFormat, Setting)> {
    let lower = narrower(own, scope.formats).into_iter();
    // Memory holds no pairs.
    let held = lower.filter_map(|f| Some((f, f.storage()?)));
    let can = held.filter(|(_, to)| !s.refused.contains_key(to));
    let mut all: Vec<_> = can.map(|(f, _)| (f, Setting::Format(f))).collect();
    if let Some(scaled) = &scope.scaled {
        let offered = scaled::offered(subject, s, own, scaled).into_iter();
        all.extend(offered.map(|f| (own.into(), Setting::Scaled(f))));
    }
    let bits = |s: &Setting| match s {
        Setting::Scaled(f) => f.code.significant_bits(),
        other => other.format().map_or(0, significant_bits),
    };
    all.sort_by_key(|(_, s)| std::cmp::Reverse(bits(s)));
    all
}

/// Why memory keeps its format.
fn fixed(s: &Stored, formats: &[SiteFormat]) -> String {
    let lower = s.own.map_or_else(Vec::new, |own| narrower(own, formats));
    let mut lower = lower.iter().filter_map(|f| f.storage());
    match lower.find_map(|f| s.refused.get(&f)) {
        Some(why) => why.clone(),
        None if s.own.is_none() => {
            let why = s.refused.values().next().cloned();
            why.unwrap_or_else(|| "no kernel reads or writes numbers in it".into())
        }
        None => "none of the formats asked for is narrower".into(),
    }
}

/// Memory as variables: loads and stores go with what they touch.
fn hold(subject: &Subject, scope: &TuningScope, t: &mut Tunable) {
    for s in &subject.stored {
        let levels = s
            .own
            .map(|own| (own, memory_levels(subject, s, own, scope)));
        let Some((own, levels)) = levels.filter(|l| !l.1.is_empty()) else {
            t.fixed.push(FixedStorage {
                name: s.name.clone(),
                why: fixed(s, scope.formats),
            });
            continue;
        };
        let own = SiteFormat::from(own);
        let moved = levels.iter().map(|l| l.0);
        let all: Vec<SiteFormat> = std::iter::once(own).chain(moved).collect();
        let held = levels.iter().map(|l| l.1);
        let first = s.places.iter().find(|p| !p.sites.is_empty());
        let Some(first) = first.or(s.places.first()) else {
            continue;
        };
        let mut lines = Vec::new();
        for p in &s.places {
            for site in &p.sites {
                let l = &subject.kernels[p.at].sites[*site].location;
                lines.extend(l.as_ref().map(|l| l.line).filter(|l| *l > 0));
                t.chosen
                    .insert((p.at, *site), (t.groups.len(), all.clone()));
            }
        }
        t.groups.push(Group {
            name: s.name.clone(),
            kernel: first.kernel.clone(),
            at: first.at,
            formats: std::iter::once(Setting::Format(own)).chain(held).collect(),
            sites: first.sites.clone(),
            lines,
            holds: s.places.clone(),
            rewrites: Vec::new(),
            made: Vec::new(),
        });
    }
}

/// Two formats of one variable are two groups, and the names say so.
fn tell_apart(groups: &mut [Group]) {
    let names: Vec<String> = groups.iter().map(|g| g.name.clone()).collect();
    for g in groups.iter_mut() {
        if names.iter().filter(|n| **n == g.name).count() > 1 {
            g.name = format!("{} ({})", g.name, g.formats[0]);
        }
    }
}

fn nothing(subject: &Subject, scope: &TuningScope, t: &Tunable) -> ProblemError {
    let formats = scope.formats;
    let names: Vec<&str> = subject.kernels.iter().map(|k| k.name.as_str()).collect();
    let asked: Vec<&str> = formats.iter().map(|f| f.name()).collect();
    let sites = || subject.kernels.iter().flat_map(|k| &k.sites);
    let why = if sites().next().is_none() {
        "it has no floating-point operations".to_owned()
    } else if let Some((_, why)) = t.single.first() {
        why.clone()
    } else if scope.algebra.is_some() && formats.is_empty() && scope.approx.is_none() {
        "none of its expressions has a cheaper form that Kerf knows".to_owned()
    } else if scope.approx.is_some() && formats.is_empty() {
        let wide = sites().any(|s| s.format == Format::F64);
        let help = match wide {
            true => " in f64; help: --what precision,approx tries those of f32 too",
            false => "",
        };
        format!("none of its functions and divisions has an approximate variant{help}")
    } else if formats.is_empty() && scope.approx.is_none() {
        let kept = t.uncoarsened.iter().chain(&t.fixed_blocks);
        let kept = kept.map(|u| format!("{}: {}", u.kernel, u.why));
        let fixed = t.fixed_records.iter();
        let fixed = fixed.map(|u| format!("records of {}: {}", u.name, u.why));
        let kept: Vec<String> = kept.chain(fixed).collect();
        format!(
            "no kernel can be laid out differently ({})",
            kept.join("; ")
        )
    } else if sites().all(|s| narrower(s.format, formats).is_empty()) {
        format!(
            "no operation is wider than {}; help: --formats f16,bf16 goes lower",
            asked.join(", ")
        )
    } else {
        // There is no group, so no site can be lowered.
        let all = subject.kernels.iter();
        let obstacle =
            |k, s: &Site| obstacle(k, s.id, &OtherFormats::new(s.format, formats, scope.raise));
        let mut all = all.flat_map(|k| k.sites.iter().filter_map(move |s| obstacle(k, s)));
        let other = all.find(|o| *o != Obstacle::Memory);
        other.unwrap_or(Obstacle::Memory).to_string()
    };
    ProblemError::Nothing {
        kernels: names.join(", "),
        why,
    }
}
