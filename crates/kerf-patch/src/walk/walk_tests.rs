use crate::tests::{Example, Planned, entity, kept, narrowed};
use crate::walk::{ExpressionWalk, Ty, Want};
use kerf_num::Format;
use kerf_pass::MathVariant;
use std::collections::BTreeMap;

const HEAD: &str = "double exp(double), erfc(double), sqrt(double), fmax(double, double);
namespace std { double exp(double); }
#define HALF 0.5
#define PRODUCT(v, w) ((v) * (w))
";

/// What becomes of a statement with the plan's operations, and what source does not say of them.
#[track_caller]
fn check(statement: &str, planned: &[Planned], want: &str, unsaid: &[&str]) {
    let head =
        format!("{HEAD}void kernel(const double *x, double *out, double a, double b, int i) {{ ");
    let example = Example::new(&format!("{head}{statement} }}"));
    let (text, said) = example.patched(&example.solve(planned, &[], false));
    assert_eq!(text, format!("{head}{want} }}"), "{statement}");
    let said: Vec<&str> = said
        .iter()
        .filter_map(|s| Some(s.split_once(": ")?.1))
        .collect();
    assert_eq!(said, unsaid, "{statement}");
}

fn by(at: &'static str, op: &'static str, to: Format, variant: MathVariant) -> Planned {
    Planned {
        at,
        op,
        to,
        variant: Some(variant),
    }
}

#[test]
fn operands_are_cast_and_literals_get_suffixes() {
    for (statement, planned, want) in [
        (
            "out[i] = a * 2.0;",
            narrowed("* 2", "fmul"),
            "out[i] = (float)a * 2.0f;",
        ),
        (
            "out[i] = 1 + a;",
            narrowed("+ a", "fadd"),
            "out[i] = 1 + (float)a;",
        ),
        (
            "out[i] = a * (b);",
            narrowed("* (b", "fmul"),
            "out[i] = (float)a * (float)(b);",
        ),
        (
            "out[i] = -a - HALF;",
            narrowed("- H", "fsub"),
            "out[i] = (float)-a - (float)HALF;",
        ),
        (
            "out[i] = a < 1.5;",
            narrowed("< 1", "fcmp"),
            "out[i] = (float)a < 1.5f;",
        ),
        (
            "out[i] = a * 2.0;",
            kept("* 2", "fmul"),
            "out[i] = a * 2.0;",
        ),
    ] {
        check(statement, &[planned], want, &[]);
    }
}

#[test]
fn an_f64_operation_on_f32_values_is_cast_back() {
    check(
        "double v = a * 2.0; out[i] = v + v;",
        &[narrowed("* 2", "fmul"), kept("+ v", "fadd")],
        "float v = (float)a * 2.0f; out[i] = (double)v + v;",
        &[],
    );
}

#[test]
fn math_functions_are_called_by_their_names_in_a_format() {
    let approx = MathVariant::Approx;
    for (statement, planned, want) in [
        (
            "out[i] = exp(a);",
            narrowed("exp(a", "exp"),
            "out[i] = expf((float)a);",
        ),
        ("out[i] = exp(a);", kept("exp(a", "exp"), "out[i] = exp(a);"),
        (
            "out[i] = exp(a);",
            by("exp(a", "exp", Format::F32, approx),
            "out[i] = __expf((float)a);",
        ),
        // Overloads of `std` have one name.
        (
            "out[i] = std::exp(a);",
            narrowed("std::exp(a", "exp"),
            "out[i] = std::exp((float)a);",
        ),
        (
            "out[i] = sqrt(a);",
            by("sqrt(a", "sqrt", Format::F64, MathVariant::Newton1),
            "out[i] = kerf_sqrt_newton1(a);",
        ),
    ] {
        check(statement, &[planned], want, &[]);
    }
    check(
        "out[i] = erfc(a);",
        &[by("erfc(a", "erfc", Format::F32, approx)],
        "out[i] = erfcf((float)a);",
        &["no function computes erfc by approx in f32"],
    );
}

#[test]
fn divisions_are_written_by_their_variant() {
    for (statement, planned, want) in [
        (
            "out[i] = a / b;",
            by("/ b", "fdiv", Format::F32, MathVariant::Approx),
            "out[i] = __fdividef((float)a, (float)b);",
        ),
        (
            "out[i] = a / b;",
            by("/ b", "fdiv", Format::F64, MathVariant::Newton2),
            "out[i] = kerf_div_newton2(a, b);",
        ),
        (
            "out[i] = a / b;",
            by("/ b", "fdiv", Format::F64, MathVariant::Reciprocal),
            "out[i] = a * (1.0 / b);",
        ),
        (
            "a /= b;",
            by("/= b", "fdiv", Format::F64, MathVariant::Newton0),
            "a = kerf_div_newton0(a, b);",
        ),
    ] {
        check(statement, &[planned], want, &[]);
    }
    check(
        "out[i] /= b;",
        &[by("/= b", "fdiv", Format::F64, MathVariant::Newton0)],
        "out[i] /= b;",
        &["this division is not by newton0 in source"],
    );
    check(
        "out[i] = a / b;",
        &[
            kept("/ b", "fdiv"),
            by("/ b", "fdiv", Format::F64, MathVariant::Newton0),
        ],
        "out[i] = a / b;",
        &["it is computed in several ways in the plan"],
    );
}

#[test]
fn what_a_macro_computes_is_told() {
    check(
        "out[i] = PRODUCT(a, b);",
        &[narrowed("PRODUCT(a", "fmul")],
        "out[i] = PRODUCT(a, b);",
        &["an operand stays f64", "it is in the body of a macro"],
    );
}

#[test]
fn an_update_of_what_stays_f64_is_told() {
    check(
        "a += b;",
        &[narrowed("+= b", "fadd")],
        "a += b;",
        &["what it adds to stays f64"],
    );
}

#[test]
fn definitions_and_uses_are_collected_by_class() {
    let example = Example::new(
        "double f(double p) { return p * 0.5; }
void kernel(const double *x, double *out, int i) { double v = f(x[i]); v = 3.0; out[i] = v + 1.0; }",
    );
    let model = example.model();
    let marks = example.marks(&[kept("* 0.5", "fmul"), narrowed("+ 1.0", "fadd")]);
    let formats = BTreeMap::new();
    let mut walk = ExpressionWalk::new(&model, &marks, &formats, false, false);
    walk.run();
    let class = |name: &str| model.class(entity(&model, name));
    // What `f` returns is f64, a literal has any format.
    assert_eq!(walk.defs[&class("v")], [Ty::F64, Ty::Flex]);
    assert_eq!(walk.defs[&class("f")], [Ty::F64]);
    assert_eq!(walk.defs[&class("p")], [Ty::F64]);
    assert_eq!(walk.uses[&class("p")], [Want::F64]);
    assert_eq!(walk.uses[&class("v")], [Want::F32]);
    assert!(walk.edits.is_none() && walk.unsaid.is_empty());
}
