//! What is tried call by call, to be compared with whole-kernel fast-math.
use crate::approx::ORDER;
use crate::group::Grouping;
use crate::problem::{TuningScope, for_scope};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_ir::sites::Site;
use kerf_num::Format;
use kerf_pass::{MathVariant, Plan, SiteFormat};
use kerf_run::job::{CallComparison, Change, Deed, Start};
use std::collections::BTreeMap;

/// Functions that `-use_fast_math` computes by the special-function unit (CUDA C++ Programming Guide), in
/// f32; their other calls stay as they are.
const FAST: [&str; 16] = [
    "fdiv", "rcp", "sqrt", "rsqrt", "sin", "cos", "sincos", "tan", "tanh", "exp", "exp2", "exp10",
    "log", "log2", "log10", "pow",
];

/// Changes of each start, at most: every one is compiled and run.
const MOST: usize = 16;

/// Calls that change together: those of one function on one line.
struct Calls {
    kernel: String,
    name: String,
    sites: Vec<usize>,
    /// Variants in the calls' own format, the most accurate first.
    can: Vec<MathVariant>,
}

fn calls(subject: &Subject, t: &Tunable) -> Vec<Calls> {
    let mut all: BTreeMap<(usize, u32, String, String), Calls> = BTreeMap::new();
    for (at, site) in t.math.keys() {
        let k = &subject.kernels[*at];
        let s = &k.sites[*site];
        let own = k.variants(*site, s.format.into());
        let can: Vec<MathVariant> = ORDER.into_iter().filter(|v| own.contains(v)).collect();
        if can.is_empty() {
            continue;
        }
        let line = s.location.as_ref().map_or(0, |l| l.line);
        let key = (*at, line, s.op.clone(), format!("{can:?}"));
        let group = all.entry(key).or_insert_with(|| Calls {
            kernel: k.name.clone(),
            name: format!("{} line {line}", s.op),
            sites: Vec::new(),
            can,
        });
        group.sites.push(*site);
    }
    all.into_values().collect()
}

/// Every call at most as approximate as `limit`.
fn up_to(all: &[Calls], limit: MathVariant) -> Plan {
    let rank = |v: &MathVariant| ORDER.iter().position(|o| o == v);
    let mut plan = Plan::default();
    for c in all {
        let within = c.can.iter().rev().find(|v| rank(v) <= rank(&limit));
        if let Some(v) = within {
            let k = plan.kernels.entry(c.kernel.clone()).or_default();
            k.math.extend(c.sites.iter().map(|s| (*s, *v)));
        }
    }
    plan
}

/// Calls one by one, from `first` on: with the variants that `pick` says.
fn changes(all: &[Calls], pick: impl Fn(&Calls) -> Vec<MathVariant>) -> Vec<Change> {
    let one = |c: &Calls, v: MathVariant| Change {
        what: format!("{}: {v}", c.name),
        deed: Deed::Calls {
            kernel: c.kernel.clone(),
            sites: c.sites.clone(),
            variant: v,
        },
    };
    // The first choice of every call comes before the second of any, so that a limit leaves none out.
    let picks: Vec<Vec<MathVariant>> = all.iter().map(pick).collect();
    let most = picks.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = Vec::new();
    for nth in 0..most {
        for (c, p) in all.iter().zip(&picks) {
            out.extend(p.get(nth).map(|v| one(c, *v)));
        }
    }
    out.truncate(MOST);
    out
}

/// Changes to narrower formats of each start, at most.
const MOST_NARROWER: usize = 10;

