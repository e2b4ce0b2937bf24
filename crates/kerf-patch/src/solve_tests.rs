use crate::tests::{Example, Planned, kept, narrowed};
use kerf_num::Format;

/// What becomes of the kernel `{ body }` with parameters `x` and `out`.
#[track_caller]
fn check(body: &str, planned: &[Planned], held: &[(&str, Format)], want: &str) {
    let (head, tail) = (
        "void kernel(const double *x, double *out, double s, int i)\n{\n    ",
        "\n}\n",
    );
    let example = Example::new(&format!("{head}{body}{tail}"));
    let (text, unsaid) = example.patched(&example.solve(planned, held, false));
    assert_eq!(text, format!("{head}{want}{tail}"));
    assert_eq!(unsaid, Vec::<String>::new());
}

#[test]
fn a_variable_is_as_narrow_as_what_is_assigned_to_it() {
    let body = "double a = x[i] * 2.0;\n    out[i] = a;";
    check(
        body,
        &[narrowed("* 2.0", "fmul")],
        &[],
        "float a = (float)x[i] * 2.0f;\n    out[i] = a;",
    );
    check(body, &[kept("* 2.0", "fmul")], &[], body);
    // One assignment in f64 is enough to keep it.
    let twice = "double a = x[i] * 2.0;\n    a = x[i] + 3.0;\n    out[i] = a;";
    check(
        twice,
        &[narrowed("* 2.0", "fmul"), kept("+ 3.0", "fadd")],
        &[],
        "double a = (float)x[i] * 2.0f;\n    a = x[i] + 3.0;\n    out[i] = a;",
    );
}

#[test]
fn a_variable_that_is_only_used_in_f32_is_rounded_once() {
    let body = "double a = x[i];\n    out[i] = a * a;";
    check(
        body,
        &[narrowed("* a", "fmul")],
        &[],
        "float a = x[i];\n    out[i] = a * a;",
    );
    // A use in f64 needs all its bits.
    let two = "double a = x[i];\n    out[i] = a * a;\n    out[0] = a + 1.0;";
    check(
        two,
        &[narrowed("* a", "fmul"), kept("+ 1.0", "fadd")],
        &[],
        "double a = x[i];\n    out[i] = (float)a * (float)a;\n    out[0] = a + 1.0;",
    );
}

#[test]
fn variables_in_a_cycle_are_narrow_together() {
    let body = "double a = 1.0, b = 2.0;\n    for (;;) {\n        a = b * 0.5;\n        b = a + 3.0;\n    }";
    check(
        body,
        &[narrowed("* 0.5", "fmul"), narrowed("+ 3.0", "fadd")],
        &[],
        "float a = 1.0f, b = 2.0f;\n    for (;;) {\n        a = b * 0.5f;\n        b = a + 3.0f;\n    }",
    );
}

#[test]
fn scalars_of_a_kernel_stay_as_its_callers_pass_them() {
    check(
        "out[i] = s * 2.0;",
        &[narrowed("* 2.0", "fmul")],
        &[],
        "out[i] = (float)s * 2.0f;",
    );
}

#[test]
fn names_of_one_declaration_are_taken_apart() {
    check(
        "double a = x[i] * 2.0, b = x[i], c = b;\n    out[i] = a + c;",
        &[narrowed("* 2.0", "fmul"), kept("+ c", "fadd")],
        &[],
        "float a = (float)x[i] * 2.0f;\n    double b = x[i], c = b;\n    out[i] = a + c;",
    );
}

/// The kernel with its parameters in some formats, under the identity plan.
#[track_caller]
fn check_held(held: &[(&str, Format)], cl: bool, want: &str) {
    let example =
        Example::new("void kernel(const double *x, double *out, int i) { out[i] = x[i]; }");
    let (text, _) = example.patched(&example.solve(&[], held, cl));
    assert_eq!(text, want);
}

#[test]
fn memory_is_as_the_plan_holds_it() {
    check_held(
        &[("x", Format::F32)],
        false,
        "void kernel(const float *x, double *out, int i) { out[i] = x[i]; }",
    );
    check_held(
        &[("x", Format::F16), ("out", Format::Bf16)],
        false,
        "void kernel(const __half *x, __nv_bfloat16 *out, int i) { out[i] = __float2bfloat16(__half2float(x[i])); }",
    );
    // OpenCL C loads halves by functions only.
    check_held(
        &[("x", Format::F16)],
        true,
        "void kernel(const float *x, double *out, int i) { out[i] = x[i]; }",
    );
    check_held(
        &[("out", Format::F64)],
        false,
        "void kernel(const double *x, double *out, int i) { out[i] = x[i]; }",
    );
}

#[test]
fn memory_wanted_in_two_formats_has_the_wider_one() {
    check_held(
        &[("x", Format::F16), ("x", Format::F32)],
        false,
        "void kernel(const float *x, double *out, int i) { out[i] = x[i]; }",
    );
}
