//! Places that cannot be written, and what is left there after a failure: nothing.
use super::harness::{Folder, Said, call, kerf, run};
use std::path::Path;

fn bundle(workloads: &[&Path], out: &Path) -> Said {
    let mut c = kerf(["bundle"]);
    c.args(workloads).arg("--out").arg(out);
    call(c)
}

fn selftest(option: &str, path: &Path) -> Said {
    let mut c = kerf(["selftest", "--count", "1", option]);
    c.arg(path);
    call(c)
}

fn text(p: &Path) -> &str {
    p.to_str().expect("UTF-8")
}

#[test]
fn save_under_a_file() {
    let f = Folder::new();
    let (before, content) = (
        f.names(),
        std::fs::read(f.path("good.toml")).expect("a file"),
    );
    for name in ["good.toml", "good.toml/deep/er"] {
        let said = run(&f.path("good.toml"), &["--save", text(&f.path(name))]);
        said.refuses(&["cannot save", name, "not a folder", "--save"]);
    }
    assert_eq!(f.names(), before);
    assert_eq!(std::fs::read(f.path("good.toml")).expect("a file"), content);
}

#[test]
fn save_where_a_folder_has_the_name() {
    let f = Folder::new();
    std::fs::create_dir_all(f.path("out/x.npy")).expect("a folder");
    run(&f.path("good.toml"), &["--save", text(&f.path("out"))])
        .refuses(&["cannot save x", "--save"]);
    let left: Vec<_> = std::fs::read_dir(f.path("out"))
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["x.npy"], "no part of a file");
}

#[test]
fn a_failing_run_saves_nothing() {
    let f = Folder::new();
    let w = f.workload(&[("\"scale\"", "\"scael\"")]);
    let before = f.names();
    run(&w, &["--save", text(&f.path("out"))]).refuses(&["scael"]);
    assert_eq!(f.names(), before);
}

#[test]
fn saved_files_are_complete() {
    let f = Folder::new();
    run(&f.path("good.toml"), &["--save", text(&f.path("new/out"))]).succeeds();
    let bytes = std::fs::read(f.path("new/out/x.npy")).expect("the output");
    assert_eq!(bytes.len(), 128 + 64 * 8);
}

#[test]
fn bundle_into_what_exists() {
    let f = Folder::new();
    std::fs::create_dir(f.path("taken")).expect("a folder");
    std::os::unix::fs::symlink("nowhere", f.path("dangling")).expect("a link");
    let w = f.path("good.toml");
    for name in ["taken", "good.toml", "dangling"] {
        bundle(&[&w], &f.path(name)).refuses(&[name, "exists already", "--out"]);
    }
    assert_eq!(
        std::fs::read_dir(f.path("taken"))
            .expect("a folder")
            .count(),
        0
    );
    bundle(&[&w], &f.path("good.toml/out")).refuses(&["good.toml is not a folder", "--out"]);
}

#[test]
fn a_failing_bundle_leaves_nothing() {
    let f = Folder::new();
    f.file("wrong.cu", "__global__ void k(double *x) { x[0] = y; }\n");
    let good = f.path("good.toml");
    let cases: [(&str, &str, &str); 3] = [
        ("kernels.cu", "wrong.cu", "undeclared identifier"),
        ("\"scale\"", "\"scael\"", "one of scale, shift"),
        ("n = 64", "n = ", "spoilt.toml:4:"),
    ];
    for (from, to, word) in cases {
        let w = f.workload(&[(from, to)]);
        let before = f.names();
        // The first workload is fine: what it made has to go as well, and the new folders above.
        bundle(&[&good, &w], &f.path("new/deep/out")).refuses(&[word]);
        assert_eq!(f.names(), before);
    }
    bundle(&[&good, &good], &f.path("out")).refuses(&["two workloads are named good", "rename"]);
    bundle(&[&f.path("gone.toml")], &f.path("out")).refuses(&["gone.toml", "check the path"]);
    assert!(!f.names().contains(&"out".to_owned()));
}

#[test]
fn bundle_with_a_missing_input() {
    let f = Folder::new();
    let w = f.workload(&[("{ constant = 1.0 }", "{ file = \"gone.npy\" }")]);
    let before = f.names();
    bundle(&[&w], &f.path("out")).refuses(&["gone.npy", "does not exist"]);
    assert_eq!(f.names(), before);
}

#[test]
fn record_into_no_folder() {
    let f = Folder::new();
    let before = f.names();
    selftest("--record", &f.path("good.toml/record"))
        .refuses(&["good.toml is not a folder", "--record"]);
    selftest("--record", &f.path("gone/record")).refuses(&["gone is not a folder", "--record"]);
    selftest("--record", &f.path("")).refuses(&["folder", "--record"]);
    selftest("--dump", &f.path("good.toml/dump")).refuses(&["good.toml/dump", "--dump"]);
    assert_eq!(f.names(), before);
}

#[test]
fn records_that_are_none() {
    let f = Folder::new();
    let line = "{\"seed\":1,\"kernel\":0,\"digest\":\"0123456789abcdef\",\"approx\":false}\n";
    let advice = "kerf selftest --record";
    selftest("--against", &f.path("gone")).refuses(&["cannot read", "gone", advice]);
    selftest("--against", &f.path("")).refuses(&["cannot read", "directory", advice]);
    selftest("--against", &f.file("empty", "")).refuses(&["empty holds no digests", advice]);
    selftest("--against", &f.file("bytes", b"\xff\xfe")).refuses(&["bytes", "UTF-8", advice]);
    selftest(
        "--against",
        &f.file("garbled", format!("{line}{{\"seed\":\n")),
    )
    .refuses(&["garbled:2:", "not a line of a record", advice]);
    selftest("--against", &f.file("cut", &line[..30])).refuses(&[
        "cut:1:",
        "not a line of a record",
        advice,
    ]);
    selftest(
        "--against",
        &f.file("other", "{\"schema\": \"kerf.run/1\"}\n"),
    )
    .refuses(&["other:1:", "not a line of a record", advice]);
}
