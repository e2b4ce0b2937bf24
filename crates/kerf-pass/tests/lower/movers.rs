//! Vectors, lanes and warp shuffles.
use super::harness::{all, counts, module, some};
use kerf_pass::SiteFormat::*;

#[test]
fn vectors_lane_by_lane() {
    let body = "
  %v = load <2 x double>, ptr %a
  %w = load <2 x double>, ptr %b
  %f = call <2 x double> @llvm.fma.v2f64(<2 x double> %v, <2 x double> %w, <2 x double> %v)
  %s = shufflevector <2 x double> %f, <2 x double> poison, <2 x i32> <i32 1, i32 poison>
  %t = fadd <2 x double> %s, %w
  %x = extractelement <2 x double> %t, i32 0
  %y = extractelement <2 x double> %f, i32 1
  %z = fmul double %x, %y
  %i = insertelement <2 x double> %t, double %z, i32 1
  store <2 x double> %i, ptr %a
  ret void";
    let m = module("ptr %a, ptr %b", body);
    let k = all(&m, F32);
    counts(
        &k,
        &[
            ("fptrunc <2 x double>", 2),
            ("fptrunc", 2),
            ("@llvm.fma.v2f32", 1),
            ("shufflevector <2 x float>", 1),
            ("<2 x i32> <i32 1, i32 poison>", 1),
            ("fadd <2 x float>", 1),
            ("extractelement <2 x float>", 2),
            ("fmul float", 1),
            ("insertelement <2 x float>", 1),
            ("fpext <2 x float>", 1),
            ("fpext", 1),
        ],
    );
    // Only the scalar: its lanes are converted alone.
    let m = module("ptr %a, ptr %b", body);
    let k = some(&m, &[(4, F16)]);
    counts(
        &k,
        &[
            ("fptrunc double %x to half", 1),
            ("fptrunc double %y to half", 1),
            ("fpext half", 1),
            ("<2 x half>", 0),
        ],
    );
}

const SHUFFLE: &str = "
  %x = load double, ptr %a
  %s = fmul double %x, %x
  %bits = bitcast double %s to i64
  %lo = trunc i64 %bits to i32
  %up = lshr i64 %bits, 32
  %hi = trunc i64 %up to i32
  %lo1 = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %lo, i32 %d, i32 31)
  %hi1 = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %hi, i32 %d, i32 31)
  %hi2 = zext i32 %hi1 to i64
  %hi3 = shl i64 %hi2, 32
  %lo2 = zext i32 %lo1 to i64
  %bits1 = or disjoint i64 %hi3, %lo2
  %o = bitcast i64 %bits1 to double
  %r = fadd double %s, %o
  store double %r, ptr %a
  ret void";

#[test]
fn a_double_goes_to_another_lane_in_one_shuffle() {
    let m = module("ptr %a, i32 %d", SHUFFLE);
    let k = all(&m, F32);
    counts(
        &k,
        &[
            ("call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %", 1),
            ("bitcast float", 1),
            ("i64", 0),
            ("fptrunc", 1),
            ("fpext", 1),
        ],
    );
    let m = module("ptr %a, i32 %d", SHUFFLE);
    let k = all(&m, F16);
    counts(&k, &[("@llvm.nvvm.shfl", 1), ("zext i16", 1), ("i64", 0)]);
    // Only the sum in f32: what comes from the other lane is rounded before it travels.
    let m = module("ptr %a, i32 %d", SHUFFLE);
    let k = some(&m, &[(2, F32)]);
    counts(&k, &[("@llvm.nvvm.shfl", 1), ("fptrunc double", 1)]);
    // Only the product: it travels in f32, and is widened after that.
    let m = module("ptr %a, i32 %d", SHUFFLE);
    let k = some(&m, &[(1, F32)]);
    counts(&k, &[("@llvm.nvvm.shfl", 1), ("fpext float", 2)]);
}

#[test]
fn a_half_goes_to_another_lane_as_its_bits() {
    let body = "
  %x = load float, ptr %a
  %s = fmul float %x, %x
  %o = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %s, i32 16, i32 31)
  %r = fadd float %s, %o
  store float %r, ptr %a
  ret void";
    for (format, name) in [(F16, "half"), (Bf16, "bfloat")] {
        let m = module("ptr %a", body);
        let k = all(&m, format);
        counts(
            &k,
            &[
                ("call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %", 1),
                (&format!("bitcast {name}"), 1),
                (&format!("to {name}"), 2),
                ("fptrunc", 1),
                ("fpext", 1),
            ],
        );
    }
}

#[test]
fn halves_that_do_not_belong_together_stay() {
    let other = SHUFFLE.replace("i32 %hi, i32 %d, i32 31", "i32 %hi, i32 1, i32 31");
    let m = module("ptr %a, i32 %d", &other);
    let k = all(&m, F32);
    counts(
        &k,
        &[
            ("@llvm.nvvm.shfl", 2),
            ("fadd float", 1),
            ("or disjoint i64", 1),
        ],
    );
}
