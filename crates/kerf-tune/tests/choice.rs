//! What is compared with whole-kernel fast-math.
use crate::common;

use kerf_ir::finish::{Reflect, finish, ptx};
use kerf_num::Format;
use kerf_pass::{MathVariant, Plan};
use kerf_run::job::{Change, Deed, Start};
use kerf_tune::subject::Subject;
use kerf_tune::tradeoff::versions;

/// A quotient and a root in f32, a quotient and a root in f64, and a sum.
const IR: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %x, ptr %y) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr float, ptr %x, i32 %i
  %py = getelementptr double, ptr %y, i32 %i
  %a = load float, ptr %px
  %b = fadd float %a, 2.0
  %c = fdiv float %a, %b
  %d = call float @llvm.sqrt.f32(float %c)
  store float %d, ptr %px
  %e = load double, ptr %py
  %f = fadd double %e, 2.0
  %g = fdiv double %e, %f
  %h = call double @llvm.sqrt.f64(double %g)
  store double %h, ptr %py
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.sqrt.f32(float)
declare double @llvm.sqrt.f64(double)
"#;

const WORKLOAD: &str = r#"
source = "k.ll"
[[buffer]]
name = "x"
type = "f32"
len = 32
init = { uniform = [0.0, 1.0] }
output = true
[[buffer]]
name = "y"
type = "f64"
len = 32
init = { uniform = [0.0, 1.0] }
output = true
[[launch]]
kernel = "k"
grid = [1]
block = [32]
args = ["x", "y"]
"#;

#[test]
fn fast_math_changes_f32_and_calls_are_changed_one_by_one() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.ll"), IR).expect("writes");
    let file = dir.path().join("w.toml");
    std::fs::write(&file, WORKLOAD).expect("writes");
    let tools = common::bare();
    let subject = Subject::load(&file, &[], &tools).expect("a subject");
    let v = versions(&subject).expect("versions");
    let format = |site: &usize| subject.kernels[0].sites[*site].format;

    // Whole-kernel fast-math leaves f64 alone, and flushes in every operation.
    let fast = &v.choice.fast.kernels["k"];
    assert_eq!(fast.math.len(), 2);
    assert!(
        fast.math
            .iter()
            .all(|(s, m)| format(s) == Format::F32 && *m == MathVariant::ApproxFtz)
    );
    let m = subject.program.module().expect("a module");
    v.choice.fast.apply(&m).expect("applies");
    let flush = Reflect {
        ftz: true,
        ..Reflect::default()
    };
    finish(&m, &[], "sm_90", flush).expect("finishes");
    let text = ptx(&m, "sm_90").expect("PTX");
    for word in [
        "add.rn.ftz.f32",
        "div.approx.ftz.f32",
        "sqrt.approx.ftz.f32",
        "div.rn.f64",
        "sqrt.rn.f64",
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }

    // The reference has every operation in double words of its own format.
    let exact = v.choice.exact.expect("a reference");
    let words = &exact.kernels["k"].sites;
    assert!(
        words.len() >= 6 && words.iter().all(|(s, f)| f.word() == format(s)),
        "{words:?}"
    );
    exact
        .apply(&subject.program.module().expect("a module"))
        .expect("applies");

    // Every call is changed from both ends, and what is tried can be built.
    let starts = &v.choice.starts;
    assert_eq!(starts[0].plan, v.cheap);
    assert!(starts[1].plan.is_identity());
    for s in &starts[..2] {
        let of = |c: &Change| match &c.deed {
            Deed::Calls { sites, .. } => sites.clone(),
            Deed::Narrower(_) => Vec::new(),
        };
        let mut sites: Vec<usize> = s.changes.iter().flat_map(of).collect();
        sites.sort_unstable();
        sites.dedup();
        assert_eq!(sites.len(), 4, "{:?}", s.changes);
    }
    // Memory and operations in narrower formats are tried once, and each can be built.
    let narrower = |s: &Start| -> Vec<Plan> {
        let of = |c: &Change| match &c.deed {
            Deed::Narrower(p) => Some(p.clone()),
            Deed::Calls { .. } => None,
        };
        s.changes.iter().filter_map(of).collect()
    };
    assert!(narrower(&starts[0]).is_empty());
    let plans = narrower(&starts[1]);
    assert!(plans.iter().any(|p| !p.kernels["k"].storage.is_empty()));
    for p in plans {
        assert!(p.kernels["k"].math.is_empty());
        p.apply(&subject.program.module().expect("a module"))
            .expect("applies");
    }
    assert!(starts.iter().any(|s| s.what.contains("newton1")));
    for s in starts {
        s.plan
            .apply(&subject.program.module().expect("a module"))
            .expect("applies");
    }
}
