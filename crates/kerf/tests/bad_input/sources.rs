//! Sources that are absent, of an unknown kind, wrong, or without kernels.
use super::harness::{Folder, inspect, run};

#[test]
fn absent() {
    let f = Folder::new();
    inspect(&f.path("gone.cu"), &[]).refuses(&["gone.cu", "No such file", "check the path"]);
}

#[test]
fn unknown_kind() {
    let f = Folder::new();
    inspect(&f.path("good.toml"), &[]).refuses(&[
        "good.toml",
        "unknown kind",
        ".cu",
        ".cl",
        ".ll",
        ".bc",
    ]);
    inspect(&f.path(""), &[]).refuses(&["unknown kind"]);
}

#[test]
fn a_folder() {
    let f = Folder::new();
    std::fs::create_dir(f.path("folder.cu")).expect("a folder");
    inspect(&f.path("folder.cu"), &[]).refuses(&["folder.cu", "directory"]);
}

#[test]
fn does_not_compile() {
    let f = Folder::new();
    f.file(
        "wrong.cu",
        "__global__ void k(double *x) {\n  x[0] = y;\n}\n",
    );
    let words = [
        "wrong.cu does not compile",
        "wrong.cu:2:10: error",
        "undeclared identifier 'y'",
        "-I",
    ];
    inspect(&f.path("wrong.cu"), &[]).refuses(&words);
    inspect(&f.path("wrong.cu"), &["--emit", "ptx"]).refuses(&words);
    run(&f.workload(&[("kernels.cu", "wrong.cu")]), &[])
        .refuses(&words)
        .refuses(&["`flags`"]);
}

#[test]
fn opencl_that_does_not_compile() {
    let f = Folder::new();
    f.file(
        "wrong.cl",
        "__kernel void k(__global float *x) {\n  x[0] = y;\n}\n",
    );
    inspect(&f.path("wrong.cl"), &[]).refuses(&["wrong.cl:2:10: error", "'y'"]);
}

#[test]
fn a_macro_that_breaks_it() {
    let f = Folder::new();
    let cu = f.path("kernels.cu");
    inspect(&cu, &["-Dtable=3"])
        .refuses(&["kernels.cu:7:21: error", "expanded from macro 'table'"]);
    inspect(&cu, &["--", "-fno-such-flag"]).refuses(&["unknown argument", "-fno-such-flag"]);
}

#[test]
fn without_kernels() {
    let f = Folder::new();
    f.file(
        "none.cu",
        "__device__ double twice(double x) { return 2 * x; }\n",
    );
    f.file("none.cl", "float twice(float x) { return 2 * x; }\n");
    inspect(&f.path("none.cu"), &[]).refuses(&["none.cu defines no kernel", "__global__"]);
    inspect(&f.path("none.cl"), &[]).refuses(&["none.cl defines no kernel", "__kernel"]);
    let w = f.workload(&[("kernels.cu", "none.cu")]);
    run(&w, &[]).refuses(&[
        "spoilt.toml:13:1",
        "no kernel `scale`",
        "a kernel in",
        "none.cu",
    ]);
}

#[test]
fn unknown_kernel() {
    let f = Folder::new();
    inspect(&f.path("kernels.cu"), &["--kernel", "scael"])
        .refuses(&["no kernel scael", "scale, shift"]);
}
