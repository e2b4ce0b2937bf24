//! Plans of a result: the one that is asked for, its groups by value, a plan without some of them.
use super::*;

/// The plan of a point of the front.
pub(super) fn plan_of(r: &TuneResult, assignment: &[u8]) -> Plan {
    let mut plan = Plan::default();
    for (g, level) in r.groups.iter().zip(assignment).filter(|(_, l)| **l > 0) {
        let Some(s) = g.group.formats.get(*level as usize) else {
            continue;
        };
        match s {
            Setting::Format(f) if g.group.holds.is_empty() => {
                let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
                k.sites.extend(g.group.sites.iter().map(|s| (*s, *f)));
            }
            Setting::Format(_) | Setting::Scaled(_) => {
                for h in &g.group.holds {
                    let k = plan.kernels.entry(h.kernel.clone()).or_default();
                    k.storage.extend(s.storage().map(|f| (h.name.clone(), f)));
                }
            }
            Setting::Math(v) => {
                let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
                k.math.extend(g.group.sites.iter().map(|s| (*s, *v)));
            }
            Setting::Shape(text) if kerf_tune::coarse::parse_level(text).is_some() => {
                let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
                k.coarsen = kerf_tune::coarse::parse_level(text);
            }
            Setting::Shape(text) if kerf_tune::code::parse_level(text).is_some() => {
                let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
                let level = kerf_tune::code::parse_level(text);
                level
                    .iter()
                    .for_each(|l| kerf_tune::code::put(&mut k.code, l));
            }
            Setting::Shape(text) => {
                let pairs = text.split(',').filter_map(|p| p.split_once('='));
                let values = pairs.filter_map(|(n, v)| Some((n.to_owned(), v.parse().ok()?)));
                plan.launch.extend(values);
            }
            Setting::Rewrite(_) => {
                let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
                let chosen = usize::from(*level).checked_sub(1);
                if let Some(r) = chosen.and_then(|l| g.group.rewrites.get(l)) {
                    kerf_tune::algebra::put(k, &r.rewriting);
                }
            }
            Setting::Warps(_) | Setting::Made(_) => {}
        }
    }
    made(r, assignment, &mut plan);
    plan
}

/// Adds made functions, once formats are known.
fn made(r: &TuneResult, assignment: &[u8], plan: &mut Plan) {
    for (g, level) in r.groups.iter().zip(assignment) {
        let chosen = usize::from(*level).checked_sub(1);
        let Some(level) = chosen.and_then(|l| g.group.made.get(l)) else {
            continue;
        };
        for site in &g.group.sites {
            let own =
                |s: &&kerf_tune::result::SiteResult| s.kernel == g.group.kernel && s.site == *site;
            let Some(own) = r.sites.iter().find(own) else {
                continue;
            };
            let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
            let format = k.sites.get(site).copied();
            let rewritten = k.rewrites.iter().any(|r| r.sites.contains(site));
            let free = !rewritten && !k.math.contains_key(site);
            let function = level.function(format.unwrap_or_else(|| own.from.into()));
            if let Some(f) = function.filter(|_| free) {
                k.put_made(*site, f);
            }
        }
    }
}

/// A plan without some groups.
pub(super) fn without(plan: &Plan, r: &TuneResult, kept: &BTreeSet<usize>) -> Plan {
    let mut p = plan.clone();
    for (_, g) in r
        .groups
        .iter()
        .enumerate()
        .filter(|(i, _)| !kept.contains(i))
    {
        if !g.group.rewrites.is_empty() {
            // Formats and variants of its sites belong to other groups.
            if let Some(k) = p.kernels.get_mut(&g.group.kernel) {
                let levels = &g.group.rewrites;
                k.rewrites
                    .retain(|r| !levels.iter().any(|l| l.rewriting == *r));
            }
            continue;
        }
        if !g.group.made.is_empty() {
            // Formats of its sites belong to other groups.
            if let Some(k) = p.kernels.get_mut(&g.group.kernel) {
                k.remove_made(|s| g.group.sites.contains(&s));
            }
            continue;
        }
        let is_math = g
            .group
            .formats
            .iter()
            .any(|f| matches!(f, Setting::Math(_)));
        if let Some(k) = p
            .kernels
            .get_mut(&g.group.kernel)
            .filter(|_| g.group.holds.is_empty())
        {
            for s in &g.group.sites {
                k.math.remove(s);
                if !is_math {
                    k.sites.remove(s);
                }
            }
        }
        for h in &g.group.holds {
            if let Some(k) = p.kernels.get_mut(&h.kernel) {
                k.storage.remove(&h.name);
            }
        }
        if let Setting::Shape(text) = g.format {
            for (n, _) in text.split(',').filter_map(|p| p.split_once('=')) {
                p.launch.remove(n);
            }
        }
    }
    p
}

