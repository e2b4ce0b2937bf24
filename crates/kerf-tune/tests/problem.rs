//! From LLVM IR to search problems, scores and plans.
use crate::common;

use kerf_pass::{MathVariant, Select, SiteFormat};
use kerf_search::recorded::RecordedSpace;
use kerf_search::{Evaluation, Models, Outcome, Problem};
use kerf_tune::approx::Approx;
use kerf_tune::criteria::{Criteria, CriteriaError};
use kerf_tune::group::Group;
use kerf_tune::models::{self, ErrorPredictor, TimePredictor, Unknown};
use kerf_tune::problem::{Grouping, ProblemError, Tunable, TuningScope, for_scope, tunable};
use kerf_tune::rescore::{RescoreError, rescore};
use kerf_tune::score::{StaticScore, Weights};
use kerf_tune::subject::Subject;

/// A square, a sum and a root in f64, and a product in f32.
const IR: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %x, ptr %y, ptr %out) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr double, ptr %x, i32 %i
  %py = getelementptr float, ptr %y, i32 %i
  %po = getelementptr float, ptr %out, i32 %i
  %a = load double, ptr %px
  %square = fmul double %a, %a
  %sum = fadd double %square, 1.0
  %root = call double @llvm.sqrt.f64(double %sum)
  %narrow = fptrunc double %root to float
  %b = load float, ptr %py
  %product = fmul float %narrow, %b
  store float %product, ptr %po
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare double @llvm.sqrt.f64(double)
"#;

const WORKLOAD: &str = r#"
source = "k.ll"
[[buffer]]
name = "x"
type = "f64"
len = 32
init = { uniform = [0.0, 1.0] }
[[buffer]]
name = "y"
type = "f32"
len = 32
init = { uniform = [0.0, 1.0] }
[[buffer]]
name = "out"
type = "f32"
len = 32
output = true
[[launch]]
kernel = "k"
grid = [1]
block = [32]
args = ["x", "y", "out"]
[accept]
metric = "max_abs"
tolerance = 0.5
"#;

fn subject_of(ir: &str) -> Subject {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.ll"), ir).expect("written");
    let path = dir.path().join("w.toml");
    std::fs::write(&path, WORKLOAD).expect("written");
    let tools = common::bare();
    Subject::load(&path, &[], &tools).expect("a subject")
}

fn subject() -> Subject {
    subject_of(IR)
}

#[test]
fn every_arithmetic_site_is_in_a_group_and_memory_is_in_none() {
    let s = subject();
    let t = tunable(&s, &[SiteFormat::F32], Grouping::Site).expect("tunable");
    let op = |site: usize| s.kernels[0].sites[site].op.as_str();
    let ops: Vec<&str> = t.groups.iter().map(|g| op(g.sites[0])).collect();
    assert_eq!(ops, ["fmul", "fadd", "sqrt"]);
    let why = |name: &str| {
        let e = t.excluded.iter().find(|e| op(e.site) == name);
        e.map(|e| e.why.clone()).unwrap_or_default()
    };
    assert!(why("load").contains("format of its buffer"));
    assert!(why("store").contains("format of its buffer"));
    assert!(why("fptrunc").contains("f32"), "{}", why("fptrunc"));
}

#[test]
fn wider_formats_are_the_last_levels() {
    let s = subject();
    let scope = TuningScope {
        formats: &[SiteFormat::F32, SiteFormat::Dw32],
        raise: true,
        by: Grouping::Site,
        storage: false,
        scaled: None,
        approx: None,
        layout: false,
        records: false,
        blocks: false,
        code: false,
        algebra: None,
        made: None,
    };
    let t = for_scope(&s, &scope).expect("tunable");
    let names = |g: &Group| -> Vec<String> { g.formats.iter().map(|f| f.to_string()).collect() };
    let wide = &t.groups[0];
    assert_eq!(names(wide), ["f64", "dw32", "f32", "dw64"]);
    assert_eq!(wide.lower_levels(), 3);
    assert!(wide.raises(3) && !wide.raises(2));
    let narrow = t.groups.last().expect("the product");
    assert_eq!(names(narrow), ["f32", "dw32", "f64"]);
    assert_eq!(narrow.lower_levels(), 1);
    // All of them at their widest are a plan that the passes take, and the score knows that it costs.
    let widest = t.groups.iter().map(|g| (g.formats.len() - 1) as u8);
    let widest: Vec<u8> = widest.collect();
    let plan = t.plan(&s, &widest);
    let formats: Vec<SiteFormat> = plan.kernels["k"].sites.values().copied().collect();
    assert!(formats.contains(&SiteFormat::Dw64) && formats.contains(&SiteFormat::F64));
    let m = s.program.module().expect("a module");
    plan.apply(&m).expect("the passes take it");
    let score = StaticScore::new(&s, &t, Weights::published());
    assert!(
        score.predict(&widest) > Some(2.0),
        "{:?}",
        score.predict(&widest)
    );
}

