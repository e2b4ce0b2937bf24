//! Floating-point arithmetic, comparisons and conversions.
use super::*;

/// Bits of some numbers in f16.
const H1_5: u64 = 0x3E00;
const H2_25: u64 = 0x4080;
const H3_75: u64 = 0x4380;

fn half2(text: &str, a: u64, b: u64) -> u64 {
    number(
        "i16",
        text,
        "=h,h,h",
        &format!("i16 {}, i16 {}", a as i16, b as i16),
    )
}

fn bf16(text: &str, a: u64, b: u64) -> u64 {
    half2(text, a, b)
}

fn convert(ret: &str, text: &str, constraints: &str, arg: &str) -> u64 {
    number(ret, text, constraints, arg)
}

#[test]
fn half_addition_is_an_fadd() {
    assert_eq!(half2("{add.f16 $0,$1,$2;\n}", H1_5, H2_25), H3_75);
    let ir = text_of(
        "i16 %a, i16 %b",
        "i16",
        "{add.f16 $0,$1,$2;}",
        "=h,h,h",
        "i16 %a, i16 %b",
    );
    assert!(ir.contains("fadd half"), "{ir}");
    assert!(!ir.contains("asm"), "{ir}");
}

#[test]
fn packed_halves_stay_a_vector() {
    let ir = text_of(
        "i32 %a",
        "i32",
        "{fma.rn.f16x2 $0,$1,$1,$1;}",
        "=r,r",
        "i32 %a",
    );
    assert!(ir.contains("call <2 x half> @llvm.fma.v2f16"), "{ir}");
    // (1.5, 2.25) * 2 in each half
    let v = number("i32", "{add.f16x2 $0,$1,$1;}", "=r,r", "i32 1082146304");
    assert_eq!(v, 0x4480_4200);
}

#[test]
fn saturation_clamps_and_clears_nan() {
    assert_eq!(half2("{add.sat.f16 $0,$1,$2;}", H1_5, H2_25), 0x3C00);
    assert_eq!(half2("{sub.sat.f16 $0,$1,$2;}", H1_5, H2_25), 0);
    assert_eq!(half2("{mul.sat.f16 $0,$1,$2;}", 0x7E00, H2_25), 0);
}

#[test]
fn relu_keeps_nan() {
    let fma = "{fma.rn.relu.f16 $0,$1,$2,$2;}";
    assert_eq!(half2(fma, 0xC500, 0x3C00), 0); // -5 * 1 + 1
    assert_eq!(half2(fma, 0x3C00, 0x3C00), 0x4000);
    assert_eq!(half2(fma, 0x7E00, 0x3C00) & 0x7E00, 0x7E00);
}

#[test]
fn flushing_f16_clears_subnormals() {
    assert_eq!(half2("add.ftz.f16 $0,$1,$2;", 0x8001, 0x8000), 0x8000);
    assert_eq!(half2("mul.f16 $0,$1,$2;", 0x0001, 0x3C00), 0x0001);
    assert_eq!(half2("mul.ftz.f16 $0,$1,$2;", 0x0001, 0x3C00), 0);
}

#[test]
fn bf16_arithmetic_is_bfloat() {
    assert_eq!(bf16("{ add.rn.bf16 $0,$1,$2; }", 0x3FC0, 0x4010), 0x4070); // 1.5 + 2.25
    let ir = text_of("i16 %a", "i16", "{ mul.bf16 $0,$1,$1; }", "=h,h", "i16 %a");
    assert!(ir.contains("fmul bfloat"), "{ir}");
}

#[test]
fn min_and_max_order_zeros_and_nans() {
    assert_eq!(half2("{max.f16 $0,$1,$2;}", 0x8000, 0x0000), 0x0000);
    assert_eq!(half2("{min.f16 $0,$1,$2;}", 0x0000, 0x8000), 0x8000);
    assert_eq!(half2("{max.f16 $0,$1,$2;}", 0x7E00, H1_5), H1_5);
    assert_eq!(
        half2("{max.NaN.f16 $0,$1,$2;}", 0x7E00, H1_5) & 0x7E00,
        0x7E00
    );
}

#[test]
fn other_roundings_are_intrinsics() {
    for (text, name) in [
        ("sub.rz.f32 $0,$1,$2;", "llvm.nvvm.add.rz.f"),
        ("mul.rp.f32 $0,$1,$2;", "llvm.nvvm.mul.rp.f"),
        ("add.rn.ftz.f32 $0,$1,$2;", "llvm.nvvm.add.rn.ftz.f"),
        ("div.approx.f32 $0,$1,$2;", "llvm.nvvm.div.approx.f"),
        ("div.full.ftz.f32 $0,$1,$2;", "llvm.nvvm.div.full.ftz"),
        ("div.rm.f32 $0,$1,$2;", "llvm.nvvm.div.rm.f"),
    ] {
        let ir = text_of("float %a", "float", text, "=f,f,f", "float %a, float %a");
        assert!(ir.contains(&format!("@{name}(")), "{text}: {ir}");
    }
}

