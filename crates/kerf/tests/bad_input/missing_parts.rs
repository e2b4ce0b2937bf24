//! Parts of the machine that are not there. CUDA's headers are looked for in too many places to be
//! made absent; clang can be, and so can a GPU.
use super::harness::{Folder, Said, call, kerf, run};
use std::process::Command;

/// A source that no cache holds.
fn fresh(f: &Folder) {
    f.file(
        "kernels.cu",
        "__global__ void scale(double *x, double factor, int n) { x[0] *= factor * n + 7; }\n",
    );
}

fn without_clang(clang: &std::path::Path, mut c: Command) -> Said {
    c.env("KERF_CLANG", clang);
    call(c)
}

#[test]
fn clang() {
    let f = Folder::new();
    fresh(&f);
    let before = f.names();
    let words = [
        "could not run",
        "no-clang",
        "install clang 22",
        "KERF_CLANG",
        "kerf doctor",
    ];
    let (source, workload, clang) = (
        f.path("kernels.cu"),
        f.path("good.toml"),
        f.path("no-clang"),
    );
    let mut inspect = kerf(["inspect"]);
    inspect.arg(&source);
    without_clang(&clang, inspect).refuses(&words);
    let mut run = kerf(["run"]);
    run.arg(&workload);
    without_clang(&clang, run).refuses(&words);
    let mut bundle = kerf(["bundle"]);
    bundle.arg(&workload).arg("--out").arg(f.path("out"));
    without_clang(&clang, bundle).refuses(&words);
    assert_eq!(f.names(), before);
}

#[test]
fn clang_that_is_no_program() {
    let f = Folder::new();
    fresh(&f);
    let mut c = kerf(["inspect"]);
    c.arg(f.path("kernels.cu"));
    without_clang(&f.path("good.toml"), c).refuses(&["could not run", "good.toml", "KERF_CLANG"]);
}

#[test]
fn doctor_tells() {
    let f = Folder::new();
    let said = without_clang(&f.path("no-clang"), kerf(["doctor"]));
    // Its result is the list, which belongs on standard output.
    assert_eq!(
        (said.code, said.err.as_str()),
        (Some(2), ""),
        "{}",
        said.out
    );
    assert!(said.out.contains("missing  clang"), "{}", said.out);
    assert!(
        said.out.contains("to mend: apt-get install clang-22"),
        "{}",
        said.out
    );
}

/// Whether this machine has a GPU, by the program's own word.
fn has_gpu() -> bool {
    let said = call(kerf(["doctor", "--format", "json"]));
    let v: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let parts = v["parts"].as_array().expect("a list of parts");
    parts
        .iter()
        .any(|p| p["name"] == "GPU" && p["found"] == true)
}

#[test]
fn gpu() {
    let f = Folder::new();
    let said = run(&f.path("good.toml"), &["--device", "cuda"]);
    let selftest = call(kerf(["selftest", "--count", "1", "--device", "cuda"]));
    if has_gpu() {
        println!("this machine has a GPU: the refusal without one is not tested here");
        said.succeeds();
        selftest.succeeds();
        run(&f.path("good.toml"), &["--device", "cuda", "--gpu", "1000"]).refuses(&["1000"]);
    } else {
        said.refuses(&["no cuda device", "--device cpu", "kerf bundle"]);
        selftest.refuses(&["no cuda device", "--device cpu"]);
    }
}