/// Groups of a plan, the most valuable first: by the part of the cost that they save.
pub(super) fn by_value(dir: &Path, r: &TuneResult, lowered: &[usize]) -> Vec<usize> {
    let saved: BTreeMap<usize, f64> = match evidence::read(dir) {
        None => BTreeMap::new(),
        Some(e) => {
            let mut all: BTreeMap<usize, f64> = BTreeMap::new();
            for (s, site) in r.sites.iter().zip(&e.sites) {
                let gain = site.share.unwrap_or(0.0) - site.share_after.unwrap_or(0.0);
                if let Some(g) = s.group {
                    *all.entry(g).or_default() += gain;
                }
            }
            all
        }
    };
    let mut out = lowered.to_vec();
    // Memory first: what it saves is not among the operations.
    let key = |g: &usize| {
        let held = r.groups[*g].group.holds.is_empty();
        (held, -saved.get(g).copied().unwrap_or(0.0))
    };
    out.sort_by(|a, b| {
        key(a)
            .partial_cmp(&key(b))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    out
}

/// Refuses plans of which source cannot say something: double words, and formats that are wider than the program's own.
fn check_writable(r: &TuneResult, assignment: &[u8]) -> Result<(), PatchError> {
    let levels = r.groups.iter().zip(assignment);
    let unsaid = levels.filter_map(|(g, level)| {
        let to = g.group.formats.get(usize::from(*level))?;
        let pair = to.format().is_some_and(|f| f.is_pair());
        (pair || g.group.raises(*level)).then(|| format!("{} as {to}", g.group.name))
    });
    let unsaid: Vec<String> = unsaid.collect();
    match unsaid.is_empty() {
        true => Ok(()),
        false => Err(PatchError::NoPlan(format!(
            "patches do not write double words, or wider formats than the program's own, into source: {}; help: tuned.ptx and tuned.bc in the result folder compute them, and kerf run --plan does; --formats f32,f16,bf16 searches without double words",
            unsaid.join(", ")
        ))),
    }
}

/// The plan that is asked for, and what it gave.
pub(super) fn chosen(
    result: &TuneResult,
    best: Plan,
    which: Which,
) -> Result<(Plan, Promise), PatchError> {
    let kind = result.speedup.recorded_kind().unwrap_or(NOT_RECORDED);
    let kind = kind.to_owned();
    let changed = matches!(result.verdict, SearchVerdict::Tuned | SearchVerdict::Raised);
    match which {
        Which::Best if !changed || best.is_identity() => Err(PatchError::NoPlan(
            match result.verdict {
                SearchVerdict::Unmet => "the program itself is not within the tolerance",
                _ => "nothing faster than the program was found; help: --plan N takes one of the front",
            }
            .into(),
        )),
        Which::Best => {
            check_writable(result, &result.assignment)?;
            let promise = Promise {
                error: result.error,
                time: 1.0 / result.speedup.value,
                kind,
            };
            Ok((best, promise))
        }
        Which::Front(n) => {
            let p = result.front.get(n).ok_or_else(|| {
                let have = result.front.len();
                PatchError::NoPlan(format!("the front has {have} plans, numbered from 0"))
            })?;
            let plan = plan_of(result, &p.assignment);
            if plan.is_identity() {
                return Err(PatchError::NoPlan("that plan is the program as it is".into()));
            }
            check_writable(result, &p.assignment)?;
            let promise = Promise {
                error: Some(p.error),
                time: p.time,
                kind,
            };
            Ok((plan, promise))
        }
    }
}
