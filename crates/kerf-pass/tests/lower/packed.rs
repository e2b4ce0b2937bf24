//! Two f16 or bf16 operations in one instruction, and architectures without such instructions.
use super::harness::module;
use kerf_ir::finish::{Reflect, finish, ptx};
use kerf_pass::{Plan, SiteFormat, SiteFormat::*};

const PAIR: &str = "
entry:
  %p1 = getelementptr double, ptr %x, i64 1
  %q1 = getelementptr double, ptr %y, i64 1
  %a0 = load double, ptr %x
  %b0 = load double, ptr %p1
  %c = load double, ptr %y
  %d = load double, ptr %q1
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %n, %loop ]
  %a = phi double [ %a0, %entry ], [ %a1, %loop ]
  %b = phi double [ %b0, %entry ], [ %b1, %loop ]
  %a1 = call double @llvm.fma.f64(double %a, double %c, double %d)
  %b1 = call double @llvm.fma.f64(double %b, double %d, double %c)
  %n = add i32 %k, 1
  %more = icmp ult i32 %n, %count
  br i1 %more, label %loop, label %done
done:
  store double %a1, ptr %x
  store double %b1, ptr %p1
  ret void";

fn text(format: SiteFormat, arch: &str) -> String {
    let m = module("ptr %x, ptr %y, i32 %count", PAIR);
    let mut plan = Plan::all_sites(&m, format);
    plan.hold_all(&m, format.storage().expect("no pair"));
    plan.apply(&m).expect("applies");
    finish(&m, &[], arch, Reflect::default()).expect("finishes");
    ptx(&m, arch).expect("PTX")
}

#[test]
fn two_lanes_share_an_instruction() {
    for (format, name) in [(F16, "f16x2"), (Bf16, "bf16x2")] {
        let t = text(format, "sm_90");
        assert!(t.contains(&format!("fma.rn.{name}")), "{t}");
        assert!(
            !t.contains(&format!("fma.rn.{}\t", &name[..name.len() - 2])),
            "{t}"
        );
    }
}

#[test]
fn fma_of_bf16_without_the_instruction_is_rounded_once() {
    // In f64, where the product is exact, not by the fma of f32.
    let t = text(Bf16, "sm_75");
    assert!(t.contains("mul.rn.f64") && t.contains("add.rn.f64"), "{t}");
    assert!(
        !t.contains("fma.rn.f32") && !t.contains("fma.rn.bf16"),
        "{t}"
    );
}

#[test]
fn bf16_in_f16_code_keeps_its_range() {
    // LLVM would take the product of a bf16 in f16, where its operand may be infinite.
    let m = module(
        "ptr %x",
        "
  %a = load float, ptr %x
  %b = fadd float %a, %a
  %c = fmul float %b, 0.5
  %d = fadd float %c, %c
  store float %d, ptr %x
  ret void",
    );
    super::harness::some(&m, &[(1, Bf16), (3, F16)]);
    finish(&m, &[], "sm_90", Reflect::default()).expect("finishes");
    let t = ptx(&m, "sm_90").expect("PTX");
    assert!(t.contains("mul.rn.f32") && !t.contains("mul.rn.f16"), "{t}");
}
