//! Each pattern goes in as IR; what comes out is looked up in the PTX.
use crate::finish::ptx;
use kerf_llvm::Module;

fn emitted(ir: &str, arch: &str) -> String {
    let m = Module::parse(ir.as_bytes(), "test").unwrap_or_else(|e| panic!("{e}\n{ir}"));
    let before = m.print();
    let text = ptx(&m, arch).unwrap_or_else(|e| panic!("{e}\n{ir}"));
    assert_eq!(m.print(), before, "the finished module must stay as it is");
    text
}

/// A kernel over pointers `%p` and `%q`, with more of the module after it.
fn kernel(body: &str, rest: &str) -> String {
    format!("define ptx_kernel void @k(ptr %p, ptr %q) {{\n{body}\n  ret void\n}}\n{rest}\n")
}

/// Bits of a half, zero-extended, after two extremes of the given names.
fn clamp(outer: &str, inner: &str) -> String {
    kernel(
        &format!(
            "  %x = load half, ptr %p
  %a = call half @llvm.{inner}.f16(half %x, half 0xHCC00)
  %b = call half @llvm.{outer}.f16(half %a, half 0xH4C00)
  %c = bitcast half %b to i16
  %d = zext i16 %c to i32
  store i32 %d, ptr %q"
        ),
        &format!(
            "declare half @llvm.{inner}.f16(half, half)
declare half @llvm.{outer}.f16(half, half)"
        ),
    )
}

#[test]
fn the_minimum_of_a_clamp_of_halves_is_packed() {
    for (minimum, maximum) in [
        ("minnum", "maxnum"),
        ("minimumnum", "maximumnum"),
        ("nvvm.fmin", "nvvm.fmax"),
    ] {
        let text = emitted(&clamp(minimum, maximum), "sm_90");
        assert!(text.contains("min.f16x2"), "{text}");
        assert!(!text.contains("min.f16 "), "{text}");
        assert!(text.contains("max.f16 "), "{text}");
    }
}

#[test]
fn other_extremes_of_halves_are_left() {
    // Minimum first, and the kinds that keep NaN: ptxas extends these.
    for (outer, inner) in [("maxnum", "minnum"), ("minimum", "maximum")] {
        let text = emitted(&clamp(outer, inner), "sm_90");
        assert!(!text.contains("f16x2"), "{text}");
    }
    // No min.f16x2 to be had.
    let text = emitted(&clamp("minnum", "maxnum"), "sm_75");
    assert!(!text.contains("f16x2"), "{text}");
}

/// The absolute value of `%v`, which `how` computes from `%x`, `%a` = |x| and `%c`.
fn absolute(how: &str) -> String {
    kernel(
        &format!(
            "  %x = load float, ptr %p
  %c = fcmp olt float %x, 4.0
  %a = call float @llvm.fabs.f32(float %x)
{how}
  %r = call float @llvm.fabs.f32(float %v)
  store float %r, ptr %q"
        ),
        "declare float @llvm.fabs.f32(float)\ndeclare float @llvm.minnum.f32(float, float)",
    )
}

#[test]
fn the_sign_of_a_chosen_minus_zero_is_cleared_by_bits() {
    for how in [
        "  %v = select i1 %c, float -0.0, float %a",
        "  %w = select i1 %c, float %a, float -0.0
  %v = call float @llvm.minnum.f32(float %w, float 2.0)",
        "  br i1 %c, label %yes, label %no
yes:
  br label %no
no:
  %v = phi float [ %a, %0 ], [ -0.0, %yes ]",
        "  %i = bitcast float %a to i32
  %s = select i1 %c, i32 -2147483648, i32 %i
  %v = bitcast i32 %s to float",
    ] {
        let text = emitted(&absolute(how), "sm_90");
        // The inner one stays, as abs.f32 or what LLVM makes of it.
        assert_eq!(text.matches("0x7fffffff").count(), 1, "{how}\n{text}");
        assert!(text.matches("abs.f32").count() <= 1, "{how}\n{text}");
    }
}

#[test]
fn other_absolute_values_are_left() {
    for how in [
        "  %v = select i1 %c, float 0.0, float %x",
        "  %v = fadd float %x, -0.0",
    ] {
        let text = emitted(&absolute(how), "sm_90");
        assert!(!text.contains("0x7fffffff"), "{how}\n{text}");
        assert!(text.contains("abs.f32"), "{how}\n{text}");
    }
}

/// An absolute value of integers of so many bits, converted by `how` to the given type.
fn converted(bits: u32, how: &str, to: &str) -> String {
    kernel(
        &format!(
            "  %x = load i{bits}, ptr %p
  %a = call i{bits} @llvm.abs.i{bits}(i{bits} %x, i1 false)
  %r = {how} i{bits} %a to {to}
  store {to} %r, ptr %q"
        ),
        &format!("declare i{bits} @llvm.abs.i{bits}(i{bits}, i1)"),
    )
}