#[test]
fn levels_go_down_from_the_own_format_and_plans_come_back() {
    let s = subject();
    let asked = [SiteFormat::Bf16, SiteFormat::F32, SiteFormat::F16];
    let t = tunable(&s, &asked, Grouping::Chain).expect("tunable");
    let names: Vec<Vec<String>> = t
        .groups
        .iter()
        .map(|g| g.formats.iter().map(ToString::to_string).collect())
        .collect();
    let words = |all: &[&str]| -> Vec<String> { all.iter().map(|w| (*w).to_owned()).collect() };
    let all = words(&["f64", "f32", "f16", "bf16"]);
    assert!(names.contains(&all), "{names:?}");
    assert!(names.contains(&words(&["f32", "f16", "bf16"])), "{names:?}");
    let identity = vec![0; t.groups.len()];
    assert!(t.plan(&s, &identity).is_identity());
    let at = names.iter().position(|n| *n == all).expect("found");
    let mut a = identity;
    a[at] = 2;
    let plan = t.plan(&s, &a);
    let sites = &plan.kernels["k"].sites;
    assert_eq!(sites.len(), t.groups[at].sites.len());
    assert!(sites.values().all(|f| *f == SiteFormat::F16));
    let m = s.program.module().expect("a module");
    plan.apply(&m).expect("the passes take it");
}

#[test]
fn the_published_score_counts_operations_and_conversions() {
    let s = subject();
    let t = tunable(&s, &[SiteFormat::F32], Grouping::Site).expect("tunable");
    let score = StaticScore::new(&s, &t, Weights::published());
    // A square, a sum and a root in f64, a product in f32, and the source's conversion.
    let base = 3.0 + 0.5 + 2.0;
    assert_eq!(score.score(&[0, 0, 0]), base);
    // The square alone: half of one, a conversion before it and one behind it.
    assert_eq!(score.score(&[1, 0, 0]), base - 0.5 + 4.0);
    // The root alone: the source's conversion moves before it, so none is added.
    assert_eq!(score.score(&[0, 0, 1]), base - 0.5);
    // All: one conversion, at the load.
    assert_eq!(score.score(&[1, 1, 1]), 1.5 + 0.5 + 2.0);
    assert_eq!(score.predict(&vec![0, 0, 0]), Some(1.0));
}

#[test]
fn a_recorded_space_gets_its_score_from_the_program() {
    let s = subject();
    let t = tunable(&s, &[SiteFormat::F32], Grouping::Site).expect("tunable");
    let all = [vec![0, 0, 0], vec![1, 0, 0], vec![1, 1, 1]];
    let space = |p: Problem| {
        let outcomes = all.iter().map(|a| Evaluation {
            assignment: a.clone(),
            outcome: Outcome::ran(1e-9, 1.0),
        });
        RecordedSpace::new("k", p, outcomes.collect()).expect("a space")
    };
    let scored = rescore(&s, space(t.problem(&s, 1e-6))).expect("scored");
    let score = StaticScore::new(&s, &t, Weights::published());
    for a in &all {
        assert_eq!(Models::static_score(&scored, a), score.predict(a));
    }
    let mut other = t.problem(&s, 1e-6);
    other.variables[1].name = "another".into();
    let refused = rescore(&s, space(other)).expect_err("another program");
    assert!(refused.to_string().contains("another"), "{refused}");
    let mut shapes = t.problem(&s, 1e-6);
    shapes.variables[0].levels[1].name = "128".into();
    let refused = rescore(&s, space(shapes)).expect_err("no formats");
    assert!(matches!(refused, RescoreError::Level(..)));
}

