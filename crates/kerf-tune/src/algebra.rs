//! Expressions written differently, as variables of the search: one for each cluster that has a cheaper form.
//!
//! Levels are the candidates of `kerf-algebra`, the most accurate first. What they do to results is judged like every
//! plan; their costs come from the profile of the device, and times of plans with them are predicted or measured as
//! others are.
use crate::group::Group;
use crate::rewrite_level::{AS_WRITTEN, RewriteLevel};
use crate::setting::Setting;
use crate::subject::{Kernel, Subject};
use kerf_algebra::{CostTable, ExpressionCluster, candidates, clusters};
use kerf_device::profile::DeviceProfile;
use kerf_ir::rewriting::Rewriting;
use kerf_llvm::Module;
use kerf_num::Format;
use kerf_pass::{KernelPlan, Plan};
use kerf_predict::cost::OperationClocks;
use std::collections::BTreeSet;

/// A cluster as a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct RewriteChoice {
    /// Position of its group.
    pub group: usize,
    /// Kernel, as plans name it.
    pub kernel: String,
    /// What the levels after the first stand for.
    pub levels: Vec<Rewriting>,
}

/// Costs of operations by format, of a device.
struct DeviceCosts {
    double: CostTable,
    single: CostTable,
}

impl DeviceCosts {
    fn new(p: &DeviceProfile) -> DeviceCosts {
        let clocks = OperationClocks::new(p);
        DeviceCosts {
            double: CostTable::new(|name| clocks.get(name, Format::F64)),
            single: CostTable::new(|name| clocks.get(name, Format::F32)),
        }
    }
}

/// Can a kernel of a module be rewritten so?
fn carried_out(m: &Module, kernel: &str, r: &Rewriting) -> bool {
    let mut plan = Plan::default();
    let one = KernelPlan {
        rewrites: vec![r.clone()],
        ..KernelPlan::default()
    };
    plan.kernels.insert(kernel.to_owned(), one);
    plan.apply(&m.duplicate()).is_ok()
}

/// A name of a cluster: the variable or array that its last expression goes to, or its lines.
fn title(lines: &[u32], variables: &BTreeSet<String>) -> String {
    let lines = match (lines.first(), lines.last()) {
        (Some(a), Some(b)) if a == b => format!("line {a}"),
        (Some(a), Some(b)) => format!("lines {a} to {b}"),
        _ => "no line".into(),
    };
    let few: Vec<&str> = variables.iter().take(3).map(String::as_str).collect();
    match few.is_empty() {
        true => format!("expressions of {lines}"),
        false => format!("expressions of {} ({lines})", few.join(", ")),
    }
}

/// Clusters of expressions of a subject that a rewriting makes cheaper, by the position of their kernel.
#[derive(Debug)]
pub struct RewritableClusters(Vec<(usize, ExpressionCluster, Vec<RewriteLevel>)>);

impl RewritableClusters {
    /// By the costs of a device.
    pub fn for_subject(subject: &Subject, profile: &DeviceProfile) -> RewritableClusters {
        let costs = DeviceCosts::new(profile);
        let mut found = Vec::new();
        for (m, kernels) in subject.modules().unwrap_or_default() {
            for at in kernels {
                let all = rewritable(&m, &subject.kernels[at], &costs).into_iter();
                found.extend(all.map(|(c, levels)| (at, c, levels)));
            }
        }
        RewritableClusters(found)
    }
}

/// Adds a group for each cluster of expressions that a rewriting makes cheaper.
pub(crate) fn add(
    subject: &Subject,
    found: &RewritableClusters,
    groups: &mut Vec<Group>,
) -> Vec<RewriteChoice> {
    let mut choices = Vec::new();
    for (at, c, levels) in &found.0 {
        let kernel = (*at, &subject.kernels[*at]);
        add_cluster(c, levels.clone(), kernel, groups, &mut choices);
    }
    choices
}