#[test]
fn absolute_values_that_are_converted_are_maxima() {
    for (bits, expected) in [(32, "max.s32"), (16, "max.s16")] {
        let text = emitted(&converted(bits, "uitofp", "float"), "sm_90");
        assert!(text.contains(expected) && !text.contains("abs.s"), "{text}");
    }
    // ptxas has these right.
    for (bits, how, to) in [(32, "sitofp", "float"), (32, "uitofp", "double")] {
        let text = emitted(&converted(bits, how, to), "sm_90");
        assert!(text.contains("abs.s") && !text.contains("max.s"), "{text}");
    }
}

#[test]
fn parameters_that_are_chosen_between_are_loaded_first() {
    let text = emitted(
        "define i32 @f(i32 %a, i32 %b, i1 %c) noinline {
  %r = select i1 %c, i32 %a, i32 %b
  ret i32 %r
}",
        "sm_90",
    );
    assert_eq!(text.matches("ld.param.b32").count(), 2, "{text}");
    assert!(!text.contains("mov.b64"), "{text}");
}

/// Collectives of every kind, after a call of `@r`.
const TOGETHER: &str = "  %n = load i32, ptr %p
  %d = call i32 @r(i32 %n)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 64)
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 255, i32 %d, i32 1, i32 31)
  %t = call i32 @llvm.nvvm.redux.sync.add(i32 %s, i32 %n)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  store i32 %t, ptr %q";
const DECLARED: &str = "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)";

fn calling(callee: &str) -> String {
    kernel(TOGETHER, &format!("{DECLARED}\n{callee}"))
}

/// A body that calls `@{next}` unless its argument is 0.
fn function(name: &str, next: &str) -> String {
    format!(
        "define i32 @{name}(i32 %n) noinline {{
  %z = icmp eq i32 %n, 0
  br i1 %z, label %end, label %more
more:
  %m = sub i32 %n, 1
  %r = call i32 @{next}(i32 %m)
  br label %end
end:
  %v = phi i32 [ 0, %0 ], [ %r, %more ]
  ret i32 %v
}}"
    )
}

/// The instructions of the kernel whose names start with one of `names`, with their operands.
fn instructions(text: &str, names: &[&str]) -> Vec<String> {
    let at = text.find(".entry k(").expect("the kernel");
    text[at..]
        .lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|l| names.iter().any(|n| l.starts_with(n)))
        .collect()
}

#[test]
fn warps_come_together_again_after_recursion() {
    let direct = function("r", "r");
    let mutual = format!("{}\n{}", function("r", "s"), function("s", "r"));
    for callee in [direct, mutual] {
        let text = emitted(&calling(&callee), "sm_90");
        let order = instructions(
            &text,
            &["bar", "shfl", "redux", "and.b32 %", "mov.u32 x, %laneid"],
        );
        let names: Vec<&str> = order
            .iter()
            .map(|l| l.split([' ', ';']).next().unwrap())
            .collect();
        let expected = [
            "bar.warp.sync",
            "bar.sync",
            "barrier.sync",
            "and.b32",
            "bar.warp.sync",
            "shfl.sync.bfly.b32",
            "and.b32",
            "bar.warp.sync",
            "redux.sync.add.s32",
            "bar.warp.sync",
        ];
        assert_eq!(names, expected, "{text}");
        // The masks are registers, and those of partial operations keep to their members.
        for (line, _) in order
            .iter()
            .zip(&names)
            .filter(|(_, n)| n.ends_with("warp.sync"))
        {
            assert!(line.contains("%r"), "{line}\n{text}");
        }
        assert!(order[3].ends_with(", 255;"), "{text}");
        assert_eq!(text.matches("%laneid").count(), 1, "{text}");
    }
}

#[test]
fn a_pointer_may_lead_back() {
    let callee = "@table = global [1 x ptr] [ptr @r]
define i32 @r(i32 %n) noinline {
  %f = load ptr, ptr @table
  %v = call i32 %f(i32 %n)
  ret i32 %v
}";
    let text = emitted(&calling(callee), "sm_90");
    assert!(text.contains("%laneid"), "{text}");
}

#[test]
fn without_recursion_nothing_is_added() {
    let callee = format!(
        "{}\ndefine i32 @s(i32 %n) noinline {{\n  ret i32 %n\n}}\n{}",
        function("r", "s"),
        // Recursive, but not called by the kernel.
        function("t", "t")
    );
    let text = emitted(&calling(&callee), "sm_90");
    assert!(!text.contains("%laneid"), "{text}");
    let syncs = instructions(&text, &["bar.warp.sync"]);
    assert_eq!(syncs, ["bar.warp.sync -1;"], "{text}");
}

/// `%v`, which `how` computes from `%x`, compared.
fn compared(how: &str, comparison: &str) -> String {
    kernel(
        &format!(
            "  %x = load float, ptr %p
{how}
  %c = fcmp {comparison}
  %r = select i1 %c, i32 1, i32 2
  store i32 %r, ptr %q"
        ),
        "declare float @llvm.nvvm.sin.approx.f(float)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
declare float @llvm.fabs.f32(float)
declare float @llvm.tanh.f32(float)",
    )
}