#[test]
fn a_problem_has_the_models_numbers() {
    struct Overflows;
    impl ErrorPredictor for Overflows {
        fn error(&self, group: usize, _: u8) -> Option<f64> {
            Some(group as f64 + 0.5)
        }
        fn veto(&self, group: usize, _: u8) -> Option<String> {
            (group == 1).then(|| "it overflows".into())
        }
    }
    let s = subject();
    let t = tunable(&s, &[SiteFormat::F32], Grouping::Site).expect("tunable");
    let score = StaticScore::new(&s, &t, Weights::published());
    let mut p = t.problem(&s, 1e-6);
    assert!(models::inform(&mut p, &score, &Unknown).is_empty());
    assert!(p.check().is_ok());
    assert_eq!(p.edges.len(), 2);
    // Sums of costs and conversions rank plans as the model does, where plans are far apart.
    let ratio = |a: &[u8]| p.score_ratio(a).expect("a score");
    assert!(ratio(&[1, 1, 1]) < ratio(&[0, 0, 0]));
    assert!(ratio(&[1, 0, 0]) > ratio(&[0, 0, 0]));
    assert!(p.variables[0].depth < p.variables[1].depth);
    let mut p = t.problem(&s, 1e-6);
    let vetoes = models::inform(&mut p, &score, &Overflows);
    assert_eq!(vetoes.len(), 1);
    assert!(vetoes[0].contains("it overflows"), "{}", vetoes[0]);
    assert_eq!(p.all_low(), [1, 0, 1]);
    assert_eq!(p.variables[2].levels[1].error, Some(2.5));
}

fn approximate(calls: bool, warps: bool, formats: &[SiteFormat]) -> (Subject, Tunable) {
    let s = subject();
    let scope = TuningScope {
        formats,
        raise: false,
        by: Grouping::Site,
        storage: false,
        scaled: None,
        approx: Some(Approx {
            calls,
            warps: warps.then_some(Select::Hash),
        }),
        layout: false,
        records: false,
        blocks: false,
        code: false,
        algebra: None,
        made: None,
    };
    let t = for_scope(&s, &scope).expect("tunable");
    (s, t)
}

fn levels(t: &Tunable, group: usize) -> Vec<String> {
    let all = t.groups[group].formats.iter();
    all.map(ToString::to_string).collect()
}

#[test]
fn math_calls_have_the_variants_of_their_format_as_levels() {
    let (s, t) = approximate(true, false, &[]);
    assert_eq!(t.groups.len(), 1);
    assert_eq!(levels(&t, 0), ["accurate", "newton2", "newton1", "newton0"]);
    let plan = t.plan(&s, &[2]);
    let k = &plan.kernels["k"];
    assert_eq!(k.math.values().collect::<Vec<_>>(), [&MathVariant::Newton1]);
    assert!(k.sites.is_empty() && k.partition.is_none());
    assert!(t.plan(&s, &[0]).is_identity());
    // With f32 beside it, levels go on where f64 ends, and each is taken as far as the format allows.
    let (s, t) = approximate(true, false, &[SiteFormat::F32]);
    let root = t.groups.len() - 1;
    assert_eq!(
        levels(&t, root),
        [
            "accurate",
            "newton2",
            "newton1",
            "newton0",
            "approx",
            "approx.ftz"
        ]
    );
    let mut a = vec![0; t.groups.len()];
    a[root] = 5;
    let only = |a: &[u8]| t.plan(&s, a).kernels["k"].math.values().next().copied();
    assert_eq!(only(&a), Some(MathVariant::Newton0));
    a[..root].fill(1);
    assert_eq!(only(&a), Some(MathVariant::ApproxFtz));
    a[root] = 1;
    assert_eq!(only(&a), None);
    for l in 0..=5 {
        a[root] = l;
        let m = s.program.module().expect("a module");
        t.plan(&s, &a).apply(&m).expect("the passes take it");
    }
}

