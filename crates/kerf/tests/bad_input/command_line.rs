//! Options and values that make no sense.
use super::harness::{Folder, call, inspect, kerf, run};

#[test]
fn commands() {
    call(kerf(["inspekt", "x.cu"])).refuses(&["inspekt", "'inspect'"]);
    call(kerf(["run"])).refuses(&["WORKLOAD"]);
    call(kerf(["inspect"])).refuses(&["FILE"]);
    call(kerf(["bundle"])).refuses(&["WORKLOADS"]);
    call(kerf(["run", "w.toml", "--formt", "json"])).refuses(&["--formt", "--format"]);
    let nothing = call(kerf([""; 0]));
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(2), ""));
    assert!(nothing.err.contains("Usage: kerf"), "{}", nothing.err);
}

#[test]
fn values() {
    let f = Folder::new();
    let w = f.path("good.toml");
    let cases: [(&[&str], &[&str]); 26] = [
        (
            &["--size", "n"],
            &["'n'", "--size", "NAME=NUMBER", "n=4096"],
        ),
        (
            &["--size", "n=abc"],
            &["`abc` is not a 64-bit integer", "NAME=NUMBER"],
        ),
        (&["--size", "n=1.5"], &["`1.5` is not a 64-bit integer"]),
        (&["--size", "n="], &["`` is not a 64-bit integer"]),
        (
            &["--size", "n=99999999999999999999"],
            &["not a 64-bit integer"],
        ),
        (&["--size", "=3"], &["no name", "NAME=NUMBER"]),
        (
            &["--timeout", "0"],
            &["'0'", "--timeout", "expected seconds"],
        ),
        (
            &["--timeout", "-1"],
            &["'-1'", "--timeout", "expected seconds"],
        ),
        (
            &["--timeout", "nan"],
            &["'nan'", "--timeout", "expected seconds"],
        ),
        (
            &["--timeout", "inf"],
            &["'inf'", "--timeout", "expected seconds"],
        ),
        (
            &["--timeout", "1e300"],
            &["'1e300'", "--timeout", "billion"],
        ),
        (
            &["--timeout", "soon"],
            &["'soon'", "--timeout", "expected seconds"],
        ),
        (
            &["--energy", "nan"],
            &["'nan'", "--energy", "expected seconds"],
        ),
        (
            &["--energy", "-1"],
            &["'-1'", "--energy", "expected seconds"],
        ),
        (&["--energy", "5"], &["--energy", "GPU", "--device cuda"]),
        (&["--repeats", "0"], &["'0'", "--repeats", "1.."]),
        (&["--repeats", "-1"], &["'-1'", "--repeats"]),
        (&["--warmup", "-1"], &["'-1'", "--warmup"]),
        (
            &["--threads", "-1"],
            &["'-1'", "--threads", "0 (all cores)"],
        ),
        (&["--threads", "100000"], &["'100000'", "--threads", "1024"]),
        (&["--gpu", "-1"], &["'-1'", "--gpu"]),
        (&["--device", "gpu"], &["'gpu'", "--device", "cpu, cuda"]),
        (&["--format", "xml"], &["'xml'", "--format", "human, json"]),
        (&["--color", "some"], &["'some'", "--color", "always"]),
        (&["--arch", "sm_1"], &["'sm_1'", "--arch", "sm_90"]),
        (&["--device", "cuda", "--memcheck"], &["--memcheck", "CPU"]),
    ];
    for (args, words) in cases {
        run(&w, args).refuses(words);
    }
}

#[test]
fn values_of_other_commands() {
    let f = Folder::new();
    call(kerf(["selftest", "--count", "0"])).refuses(&["'0'", "--count", "1 or more"]);
    call(kerf(["selftest", "--count", "-1"])).refuses(&["'-1'", "--count", "1 or more"]);
    call(kerf(["selftest", "--seed", "-1"])).refuses(&["'-1'", "--seed"]);
    call(kerf(["selftest", "--gpu", "-1"])).refuses(&["'-1'", "--gpu"]);
    inspect(&f.path("kernels.cu"), &["--arch", "volta"]).refuses(&["'volta'", "--arch", "sm_90"]);
    inspect(&f.path("kernels.cu"), &["--emit", "sass"]).refuses(&["'sass'", "ptx"]);
}

#[test]
fn the_last_seed_is_a_seed() {
    // The modules after it have the first seeds.
    call(kerf([
        "selftest",
        "--count",
        "8",
        "--seed",
        "18446744073709551615",
    ]))
    .succeeds();
}

#[test]
fn json_is_for_results_only() {
    let f = Folder::new();
    run(&f.path("gone.toml"), &["--format", "json"]).refuses(&["gone.toml"]);
}