/// Memory and operations one by one in narrower formats: memory first, since that is what most kernels wait for.
fn narrower(subject: &Subject) -> Vec<Change> {
    let scope = TuningScope {
        formats: &[SiteFormat::F32, SiteFormat::F16, SiteFormat::Bf16],
        raise: false,
        by: Grouping::Variable,
        storage: true,
        scaled: None,
        approx: None,
        layout: false,
        records: false,
        blocks: false,
        code: false,
        algebra: None,
        made: None,
    };
    let Ok(t) = for_scope(subject, &scope) else {
        return Vec::new();
    };
    let memory = |held: bool| {
        let all = t.groups.iter().enumerate();
        all.filter(move |(_, g)| g.holds.is_empty() != held)
    };
    let mut out = Vec::new();
    let mut add = |i: usize, level: usize| {
        let g = &t.groups[i];
        if let Some(format) = g.formats.get(level) {
            let mut a = vec![0u8; t.groups.len()];
            a[i] = level as u8;
            out.push(Change {
                what: format!("{}: {format}", g.name),
                deed: Deed::Narrower(t.plan(subject, &a)),
            });
        }
    };
    memory(true).for_each(|(i, _)| add(i, 1));
    // Of f32, what f16 has no range for.
    memory(true)
        .filter(|(_, g)| g.formats[0].format() == Some(SiteFormat::F32))
        .for_each(|(i, _)| add(i, 2));
    // Operations in half precision are no faster than in single, but for what goes with memory.
    memory(false)
        .filter(|(_, g)| g.formats[0].format() == Some(SiteFormat::F64))
        .for_each(|(i, _)| add(i, 1));
    out.truncate(MOST_NARROWER);
    out
}

/// Every operation in double words of its own format.
fn exact(subject: &Subject) -> Option<Plan> {
    let m = subject.program.module().ok()?;
    let mut plan = Plan::default();
    for format in [SiteFormat::Dw64, SiteFormat::Dw32] {
        let wide = Plan::all_sites(&m, format);
        for k in &subject.kernels {
            let Some(all) = wide.kernels.get(&k.name) else {
                continue;
            };
            // A site of the other format could have it too.
            let own = |s: &&usize| k.sites.get(**s).map(|s| s.format) == Some(format.word());
            let mine = plan.kernels.entry(k.name.clone()).or_default();
            let sites = all.sites.keys().filter(own);
            mine.sites.extend(sites.map(|s| (*s, format)));
        }
    }
    (!plan.is_identity()).then_some(plan)
}

/// What is tried. `cheap` is the plan with every call at its cheapest.
pub(super) fn choice(subject: &Subject, t: &Tunable, cheap: &Plan) -> CallComparison {
    let all = calls(subject, t);
    let mut fast = Plan::default();
    for (at, site) in t.math.keys() {
        let k = &subject.kernels[*at];
        let s = &k.sites[*site];
        let named = FAST.contains(&s.op.as_str()) && s.format == Format::F32;
        if named
            && k.variants(*site, SiteFormat::F32)
                .contains(&MathVariant::ApproxFtz)
        {
            let mine = fast.kernels.entry(k.name.clone()).or_default();
            mine.math.insert(*site, MathVariant::ApproxFtz);
        }
    }
    let mut starts = vec![
        Start {
            what: "every call at its cheapest".into(),
            plan: cheap.clone(),
            changes: changes(&all, |c| {
                let mut v = vec![MathVariant::Accurate];
                v.extend(c.can.iter().rev().skip(1));
                v
            }),
        },
        Start {
            what: "every call accurate".into(),
            plan: Plan::default(),
            changes: changes(&all, |c| c.can.iter().rev().copied().collect()),
        },
    ];
    // In f64 the cheapest variants are far from what fast-math gives, which leaves f64 alone.
    let wide = |s: &Site| s.format == Format::F64;
    let double = subject.kernels.iter().any(|k| k.sites.iter().any(wide));
    starts[usize::from(double)]
        .changes
        .extend(narrower(subject));
    for v in ORDER {
        let plan = up_to(&all, v);
        if !plan.is_identity() && starts.iter().all(|s| s.plan != plan) {
            starts.push(Start {
                what: format!("every call up to {v}"),
                plan,
                changes: Vec::new(),
            });
        }
    }
    CallComparison {
        fast,
        exact: exact(subject),
        starts,
    }
}