#[test]
fn functions_find_their_intrinsics() {
    for (text, name) in [
        (
            "rcp.approx.ftz.f32 $0,$1;",
            "call float @llvm.nvvm.rcp.approx.ftz.f(",
        ),
        ("rcp.approx.f32 $0,$1;", "fdiv float 1.0"),
        ("rcp.rn.f32 $0,$1;", "fdiv float 1.0"),
        ("sqrt.rn.f32 $0,$1;", "@llvm.sqrt.f32("),
        ("sqrt.approx.f32 $0,$1;", "@llvm.nvvm.sqrt.approx.f("),
        (
            "rsqrt.approx.ftz.f32 $0,$1;",
            "@llvm.nvvm.rsqrt.approx.ftz.f(",
        ),
        (
            "ex2.approx.ftz.f32 $0,$1;",
            "@llvm.nvvm.ex2.approx.ftz.f32(",
        ),
        ("lg2.approx.f32 $0,$1;", "@llvm.nvvm.lg2.approx.f("),
        ("sin.approx.f32 $0,$1;", "@llvm.nvvm.sin.approx.f("),
        ("cos.approx.ftz.f32 $0,$1;", "@llvm.nvvm.cos.approx.ftz.f("),
        ("tanh.approx.f32 $0,$1;", "call float @__nv_tanhf("),
    ] {
        let ir = text_of("float %a", "float", text, "=f,f", "float %a");
        assert!(ir.contains(name), "{text}: {ir}");
    }
    let ir = text_of(
        "i32 %a",
        "i32",
        "tanh.approx.f16x2 $0,$1;",
        "=r,r",
        "i32 %a",
    );
    assert_eq!(ir.matches("call float @__nv_tanhf").count(), 2, "{ir}");
}

#[test]
fn comparisons_give_ones_or_all_bits() {
    let set = |text: &str| number("i32", text, "=r,r,r", "i32 1082146304, i32 1082144768");
    // (1.5, 2.25) against (0.5, 2.25) in f16
    assert_eq!(set("{ set.gt.f16x2.f16x2 $0,$1,$2;}"), 0x0000_3C00);
    assert_eq!(set("{ set.le.u32.f16x2 $0,$1,$2;}"), 0xFFFF_0000);
    let nan = |text: &str| number("i16", text, "=h,h,h", "i16 32256, i16 32256");
    assert_eq!(nan("{set.nan.f16.f16 $0,$1,$2;}"), 0x3C00);
    let equ = "{ .reg .pred __$$temp3;\n setp.equ.f16  __$$temp3, $1, $2;\n \
               selp.u16 $0, 1, 0, __$$temp3;}";
    assert_eq!(nan(equ), 1);
    assert_eq!(nan(&equ.replace("equ", "eq")), 0);
}

#[test]
fn setp_combines_and_gives_both_predicates() {
    let text = "{.reg .pred p, q, c; setp.lt.s32 c, $4, 0; setp.lt.and.f32 p|q, $2, $3, c;
        selp.u32 $0, 1, 0, p; selp.u32 $1, 1, 0, q;}";
    let run = |args: &str| fold("{ i32, i32 }", text, "=r,=r,f,f,r", args);
    assert_eq!(
        run("float 1.0, float 2.0, i32 -1"),
        "{ i32, i32 } { i32 1, i32 0 }"
    );
    assert_eq!(
        run("float 3.0, float 2.0, i32 -1"),
        "{ i32, i32 } { i32 0, i32 1 }"
    );
    assert_eq!(
        run("float 3.0, float 2.0, i32 1"),
        "{ i32, i32 } zeroinitializer"
    );
}

