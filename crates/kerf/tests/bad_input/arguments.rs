//! Launches that do not suit the kernels of the source.
use super::harness::{Folder, run};

/// The arguments of the launch as they are.
const ARGS: &str = "args = [\"x\", 2.0, \"n\"]";
/// Where the launch is.
const AT: &str = "spoilt.toml:13:1";

/// Launches `scale` with other arguments.
#[track_caller]
fn scale(args: &str, words: &[&str]) {
    let f = Folder::new();
    let said = run(&f.workload(&[(ARGS, &format!("args = {args}"))]), &[]);
    said.refuses(words);
}

/// Launches `shift` with another struct.
#[track_caller]
fn shift(pair: &str, words: &[&str]) {
    let f = Folder::new();
    let said = run(
        &f.workload(&[
            ("\"scale\"", "\"shift\""),
            (ARGS, &format!("args = [\"x\", {pair}]")),
        ]),
        &[],
    );
    said.refuses(words);
}

#[test]
fn unknown_kernel() {
    let f = Folder::new();
    let said = run(&f.workload(&[("\"scale\"", "\"scael\"")]), &[]);
    said.refuses(&[
        AT,
        "no kernel `scael`",
        "one of scale, shift",
        "did you mean `scale`?",
    ]);
}

#[test]
fn count() {
    let signature = "(double* x, double factor, int n)";
    scale(
        "[\"x\", 2.0]",
        &[AT, "2 arguments", "expected 3", signature],
    );
    scale(
        "[\"x\", 2.0, \"n\", 1]",
        &[AT, "4 arguments", "expected 3", signature],
    );
    scale("[]", &[AT, "0 arguments", signature]);
}

#[test]
fn unknown_name() {
    scale(
        "[\"y\", 2.0, \"n\"]",
        &[
            "spoilt.toml:17:9",
            "unknown name `y`",
            "a buffer or an expression",
        ],
    );
}

#[test]
fn other_element() {
    let f = Folder::new();
    let said = run(&f.workload(&[("\"f64\"", "\"f32\"")]), &[]);
    said.refuses(&[AT, "`x` has type f32", "double*", "[f64]"]);
}

#[test]
fn number_for_a_pointer() {
    scale(
        "[1.5, 2.0, \"n\"]",
        &[AT, "`x` is a pointer (double*)", "name of a buffer"],
    );
}

#[test]
fn buffer_for_a_number() {
    scale(
        "[\"x\", \"x\", \"n\"]",
        &[AT, "a buffer is passed for `factor`", "f64"],
    );
}

#[test]
fn unfit_numbers() {
    scale(
        "[\"x\", 2.0, 2.5]",
        &[AT, "`n`: 2.5 is not an integer", "i32"],
    );
    scale(
        "[\"x\", 2.0, 5000000000]",
        &[AT, "`n`: 5000000000 does not fit i32", "2147483647"],
    );
    scale(
        "[\"x\", { f32 = 1 }, \"n\"]",
        &[AT, "`factor` is given as f32", "f64"],
    );
}

#[test]
fn struct_fields() {
    shift(
        "{ struct = [1.0] }",
        &[AT, "`p` is given 1 values", "with 2 values", "Pair"],
    );
    shift(
        "{ struct = [1.0, 2, 3] }",
        &[AT, "`p` is given 3 values", "with 2 values"],
    );
    shift(
        "{ struct = [1.0, 2.5] }",
        &[AT, "`p`: 2.5 is not an integer"],
    );
    shift("3", &[AT, "{ struct = [...] }"]);
}

#[test]
fn every_misfit_is_told() {
    scale(
        "[1.5, \"x\", 2.5]",
        &["`x` is a pointer", "passed for `factor`", "`n`: 2.5"],
    );
}

#[test]
fn offset_beyond_the_end() {
    scale(
        "[{ buffer = \"x\", offset = 65 }, 2.0, \"n\"]",
        &["spoilt.toml:17:", "65", "64"],
    );
}

/// Binds a variable of the source to a buffer of `len` numbers.
#[track_caller]
fn symbol(name: &str, len: usize, words: &[&str]) {
    let f = Folder::new();
    let buffer = format!(
        "output = true\n\n[[buffer]]\nname = \"t\"\ntype = \"f64\"\nlen = {len}\nsymbol = \"{name}\""
    );
    run(&f.workload(&[("output = true", &buffer)]), &[]).refuses(words);
}

#[test]
fn variables() {
    symbol(
        "tabel",
        4,
        &[
            "spoilt.toml:13:1",
            "variable `tabel`",
            "one of table",
            "did you mean `table`?",
        ],
    );
    symbol(
        "table",
        5,
        &[
            "spoilt.toml:13:1",
            "`t` is larger than the variable `table`",
            "at most 32 bytes",
        ],
    );
}