#[test]
fn parts_of_the_warps_run_the_cheapest_version() {
    let (s, t) = approximate(true, true, &[]);
    assert_eq!(t.groups.len(), 2);
    assert_eq!(t.groups[1].formats.len(), 65);
    assert_eq!(t.cheapest(), [3, 64]);
    let plan = t.plan(&s, &[1, 16]);
    let k = &plan.kernels["k"];
    let p = k.partition.as_ref().expect("two versions");
    assert_eq!(p.lambda, 0.25);
    assert_eq!(k.math.values().next(), Some(&MathVariant::Newton2));
    assert_eq!(p.math.values().next(), Some(&MathVariant::Newton0));
    // All warps are no partition, and so is a second version that is the first.
    let all = t.plan(&s, &[1, 64]);
    assert!(all.kernels["k"].partition.is_none());
    assert_eq!(all, t.plan(&s, &[3, 0]));
    assert_eq!(all, t.plan(&s, &[3, 20]));
    // The score falls with either.
    let h200 = kerf_device::bundled::find("h200").expect("bundled");
    let w = Weights::from_profile(&h200.bundled.load().expect("a profile"));
    let score = StaticScore::new(&s, &t, w);
    let time = |a: &[u8]| score.predict(&a.to_vec()).expect("a score");
    assert!(time(&[3, 0]) < time(&[2, 0]) && time(&[2, 0]) < time(&[0, 0]));
    assert!(time(&[0, 64]) < time(&[0, 16]) && time(&[0, 16]) < time(&[0, 0]));
    assert!((time(&[0, 64]) - time(&[3, 0])).abs() < 1e-12);
}

#[test]
fn one_degree_alone_is_what_the_published_searches_take() {
    let (s, t) = approximate(false, true, &[]);
    assert_eq!(t.groups.len(), 1);
    let plan = t.plan(&s, &[32]);
    assert!(plan.kernels["k"].math.is_empty());
    assert_eq!(
        plan.kernels["k"].partition.as_ref().map(|p| p.lambda),
        Some(0.5)
    );
    let m = s.program.module().expect("a module");
    plan.apply(&m).expect("the passes take it");
}

#[test]
fn a_kernel_without_such_calls_is_refused_by_name() {
    let none = IR.replace(
        "call double @llvm.sqrt.f64(double %sum)",
        "fadd double %sum, %sum",
    );
    let s = subject_of(&none);
    let scope = TuningScope {
        formats: &[],
        raise: false,
        by: Grouping::Variable,
        storage: false,
        scaled: None,
        approx: Some(Approx {
            calls: true,
            warps: Some(Select::Hash),
        }),
        layout: false,
        records: false,
        blocks: false,
        code: false,
        algebra: None,
        made: None,
    };
    let e = for_scope(&s, &scope)
        .err()
        .expect("nothing to tune")
        .to_string();
    assert!(e.contains('k') && e.contains("approximate variant"), "{e}");
}

#[test]
fn nothing_asked_for_is_nothing_to_tune() {
    let none = tunable(&subject(), &[], Grouping::Variable);
    assert!(matches!(none, Err(ProblemError::Nothing { .. })));
}

#[test]
fn a_digest_is_of_what_is_computed_not_of_where_it_lies() {
    // Each subject has a folder of its own.
    assert_eq!(subject().digest(), subject().digest());
    let other = IR.replace("fmul double %a, %a", "fadd double %a, %a");
    assert_ne!(subject_of(&other).digest(), subject().digest());
}

#[test]
fn tolerances_from_the_command_line_and_the_file() {
    use kerf_num::Metric;
    let s = subject();
    let of_file = Criteria::new(&s.workload, None, None).expect("the file's");
    assert_eq!((of_file.tolerance, of_file.metric), (0.5, Metric::MaxAbs));
    let told = Criteria::new(&s.workload, Some(1e-3), None).expect("a tolerance");
    assert_eq!(told.tolerance, 1e-3);
    // A tolerance of one metric is none of another.
    let other = Criteria::new(&s.workload, None, Some(Metric::MaxRel));
    assert_eq!(other, Err(CriteriaError::None));
    let digits = Criteria::new(&s.workload, Some(6.0), Some(Metric::Digits)).expect("digits");
    assert!((digits.tolerance - 1e-6).abs() < 1e-20);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let c = Criteria::new(&s.workload, Some(bad), None);
        assert!(matches!(c, Err(CriteriaError::Bad(_))), "{bad}");
    }
}
