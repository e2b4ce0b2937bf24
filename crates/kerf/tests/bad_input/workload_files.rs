//! Workload files that are absent, not TOML, or wrong in themselves.
use super::harness::{Folder, call, kerf, original, run};
use std::ffi::OsStr;
use std::process::Command;

#[test]
fn the_good_one_is_good() {
    // Otherwise every case below would be refused for another reason.
    let f = Folder::new();
    run(&f.path("good.toml"), &[]).succeeds();
}

#[test]
fn absent() {
    let f = Folder::new();
    run(&f.path("gone.toml"), &[]).refuses(&["gone.toml", "No such file", "check the path"]);
}

#[test]
fn a_folder() {
    let f = Folder::new();
    run(&f.path(""), &[]).refuses(&["directory", "expected a workload file"]);
}

#[test]
fn a_source() {
    let f = Folder::new();
    run(&f.path("kernels.cu"), &[]).refuses(&[
        "kernels.cu",
        "a source, not a workload",
        ".toml",
        "kerf inspect",
    ]);
}

#[test]
fn not_utf8() {
    let f = Folder::new();
    let w = f.file("w.toml", b"source = \"kernels.cu\"\n# \xff\xfe\n");
    run(&w, &[]).refuses(&["w.toml", "not UTF-8 in line 2"]);
}

#[test]
fn a_name_that_is_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let f = Folder::new();
    let name = f.path(OsStr::from_bytes(b"\xff.toml"));
    std::fs::copy(f.path("good.toml"), &name).expect("a copy");
    run(&name, &["--format", "json"]).refuses(&["not UTF-8", "rename"]);
}

#[test]
fn empty() {
    let f = Folder::new();
    run(&f.file("w.toml", ""), &[]).refuses(&[
        "w.toml:1:1",
        "without `source`",
        "without `launch`",
    ]);
}

#[test]
fn syntax() {
    let f = Folder::new();
    let w = f.file("w.toml", "source = \"kernels.cu\n[sizes\nn = = 3\n");
    run(&w, &[]).refuses(&[
        "w.toml:1:21",
        "w.toml:2:7",
        "expected `]`",
        "w.toml:3:5",
        "extra `=`",
    ]);
}

#[test]
fn many_mistakes_are_all_told() {
    let said = run(&original("many.toml"), &[]);
    said.refuses(&[
        "many.toml:1:1: unknown key `sorce`",
        "did you mean `source`?",
        "many.toml:2:8: `seed` is -1",
        "many.toml:5:6: unknown name `m`",
        "many.toml:9:8: unknown type `f65`",
        "many.toml:10:7: `len` is 0",
        "many.toml:13:8: buffer `x` has the name of a buffer",
        "many.toml:15:7: `len` is 2.5",
        "many.toml:16:10: unknown init `unifrom`",
        "many.toml:18:1: a step without `block`",
        "many.toml:20:9: grid.x is 0",
        "many.toml:21:9: unknown name `y`",
        "many.toml:24:10: unknown metric `max_rell`",
    ]);
    let places: Vec<usize> = said.err.lines().map(line_of).collect();
    assert!(places.is_sorted(), "in the order of the file\n{}", said.err);
}

/// The line that a message is about.
fn line_of(message: &str) -> usize {
    let after = message
        .split("many.toml:")
        .nth(1)
        .unwrap_or_else(|| panic!("no place in {message}"));
    after
        .split(':')
        .next()
        .and_then(|l| l.parse().ok())
        .unwrap_or_else(|| panic!("no line in {message}"))
}

/// A change to the good workload, and what is said about it.
type Spoilt = ((&'static str, &'static str), &'static [&'static str]);