#[test]
fn narrowing_rounds_as_asked() {
    // 1 + 2^-11 lies between 1 and the next f16.
    let x = "float 0x3FF0020000000000";
    let cvt = |m: &str| convert("i16", &format!("cvt.{m}.f16.f32 $0, $1;"), "=h,f", x);
    assert_eq!(
        (cvt("rn"), cvt("rz"), cvt("rm"), cvt("rp")),
        (0x3C00, 0x3C00, 0x3C00, 0x3C01)
    );
    let large = "float 1.0e6";
    let cvt = |m: &str| convert("i16", &format!("cvt.{m}.f16.f32 $0, $1;"), "=h,f", large);
    assert_eq!(
        (cvt("rn"), cvt("rz"), cvt("rm"), cvt("rp")),
        (0x7C00, 0x7BFF, 0x7BFF, 0x7C00)
    );
    let tiny = "float 0xBBC0000000000000"; // -2^-67
    let cvt = |m: &str| convert("i16", &format!("cvt.{m}.f16.f32 $0, $1;"), "=h,f", tiny);
    assert_eq!(
        (cvt("rn"), cvt("rz"), cvt("rm"), cvt("rp")),
        (0x8000, 0x8000, 0x8001, 0x8000)
    );
}

#[test]
fn integers_round_once_to_bf16() {
    // 2^24 + 2^16 + 1 is above the middle of two bf16 but f32 cannot tell.
    let x = "i32 16842753";
    let cvt = |m: &str| convert("i16", &format!("cvt.{m}.bf16.s32 $0, $1;"), "=h,r", x);
    assert_eq!((cvt("rn"), cvt("rz"), cvt("rp")), (0x4B81, 0x4B80, 0x4B81));
    let cvt = |m: &str| {
        convert(
            "i16",
            &format!("cvt.{m}.bf16.s64 $0, $1;"),
            "=h,l",
            "i64 -9223372036854775807",
        )
    };
    assert_eq!((cvt("rn"), cvt("rz"), cvt("rm")), (0xDF00, 0xDEFF, 0xDF00));
    let cvt = |m: &str| convert("i32", &format!("cvt.{m}.f32.u64 $0, $1;"), "=r,l", "i64 -1");
    assert_eq!((cvt("rz"), cvt("rp")), (0x5F7F_FFFF, 0x5F80_0000));
}

#[test]
fn conversions_to_integers_saturate() {
    let cvt = |ret: &str, text: &str, x: &str| {
        let letter = if ret == "i64" { "l" } else { "r" };
        convert(ret, text, &format!("={letter},f"), &format!("float {x}"))
    };
    assert_eq!(cvt("i32", "cvt.rni.s32.f32 $0,$1;", "2.5"), 2);
    assert_eq!(cvt("i32", "cvt.rpi.s32.f32 $0,$1;", "2.5"), 3);
    assert_eq!(
        cvt("i32", "cvt.rmi.s32.f32 $0,$1;", "-2.5"),
        -3i32 as u32 as u64
    );
    assert_eq!(
        cvt("i32", "cvt.rzi.s32.f32 $0,$1;", "1.0e10"),
        i32::MAX as u64
    );
    assert_eq!(cvt("i32", "cvt.rzi.u32.f32 $0,$1;", "-3.0"), 0);
    assert_eq!(
        cvt("i32", "cvt.rzi.s8.f32 $0,$1;", "-300.0"),
        -128i32 as u32 as u64
    );
    assert_eq!(cvt("i32", "cvt.rzi.u8.f32 $0,$1;", "300.0"), 255);
    assert_eq!(
        cvt("i32", "cvt.rzi.s32.f32 $0,$1;", "0x7FF8000000000000"),
        0
    );
    assert_eq!(
        cvt("i64", "cvt.rzi.s64.f32 $0,$1;", "0x7FF8000000000000"),
        1 << 63
    );
}

#[test]
fn packs_and_unpacks_halves() {
    let text = "{.reg .f16 low,high;\n mov.b32 {low,high}, $1;\n cvt.f32.f16 $0, high;}\n";
    let ir = text_of("i32 %a", "float", text, "=f,r", "i32 %a");
    assert!(ir.contains("fpext half"), "{ir}");
    assert_eq!(
        fold("float", text, "=f,r", "i32 1082146304"),
        "float 2.250000e+00"
    );
    let pair = "{ cvt.rn.f16x2.f32 $0, $2, $1; }";
    let v = number("i32", pair, "=r,f,f", "float 1.5, float 2.25");
    assert_eq!(v, H2_25 << 16 | H1_5);
    let swap = "{.reg .b16 a,b; mov.b32 {a,b}, $1; mov.b32 $0, {b,a};}";
    assert_eq!(number("i32", swap, "=r,r", "i32 65538"), 0x0002_0001);
}

