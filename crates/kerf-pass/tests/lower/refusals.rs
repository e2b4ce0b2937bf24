//! What cannot be lowered, and that a refused plan changes nothing.
use super::harness::{module, plan};
use kerf_pass::{Plan, SiteFormat, SiteFormat::*};

#[track_caller]
fn refused(body: &str, site: usize, format: SiteFormat, words: &[&str]) {
    let m = module("ptr %a", body);
    let before = m.print();
    // A site that could be lowered is refused together with the one that cannot.
    let e = plan(&[(0, F32), (site, format)])
        .apply(&m)
        .expect_err("is refused")
        .to_string();
    assert_eq!(m.print(), before, "a refused plan changes nothing");
    for w in words {
        assert!(e.contains(w), "`{w}` is not in: {e}");
    }
    if format != F64 {
        assert!(
            !Plan::all_sites(&m, format).kernels["k"]
                .sites
                .contains_key(&site),
            "left out where all sites are asked for"
        );
    }
}

#[test]
fn each_names_the_site_and_the_reason() {
    let body = "
  %x = load double, ptr %a
  %h = call i32 @__nv_double2hiint(double %x)
  %r = call double @llvm.nvvm.rcp.approx.ftz.d(double %x)
  %o = atomicrmw fadd ptr %a, double %r seq_cst
  %v = load volatile double, ptr %a
  %z = call double @__nv_dadd_rz(double %o, double %v)
  %t = fptrunc double %z to half
  %q = fadd half %t, %t
  %c = sitofp i128 5 to double
  %e = call double asm \"mov.f64 $0, $1;\", \"=d,d\"(double %c)
  store half %q, ptr %a
  store i32 %h, ptr %a
  store double %e, ptr %a
  ret void";
    refused(
        body,
        1,
        F32,
        &["site 1", "double2hiint", "no version in f32"],
    );
    refused(body, 2, F32, &["site 2", "rcp.approx", "f32"]);
    refused(body, 3, F32, &["site 3", "atomic", "buffer"]);
    refused(body, 4, F32, &["site 4", "volatile"]);
    refused(body, 5, F16, &["site 5", "directed rounding", "f16"]);
    refused(body, 7, Bf16, &["site 7", "f16", "no wider"]);
    refused(body, 7, F64, &["site 7", "f16", "no wider"]);
    refused(body, 8, F16, &["site 8", "128 bits"]);
    refused(body, 9, F16, &["site 9", "inline PTX"]);
}