const SPOILT: &[Spoilt] = &[
    (
        ("n = 64", "n = \"9223372036854775807 + 1\""),
        &["spoilt.toml:4:5", "9223372036854775808", "64-bit integer"],
    ),
    (
        (
            "n = 64",
            "n = \"170141183460469231731687303715884105727 * 2\"",
        ),
        &["spoilt.toml:4:", "integer overflow"],
    ),
    (
        ("n = 64", "n = 99999999999999999999999"),
        &["spoilt.toml:4:5", "overflow", "64-bit integer"],
    ),
    (("n = 64", "n = \"1 / 0\""), &["spoilt.toml:4:", "zero"]),
    (
        ("n = 64", "n = 0"),
        &["spoilt.toml:9:7", "`len` is 0", "at least 1"],
    ),
    (("n = 64", "n = -5"), &["spoilt.toml:9:7", "`len` is -5"]),
    (
        ("len = \"n\"", "len = 1000000000000"),
        &["spoilt.toml:9:7", "8000000000000 bytes", "at most"],
    ),
    (
        ("len = \"n\"", "len = \"n * 9223372036854775807\""),
        &["spoilt.toml:9:7", "64-bit"],
    ),
    (
        ("grid = [\"ceil_div(n, bx)\"]", "grid = [3000000000]"),
        &["spoilt.toml:15:9", "grid.x is 3000000000", "2147483647"],
    ),
    (
        ("grid = [\"ceil_div(n, bx)\"]", "grid = [1, 70000]"),
        &["spoilt.toml:15:12", "grid.y is 70000", "65535"],
    ),
    (
        ("grid = [\"ceil_div(n, bx)\"]", "grid = [0]"),
        &["spoilt.toml:15:9", "grid.x is 0"],
    ),
    (
        ("grid = [\"ceil_div(n, bx)\"]", "grid = [1, 1, 1, 1]"),
        &["spoilt.toml:15:8", "4 expressions", "1 to 3"],
    ),
    (
        ("block = [\"bx\"]", "block = [2048]"),
        &["spoilt.toml:16:10", "block.x is 2048", "1024"],
    ),
    (
        ("block = [\"bx\"]", "block = [64, 64]"),
        &["spoilt.toml:16:9", "4096 threads", "at most 1024"],
    ),
    (
        ("block = [\"bx\"]", "block = [\"bx * 64\"]"),
        &["spoilt.toml:", "block.x", "1024"],
    ),
    (
        ("\"kernels.cu\"", "\"gone.cu\""),
        &[
            "spoilt.toml:1:10",
            "`gone.cu` does not exist",
            "relative to the workload file",
        ],
    ),
    (
        ("\"kernels.cu\"", "\"good.toml\""),
        &[
            "spoilt.toml:1:10",
            "no known kind",
            ".cu, .cl, .ptx, .ll or .bc",
        ],
    ),
];

#[test]
fn spoilt_values() {
    let f = Folder::new();
    for (change, words) in SPOILT {
        run(&f.workload(&[*change]), &[]).refuses(words);
    }
}

#[test]
fn source_is_a_folder() {
    let f = Folder::new();
    std::fs::create_dir(f.path("folder.cu")).expect("a folder");
    let w = f.workload(&[("kernels.cu", "folder.cu")]);
    run(&w, &[]).refuses(&["spoilt.toml:1:10", "`folder.cu` is not a file"]);
}

#[test]
fn more_than_the_memory() {
    // A shell limits the address space, so that the case is the same on every machine.
    let f = Folder::new();
    let w = f.workload(&[("len = \"n\"", "len = 10000000000")]);
    let mut c = Command::new("sh");
    c.args(["-c", "ulimit -v 16000000 && exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_kerf"));
    c.arg("run").arg(&w);
    for (k, v) in kerf([""; 0]).get_envs() {
        if let Some(v) = v {
            c.env(k, v);
        }
    }
    call(c).refuses(&["spoilt.toml needs ", " of memory (", " are free", "--size"]);
}

#[test]
fn names_that_are_not_there() {
    let f = Folder::new();
    let w = f.path("good.toml");
    run(&w, &["--size", "nn=3"]).refuses(&[
        "good.toml",
        "`nn`",
        "`n`",
        "`bx`",
        "did you mean `n`?",
    ]);
    run(&w, &["--size", "n=-3"]).refuses(&["good.toml:9:7", "`len` is -3"]);
    run(&w, &["--size", "bx=4096"]).refuses(&["block.x", "1024"]);
}
