//! Operations, comparisons and conversions in one block.
use super::harness::{all, counts, kernel, module, some};
use kerf_llvm::Module;
use kerf_pass::{Plan, SiteFormat::*};

const SUMS: &str = "
  %x = load double, ptr %a
  %y = load double, ptr %b
  %s = fadd double %x, %y
  %d = fsub double %s, 0.1
  %p = fmul double %d, %s
  %q = fdiv double %p, %x
  %n = fneg double %q
  store double %n, ptr %a
  ret void";

#[test]
fn all_sites_in_f32() {
    let m = module("ptr %a, ptr %b", SUMS);
    let k = all(&m, F32);
    // The constant is rounded where it stands: 0x3FB99999A0000000 is the f32 nearest to 0.1.
    counts(
        &k,
        &[
            ("load double", 2),
            ("fptrunc double", 2),
            ("fadd float", 1),
            ("fsub float %", 1),
            ("0x3FB99999A0000000", 1),
            ("fmul float", 1),
            ("fdiv float", 1),
            ("fneg float", 1),
            ("fpext float", 1),
            ("store double", 1),
        ],
    );
}

#[test]
fn small_formats_by_their_own_instructions() {
    for (f, t) in [(F16, "half"), (Bf16, "bfloat")] {
        let m = module("ptr %a, ptr %b", SUMS);
        let k = all(&m, f);
        counts(
            &k,
            &[
                (&format!("fadd {t}"), 1),
                (&format!("fdiv {t}"), 1),
                (&format!("fptrunc double %x to {t}"), 1),
                (&format!("fpext {t}"), 1),
                (
                    "float",
                    if t == "bfloat" {
                        k.matches("bfloat").count()
                    } else {
                        0
                    },
                ),
            ],
        );
    }
}

#[test]
fn one_site_alone() {
    // Only the product: its operands are rounded for it, and its result goes back.
    let m = module("ptr %a, ptr %b", SUMS);
    let k = some(&m, &[(4, F32)]);
    counts(
        &k,
        &[
            ("fadd double %x, %y", 1),
            ("fsub double %s", 1),
            ("fptrunc double %d to float", 1),
            ("fptrunc double %s to float", 1),
            ("fmul float", 1),
            ("fpext float", 1),
            ("fdiv double", 1),
        ],
    );
}

#[test]
fn a_value_is_converted_once_for_each_format() {
    let body = "
  %x = load double, ptr %a
  %p = fmul double %x, %x
  %q = fadd double %x, %p
  %r = fmul double %x, %q
  %s = fmul double %x, 3.0
  store double %p, ptr %a
  store double %r, ptr %a
  store double %r, ptr %b
  store double %s, ptr %b
  ret void";
    let m = module("ptr %a, ptr %b", body);
    let k = some(&m, &[(1, F32), (2, F32), (3, F16), (4, F16)]);
    counts(
        &k,
        &[
            ("fptrunc double %x to float", 1),
            ("fptrunc double %x to half", 1),
            // q goes to f16 for r, r and s to f64 for the stores, p to f64 for its store.
            ("fptrunc float", 1),
            ("fpext half", 2),
            ("fpext float", 1),
        ],
    );
}

#[test]
fn nothing_lowered_nothing_changed() {
    let m = module("ptr %a, ptr %b", SUMS);
    let before = m.print();
    Plan::default().apply(&m).expect("applies");
    let own: Vec<_> = (0..8).map(|k| (k, F64)).collect();
    some(&m, &own);
    assert_eq!(m.print(), before);
}

#[test]
fn conversions_of_the_source_fold() {
    let body = "
  %x = load float, ptr %a
  %w = fpext float %x to double
  %s = fadd double %w, 1.0
  %t = fptrunc double %s to float
  store float %t, ptr %a
  ret void";
    // Whether the plan names the widening or not, nothing is converted.
    for sites in [vec![(1, F32), (2, F32)], vec![(2, F32)]] {
        let m = module("ptr %a", body);
        let k = some(&m, &sites);
        counts(&k, &[("fptrunc", 0), ("fadd float %x", 1), ("fpext", 0)]);
    }
    // From f16 to the f32 that is stored without a way through f64.
    let m = module("ptr %a", body);
    let k = some(&m, &[(2, F16)]);
    counts(
        &k,
        &[
            ("fptrunc float %x to half", 1),
            ("fadd half", 1),
            ("fpext half %2 to float", 1),
            ("fpext half", 1),
        ],
    );
}

