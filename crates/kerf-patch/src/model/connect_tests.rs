use crate::model::FixedReason;
use crate::tests::{Example, entity};

const HEAD: &str = "struct Pair { double first, second; };
void unknown(double *p);
double *origin();
double atomicAdd(double *p, double v);
void sincos(double v, double *s, double *c);
double *forward(double *p) { return p; }
";

fn example(body: &str) -> Example {
    Example::new(&format!(
        "{HEAD}void kernel(double *x, double *y, float *z, Pair *pairs, int i) {{ {body} }}"
    ))
}

#[test]
fn pointers_to_one_memory_are_one_class() {
    for (body, a, b, same) in [
        ("double *p = x; p[i] = 1;", "p", "x", true),
        ("double *p = x + i; p[0] = 1;", "p", "x", true),
        ("double *p = &x[i]; *p = 1;", "p", "x", true),
        ("double *p; p = y; *p = 1;", "p", "y", true),
        ("*(i ? x : y) = 1;", "x", "y", true),
        ("*forward(x) = 1;", "p", "x", true),
        ("double *q = forward(x); *q = 1;", "q", "x", true),
        ("double *q = (double *)x; *q = 1;", "q", "x", true),
        ("double s, c; sincos(1, &s, &c);", "s", "c", true),
        ("pairs[i].first = 1;", "first", "second", true),
        ("x[i] = y[i];", "x", "y", false),
        ("double v = x[i]; x[i] = v;", "v", "x", false),
        // Two formats of the source stay two.
        ("double *p = (double *)z; *p = 1;", "p", "z", false),
    ] {
        let example = example(body);
        let m = example.model();
        let (a_class, b_class) = (m.class(entity(&m, a)), m.class(entity(&m, b)));
        assert_eq!(a_class == b_class, same, "{a} and {b} in {body}");
    }
}

#[test]
fn memory_that_goes_where_nothing_is_followed_keeps_its_format() {
    for (body, name, want) in [
        ("x[i] = 1;", "x", None),
        (
            "unknown(x);",
            "x",
            Some(FixedReason::PassedTo("unknown".into())),
        ),
        ("unknown(x);", "y", None),
        ("atomicAdd(x, 1);", "x", None),
        (
            "double *p = origin(); *p = 1;",
            "p",
            Some(FixedReason::UnknownAddress),
        ),
        ("x = origin();", "x", Some(FixedReason::UnknownAddress)),
        ("*(long *)x = 1;", "x", Some(FixedReason::Reinterpreted)),
        ("*(float *)x = 1;", "x", Some(FixedReason::Reinterpreted)),
        ("*(double *)x = 1;", "x", None),
    ] {
        let example = example(body);
        let m = example.model();
        assert_eq!(m.things[entity(&m, name)].fixed, want, "{name} in {body}");
    }
}

#[test]
fn fields_are_memory_where_their_record_is() {
    for (text, shared) in [
        ("void kernel(R *r) { r->v = 1; }", true),
        ("void kernel(double *x) { R r; r.v = x[0]; }", false),
        ("void kernel(double *x) { R r[2]; r[1].v = x[0]; }", true),
    ] {
        let example = Example::new(&format!("struct R {{ double v; }};\n{text}"));
        let m = example.model();
        assert_eq!(m.things[entity(&m, "v")].shared, shared, "{text}");
    }
}
