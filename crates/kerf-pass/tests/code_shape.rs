//! Code shapes: what a plan's `code` leaves in the IR, and what it refuses.
use kerf_llvm::Module;
use kerf_pass::{Plan, PlanError};

const LOOP: &str = r#"target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %x, i32 %n) ATTRIBUTES {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr double, ptr %x, i32 %i
  %v = load double, ptr %p
  %w = fadd double %v, %v
  store double %w, ptr %p
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end MARK
end:
  ret void
}
"#;

const STRAIGHT: &str = r#"target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %x) {
  store double 1.0, ptr %x
  ret void
}
"#;

fn applied(ir: &str, code: &str) -> Result<String, String> {
    let m = Module::parse(ir.as_bytes(), "k").expect("parses");
    let text = format!(r#"{{"version":1,"kernels":{{"k":{{"code":{code}}}}}}}"#);
    let plan = Plan::parse(&text).map_err(|e: PlanError| e.to_string())?;
    plan.apply(&m).map_err(|e| e.to_string())?;
    m.verify().expect("verifies");
    Ok(m.print())
}

fn a_loop(attributes: &str, mark: &str) -> String {
    LOOP.replace("ATTRIBUTES", attributes).replace("MARK", mark)
}

#[test]
fn registers_and_copies_are_marks_of_the_kernel() {
    let ir = applied(&a_loop("", ""), r#"{"registers":64,"unroll":8}"#).expect("applies");
    assert!(ir.contains(r#""nvvm.maxnreg"="64""#), "{ir}");
    assert!(ir.contains(r#"!"llvm.loop.unroll.count", i32 8"#), "{ir}");
    let rolled = applied(&a_loop("", ""), r#"{"unroll":1}"#).expect("applies");
    assert!(rolled.contains("llvm.loop.unroll.disable"), "{rolled}");
    assert!(!rolled.contains("maxnreg"), "{rolled}");
}

#[test]
fn what_the_source_says_stays() {
    let marked = a_loop("", ", !llvm.loop !0")
        + "!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.full\"}\n";
    let why = applied(&marked, r#"{"unroll":2}"#).expect_err("refused");
    assert!(why.contains("no loop that the source leaves"), "{why}");
    let limited = a_loop(r#""nvvm.maxnreg"="32""#, "");
    let why = applied(&limited, r#"{"registers":64}"#).expect_err("refused");
    assert!(
        why.contains("kernel k") && why.contains("to 32 already"),
        "{why}"
    );
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (code, why) in [
        (
            r#"{"registers":8}"#,
            "registers is 8, and not from 16 to 255",
        ),
        (r#"{"unroll":0}"#, "unroll is 0, and not from 1 to 64"),
        (r#"{"copies":2}"#, "copies"),
    ] {
        let said = applied(&a_loop("", ""), code).expect_err("refused");
        assert!(said.contains(why), "{said}");
    }
    let said = applied(STRAIGHT, r#"{"unroll":2}"#).expect_err("refused");
    assert!(said.contains("it has no loop"), "{said}");
}
