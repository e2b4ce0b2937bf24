//! Standard streams: no escape codes where none are wanted, no crash where nobody reads.
use super::harness::{Folder, call, inspect, kerf, run};
use std::process::{Command, Stdio};

const ESCAPE: char = '\x1b';

#[test]
fn no_escape_codes() {
    let f = Folder::new();
    let always = run(&f.path("good.toml"), &["--color", "always"]);
    assert!(
        always.succeeds().out.contains(ESCAPE),
        "colour is there to be turned off\n{}",
        always.out
    );
    let never = run(&f.path("good.toml"), &["--color", "never"]);
    assert!(!never.succeeds().out.contains(ESCAPE), "{}", never.out);
    for (key, value) in [("NO_COLOR", "1"), ("KERF_UNRELATED", "1")] {
        let mut c = kerf(["inspect"]);
        c.arg(f.path("kernels.cu")).env(key, value);
        let said = call(c);
        assert!(!said.succeeds().out.contains(ESCAPE), "{key}\n{}", said.out);
    }
}

#[test]
fn messages_have_none_either() {
    // clang and clap would colour theirs on a terminal; `refuses` looks for control characters.
    let f = Folder::new();
    f.file("wrong.cu", "__global__ void k(double *x) { x[0] = y; }\n");
    inspect(&f.path("wrong.cu"), &["--color", "never"]).refuses(&["'y'"]);
    inspect(&f.path("wrong.cu"), &["--color", "always"]).refuses(&["'y'"]);
    let mut c = kerf(["run", "w.toml", "--size", "\x1b[31mn"]);
    c.env("NO_COLOR", "1");
    let said = call(c);
    assert_eq!(said.code, Some(2), "{}", said.err);
}

#[test]
fn quoted_escape_codes_are_disarmed() {
    let f = Folder::new();
    let w = f.file("w.toml", "source = \"\\u001b[31mred.cu\"\n");
    run(&w, &[]).refuses(&["[31mred.cu"]);
}

/// A call whose standard output goes to a file of the system.
fn into(device: &str, mut c: Command) -> (Option<i32>, String) {
    let to = std::fs::OpenOptions::new()
        .write(true)
        .open(device)
        .expect("a device");
    let o = c
        .stdin(Stdio::null())
        .stdout(to)
        .stderr(Stdio::piped())
        .output()
        .expect("the program should start");
    (
        o.status.code(),
        String::from_utf8_lossy(&o.stderr).into_owned(),
    )
}

#[test]
fn a_full_disk_is_told() {
    let f = Folder::new();
    for args in [
        ["run", "good.toml"].as_slice(),
        &["inspect", "kernels.cu"],
        &["inspect", "kernels.cu", "--emit", "ir"],
    ] {
        let mut c = kerf([args[0]]);
        c.arg(f.path(args[1])).args(&args[2..]);
        let (code, err) = into("/dev/full", c);
        assert_eq!(code, Some(2), "{err}");
        assert!(
            err.contains("cannot write the result") && err.contains("help: "),
            "{err}"
        );
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let f = Folder::new();
    let mut c = kerf(["inspect", "--emit", "ir"]);
    c.arg(f.path("kernels.cu"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = c.spawn().expect("the program should start");
    drop(child.stdout.take());
    let o = child.wait_with_output().expect("its end");
    assert_eq!(
        (o.status.code(), o.stderr.as_slice()),
        (Some(0), b"".as_slice())
    );
}

#[test]
fn nobody_reads_the_message() {
    let f = Folder::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a device");
    let mut c = kerf(["run"]);
    c.arg(f.path("gone.toml")).stdin(Stdio::null()).stderr(full);
    assert_eq!(c.status().expect("its end").code(), Some(2));
}