#[test]
fn loads_and_stores_keep_their_bytes() {
    let body = "
  %x = load double, ptr %a, align 8
  %y = fadd double %x, 1.0
  store double %x, ptr %b, align 8
  store double %y, ptr %b, align 8
  ret void";
    let m = module("ptr %a, ptr %b", body);
    let k = some(&m, &[(0, F32)]);
    // All users see the rounded value, the store in f64.
    counts(
        &k,
        &[
            ("load double", 1),
            ("fptrunc double %x to float", 1),
            ("fpext float", 1),
            ("fadd double %2, 1.0", 1),
            ("store double %2", 1),
        ],
    );
    let m = module("ptr %a, ptr %b", body);
    let k = some(&m, &[(2, F32), (3, F32)]);
    counts(
        &k,
        &[
            ("fadd double %x, 1.0", 1),
            ("fptrunc double %x", 1),
            ("fptrunc double %y", 1),
            ("fpext float", 2),
        ],
    );
}

#[test]
fn comparisons_selections_and_integers() {
    let body = "
  %x = load double, ptr %a
  %c = fcmp ogt double %x, 1.0
  %s = select i1 %c, double %x, double 0.5
  %n = sitofp i32 %i to double
  %u = uitofp i64 %j to double
  %t = fadd double %s, %n
  %v = fadd double %t, %u
  %k = fptosi double %v to i32
  store i32 %k, ptr %a
  ret void";
    let m = module("ptr %a, i32 %i, i64 %j", body);
    let k = all(&m, F32);
    counts(
        &k,
        &[
            ("fcmp ogt float", 1),
            ("select i1 %2, float", 1),
            ("sitofp i32 %i to float", 1),
            ("uitofp i64 %j to float", 1),
            ("fptosi float", 1),
            ("double", 2),
        ],
    );
    // bf16 would be rounded twice by way of f32: what does not fit there is rounded to odd before.
    let m = module("ptr %a, i32 %i, i64 %j", body);
    let k = all(&m, Bf16);
    counts(
        &k,
        &[
            ("sitofp i32 %", 1),
            ("i32 256,", 1),
            ("uitofp i64 %", 1),
            ("i64 2048,", 1),
            ("fcmp ogt bfloat", 1),
            ("fptosi float", 1),
        ],
    );
}

#[test]
fn formats_between_f16_and_bf16() {
    let body = "
  %x = load float, ptr %a
  %p = fmul float %x, %x
  %q = fadd float %p, %p
  store float %q, ptr %a
  ret void";
    let m = module("ptr %a", body);
    let k = some(&m, &[(1, F16), (2, Bf16)]);
    // Through f32, which holds both.
    counts(
        &k,
        &[
            ("fmul half", 1),
            ("fpext half", 1),
            ("fptrunc float", 2),
            ("fadd bfloat", 1),
            ("fpext bfloat", 1),
        ],
    );
}

#[test]
fn mixed_with_double_words() {
    let body = "
  %x = load double, ptr %a
  %p = fmul double %x, %x
  %q = fadd double %p, %x
  %r = fmul double %q, %q
  store double %r, ptr %a
  ret void";
    let m = module("ptr %a", body);
    let k = some(&m, &[(1, F32), (2, Dw32), (3, F32)]);
    // The product is a word, the pair is rounded to one.
    counts(
        &k,
        &[
            ("fmul float", 2),
            ("@kerf_dw32_from_f64(double %x)", 1),
            ("@kerf_dw32_add_fp(", 1),
            ("extractelement <2 x float>", 1),
        ],
    );
}

#[test]
fn arguments_are_converted_at_the_beginning() {
    let m = module(
        "ptr %a, double %f",
        "
  %x = load double, ptr %a
  %p = fmul double %x, %f
  store double %p, ptr %a
  ret void",
    );
    let k = all(&m, F32);
    assert!(k.find("fptrunc double %f") < k.find("load double"), "{k}");
}

#[test]
fn constants_of_every_kind() {
    let body = "
  %x = load <2 x double>, ptr %a
  %p = fmul <2 x double> %x, <double 0.1, double 2.0>
  %q = fadd <2 x double> %p, zeroinitializer
  %r = fadd <2 x double> %q, <double undef, double 3.0>
  store <2 x double> %r, ptr %a
  ret void";
    let m: Module = module("ptr %a", body);
    all(&m, F32);
    let k = kernel(&m);
    counts(
        &k,
        &[
            ("fptrunc <2 x double> %x to <2 x float>", 1),
            ("<float 0x3FB99999A0000000, float 2.000000e+00>", 1),
            ("zeroinitializer", 1),
            ("fpext <2 x float>", 1),
        ],
    );
}