#[test]
fn the_widening_of_a_bf16_is_an_fpext() {
    let text = "{.reg.b16 hl, hu; .reg.b32 fl; mov.b32 {hl, hu}, $1; mov.b32 fl, {0,hu};
        sqrt.approx.f32 fl, fl; cvt.rn.bf16.f32 hl, fl; mov.b32 $0, {hl, hu};}";
    let ir = text_of("i32 %a", "i32", text, "=r,r", "i32 %a");
    assert!(ir.contains("fpext bfloat"), "{ir}");
    let ir = text_of("i16 %a", "i32", "mov.b32 $0, {0,$1};", "=r,h", "i16 %a");
    assert!(
        !ir.contains("bfloat"),
        "as an integer it is left alone: {ir}"
    );
    assert_eq!(
        number("i32", "mov.b32 $0, {0,$1};", "=r,h", "i16 32641"),
        0x7F81_0000
    );
}

#[test]
fn a_tied_operand_is_read_and_written() {
    let text = "{ \n .reg.b16 i,r; mov.b16 r, $0; mov.b16 i, $1; abs.f16 i, i;
        {.reg.b16 spc, ulp, p; mov.b16 spc,0X2B7CU; mov.b16 ulp,0x1000U;
         set.eq.f16.f16 p,i, spc; fma.rn.f16 r,p,ulp,r;} mov.b16 $0, r;}";
    assert_eq!(number("i16", text, "=h,h,0", "i16 1, i16 15872"), H1_5);
    let hit = number("i16", text, "=h,h,0", "i16 11132, i16 0");
    assert_eq!(hit, 0x1000);
}

#[test]
fn classifies_numbers() {
    let test = |kind: &str, x: &str| {
        let text = format!("{{.reg .pred p; testp.{kind}.f32 p,$1; selp.u32 $0,1,0,p;}}");
        number("i32", &text, "=r,f", &format!("float {x}"))
    };
    assert_eq!(test("normal", "0.0"), 1);
    assert_eq!(test("subnormal", "0x36A0000000000000"), 1);
    assert_eq!(test("infinite", "0xFFF0000000000000"), 1);
    assert_eq!(test("number", "0x7FF8000000000000"), 0);
    let text = "copysign.f32 $0,$1,$2;";
    assert_eq!(
        fold("float", text, "=f,f,f", "float -1.0, float 2.0"),
        "float -2.000000e+00"
    );
}

#[test]
fn literals_have_the_type_of_the_instruction() {
    let fma = "fma.rn.f32 $0, $1, 0f40000000, 0d3FF0000000000000;";
    assert_eq!(
        fold("float", fma, "=f,f", "float 3.0"),
        "float 7.000000e+00"
    );
    let add = "add.f64 $0, $1, 1.5;";
    assert_eq!(
        fold("double", add, "=d,d", "double 1.0"),
        "double 2.500000e+00"
    );
}

#[test]
fn numbers_of_eight_bits() {
    let to = |format: &str, x: &str, y: &str| {
        let text = format!("cvt.rn.satfinite.{format}.f32 $0,$1,$2;");
        number("i16", &text, "=h,f,f", &format!("float {x}, float {y}"))
    };
    assert_eq!(to("e4m3x2", "1.0", "-1.5"), 0x38BC);
    // The largest number, and what saturates at it.
    assert_eq!(to("e4m3x2", "4.480000e+02", "0x41CDCD6500000000"), 0x7E7E);
    // The least number; half of it is a tie, which goes to zero; three halves to two.
    assert_eq!(
        to("e4m3x2", "0x3F60000000000000", "0x3F50000000000000"),
        0x0100
    );
    assert_eq!(
        to("e4m3x2", "0x3F68000000000000", "0x7FF8000000000000"),
        0x027F
    );
    // Ties of normal numbers: 1.0625 and 1.1875.
    assert_eq!(to("e4m3x2", "1.062500e+00", "1.187500e+00"), 0x383A);
    assert_eq!(to("e5m2x2", "1.0", "5.734400e+04"), 0x3C7B);
    assert_eq!(
        to("e5m2x2", "0x3EF0000000000000", "0xFFF0000000000000"),
        0x01FB
    );
    let from = |format: &str, bits: u32| {
        let text = format!("cvt.rn.f16x2.{format} $0,$1;");
        number("i32", &text, "=r,h", &format!("i16 {}", bits as u16 as i16))
    };
    assert_eq!(from("e4m3x2", 0x38BC), 0x3C00_BE00);
    assert_eq!(from("e4m3x2", 0x7E01), 0x5F00_1800);
    assert_eq!(from("e4m3x2", 0x7F80), 0x7FFF_8000);
    assert_eq!(from("e5m2x2", 0x7C7D), 0x7C00_7FFF);
    assert_eq!(from("e5m2x2", 0x3C01), 0x3C00_0100);
}