/// The clusters of a kernel that a rewriting makes cheaper, with their levels.
fn rewritable(
    m: &Module,
    k: &Kernel,
    costs: &DeviceCosts,
) -> Vec<(ExpressionCluster, Vec<RewriteLevel>)> {
    let all = m.function(&k.symbol).map(|f| clusters(m, f));
    let levels = |c: ExpressionCluster| {
        let table = match c.format {
            Format::F32 => &costs.single,
            _ => &costs.double,
        };
        let all = candidates(&c, table).into_iter().map(RewriteLevel::new);
        let possible = all.filter(|l| carried_out(m, &k.name, &l.rewriting));
        let levels: Vec<RewriteLevel> = possible.collect();
        (!levels.is_empty()).then_some((c, levels))
    };
    all.into_iter().flatten().filter_map(levels).collect()
}

/// Adds the group of a cluster.
fn add_cluster(
    c: &ExpressionCluster,
    levels: Vec<RewriteLevel>,
    (at, k): (usize, &Kernel),
    groups: &mut Vec<Group>,
    choices: &mut Vec<RewriteChoice>,
) {
    let changed = levels.iter().flat_map(|l| &l.changes);
    let variables: BTreeSet<String> = changed.clone().filter_map(|e| e.variable.clone()).collect();
    let lines: BTreeSet<u32> = changed.map(|e| e.line).filter(|l| *l > 0).collect();
    let sites = levels.iter().flat_map(|l| &l.rewriting.sites);
    let sites: BTreeSet<usize> = sites.copied().collect();
    let lines = match lines.is_empty() {
        true => c.lines(),
        false => lines.into_iter().collect(),
    };
    choices.push(RewriteChoice {
        group: groups.len(),
        kernel: k.name.clone(),
        levels: levels.iter().map(|l| l.rewriting.clone()).collect(),
    });
    let own = Setting::Rewrite(AS_WRITTEN);
    let settings = levels.iter().map(RewriteLevel::setting);
    groups.push(Group {
        name: format!("{}: {}", k.name, title(&lines, &variables)),
        kernel: k.name.clone(),
        at,
        formats: std::iter::once(own).chain(settings).collect(),
        sites: sites.into_iter().collect(),
        lines,
        holds: Vec::new(),
        rewrites: levels,
        made: Vec::new(),
    });
}

/// What an assignment says of expressions, as part of a plan. A call that is rewritten has no variant.
pub(crate) fn plan(choices: &[RewriteChoice], a: &[u8], plan: &mut Plan) {
    for c in choices {
        let level = a.get(c.group).map_or(0, |l| usize::from(*l));
        let Some(r) = level.checked_sub(1).and_then(|l| c.levels.get(l)) else {
            continue;
        };
        put(plan.kernels.entry(c.kernel.clone()).or_default(), r);
    }
}

/// Adds a rewriting to a kernel's plan.
pub fn put(k: &mut KernelPlan, r: &Rewriting) {
    let kept = |site: &usize| r.sites.binary_search(site).is_err();
    k.math.retain(|site, _| kept(site));
    k.remove_made(|site| !kept(&site));
    if let Some(p) = &mut k.partition {
        p.math.retain(|site, _| kept(site));
        p.remove_made(|site| !kept(&site));
    }
    k.rewrites.push(r.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_named_by_what_they_compute() {
        let names = BTreeSet::from(["s".to_owned()]);
        assert_eq!(title(&[7], &names), "expressions of s (line 7)");
        assert_eq!(
            title(&[7, 9], &BTreeSet::new()),
            "expressions of lines 7 to 9"
        );
    }

    #[test]
    fn a_rewritten_call_has_no_variant() {
        use kerf_pass::MathVariant;
        let mut k = KernelPlan::default();
        k.math.insert(3, MathVariant::Newton1);
        k.math.insert(5, MathVariant::Newton1);
        let text = r#"{"sites":[3,4],"steps":["rsqrt @3.0"],"outputs":{"4":"$0"}}"#;
        let r: Rewriting = serde_json::from_str(text).expect("a rewriting");
        put(&mut k, &r);
        assert_eq!(k.math.keys().collect::<Vec<_>>(), [&5]);
        assert_eq!(k.rewrites, [r]);
    }
}