const SINE: &str = "  %v = call float @llvm.nvvm.sin.approx.f(float %x)";
const POWER: &str = "  %v = call float @llvm.nvvm.ex2.approx.ftz.f32(float %x)";

#[test]
fn comparisons_that_only_nan_fails_are_turned_round() {
    let chosen = "  %s = call float @llvm.nvvm.sin.approx.f(float %x)
  %n = fneg float %s
  %b = fcmp olt float %x, 4.0
  %v = select i1 %b, float %n, float 0.5";
    let absolute = "  %s = call float @llvm.nvvm.sin.approx.f(float %x)
  %v = call float @llvm.fabs.f32(float %s)";
    let tangent = "  %v = call float @llvm.tanh.f32(float %x)";
    for (how, comparison, opposite) in [
        (SINE, "olt float %v, 3.0", "setp.geu.f32"),
        (SINE, "oge float %v, -1.0", "setp.ltu.f32"),
        (SINE, "ogt float 3.0, %v", "setp.leu.f32"),
        (chosen, "ogt float %v, -1.5", "setp.leu.f32"),
        (absolute, "ole float %v, 1.0", "setp.gtu.f32"),
        (tangent, "olt float %v, 3.0", "setp.geu.f32"),
        (POWER, "oge float %v, 0.0", "setp.ltu.f32"),
    ] {
        let text = emitted(&compared(how, comparison), "sm_90");
        assert!(text.contains(opposite), "{comparison}\n{text}");
    }
}

#[test]
fn comparisons_that_numbers_fail_are_left() {
    for (how, comparison) in [
        (SINE, "olt float %v, 1.0"),
        (SINE, "ogt float %v, 3.0"),
        (SINE, "ult float %v, 3.0"),
        (POWER, "olt float %v, 3.0"),
        ("  %v = fadd float %x, %x", "ogt float %v, -1.0"),
    ] {
        let text = emitted(&compared(how, comparison), "sm_90");
        assert!(!text.contains(".pred q"), "{comparison}\n{text}");
    }
}

/// The lower bits of a sum, stored.
fn narrow(float: &str, wide: &str, narrow: &str) -> String {
    let body = format!(
        "  %x = load {float}, ptr %p
  %s = fadd {float} %x, %x
  %b = bitcast {float} %s to {wide}
  %t = trunc {wide} %b to {narrow}
  store {narrow} %t, ptr %q"
    );
    kernel(&body, "")
}

#[test]
fn bits_of_numbers_are_moved_before_a_part_of_them_is_stored() {
    for (float, wide, part, moved) in [
        ("float", "i32", "i16", "mov.b32"),
        ("float", "i32", "i8", "mov.b32"),
        ("double", "i64", "i32", "mov.b64"),
        ("double", "i64", "i16", "mov.b64"),
        ("half", "i16", "i8", "mov.b16"),
    ] {
        let text = emitted(&narrow(float, wide, part), "sm_90");
        let sum = text.find("add.rn.").expect("a sum");
        let at = text[sum..].find(moved).map(|k| sum + k);
        let store = text.find("st.global.b").expect("a store");
        assert!(at.is_some_and(|at| at < store), "{text}");
    }
}

#[test]
fn every_lane_is_moved_before_a_part_of_it_is_stored() {
    let body = "  %x = load <2 x float>, ptr %p
  %s = fadd <2 x float> %x, <float 3.0, float 5.0>
  %b = bitcast <2 x float> %s to <2 x i32>
  %t = trunc <2 x i32> %b to <2 x i8>
  %t0 = extractelement <2 x i8> %t, i64 0
  %t1 = extractelement <2 x i8> %t, i64 1
  %far = getelementptr i8, ptr %q, i64 64
  store i8 %t0, ptr %q
  store i8 %t1, ptr %far";
    let text = emitted(&kernel(body, ""), "sm_90");
    assert_eq!(text.matches("st.global.b8").count(), 2, "{text}");
    assert_eq!(text.matches("\tmov.b32").count(), 2, "{text}");
}

#[test]
fn parts_of_integers_are_stored_as_they_are() {
    let body = "  %x = load i32, ptr %p
  %s = add i32 %x, 3
  %t = trunc i32 %s to i16
  store i16 %t, ptr %q";
    let text = emitted(&kernel(body, ""), "sm_90");
    assert!(!text.contains("mov.b32"), "{text}");
}

#[test]
fn chosen_bits_of_numbers_are_moved_too() {
    let body = "  %x = load float, ptr %p
  %s = fadd float %x, 3.0
  %c = fcmp ogt float %x, 7.0
  %b = bitcast float %s to i32
  %d = select i1 %c, i32 %b, i32 5
  %t = trunc i32 %d to i16
  store i16 %t, ptr %q";
    let text = emitted(&kernel(body, ""), "sm_90");
    assert!(text.contains("mov.b32"), "{text}");
}
