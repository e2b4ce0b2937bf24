//! Plans that cannot be read or carried out.
use super::harness::{Folder, run};

#[track_caller]
fn refused(plan: &str, words: &[&str]) {
    let f = Folder::new();
    let p = f.file("plan.json", plan);
    run(
        &f.path("good.toml"),
        &["--plan", p.to_str().expect("UTF-8")],
    )
    .refuses(words);
}

#[test]
fn absent() {
    let f = Folder::new();
    let p = f.path("gone.json");
    run(
        &f.path("good.toml"),
        &["--plan", p.to_str().expect("UTF-8")],
    )
    .refuses(&["gone.json", "check the path"]);
}

#[test]
fn malformed() {
    refused("{", &["plan.json", "line 1", "{\"version\": 1}"]);
    refused("", &["plan.json", "not a plan"]);
    refused(
        "{\"version\": 1, \"sitez\": {}}",
        &["plan.json", "unknown field `sitez`"],
    );
    refused(
        "{\"version\": 1, \"kernels\": {\"scale\": {\"sites\": {\"0\": \"f33\"}}}}",
        &["plan.json", "`f33`", "`f32`", "`dw64.cmp`"],
    );
}

#[test]
fn later_version() {
    refused(
        "{\"version\": 7}",
        &["plan.json", "version 7", "reads version 1"],
    );
}

#[test]
fn unknown_kernel() {
    refused(
        "{\"version\": 1, \"kernels\": {\"scael\": {}}}",
        &["kernel `scael`", "scale, shift"],
    );
}

#[test]
fn sites_that_cannot() {
    let sites =
        |s: &str| format!("{{\"version\": 1, \"kernels\": {{\"scale\": {{\"sites\": {{{s}}}}}}}}}");
    refused(
        &sites("\"0\": \"dw64\""),
        &["site 0 of kernel scale (load", "memory", "--plan"],
    );
    refused(
        &sites("\"77\": \"dw64\""),
        &["site 77 of kernel scale", "kerf inspect"],
    );
}

#[test]
fn buffers_that_cannot() {
    let storage = |s: &str| {
        format!("{{\"version\": 1, \"kernels\": {{\"scale\": {{\"storage\": {{{s}}}}}}}}}")
    };
    refused(
        &storage("\"z\": \"f32\""),
        &["`z` of kernel scale", "it has x", "--plan"],
    );
    refused(
        &storage("\"factor\": \"f32\""),
        &["`factor` of kernel scale", "it has x"],
    );
    refused(
        &storage("\"x\": \"dw32\""),
        &["plan.json", "dw32: pairs are for computing"],
    );
    refused(
        &storage("\"x\": \"i16*0.3\""),
        &["plan.json", "`i16*0.3`", "power of two as its scale"],
    );
}

#[test]
fn the_identity_is_taken() {
    let f = Folder::new();
    let p = f.file("plan.json", "{\"version\": 1}");
    run(
        &f.path("good.toml"),
        &["--plan", p.to_str().expect("UTF-8")],
    )
    .succeeds();
}
