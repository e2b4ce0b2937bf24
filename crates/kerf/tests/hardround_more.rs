//! `kerf hardround` over processes, its lists on a library, and what it writes where.
#[allow(dead_code)]
#[path = "bad_input/harness.rs"]
mod harness;

use harness::{Folder, Said, call, kerf};
use serde_json::Value;

fn hardround(args: &[&str]) -> Said {
    call(kerf([&["hardround"], args].concat()))
}

const SEARCH: [&str; 7] = ["exp", "--from", "1", "--to", "0x1.0008p+0", "--bits", "33"];

#[test]
fn processes_give_what_one_gives() {
    let csv = ["--format", "csv"];
    let one = hardround(&[&SEARCH[..], &csv].concat());
    one.succeeds();
    assert!(one.out.starts_with("x,k,round_bit"), "{}", one.out);
    assert!(one.out.lines().count() > 60, "{}", one.out);
    let three = hardround(&[&SEARCH[..], &csv, &["--processes", "3"]].concat());
    three.succeeds();
    assert_eq!(one.out, three.out);
    // With a certificate, which is right.
    let f = Folder::new();
    let cert = f.path("c");
    let name = cert.to_str().expect("a name");
    let more = ["--processes", "2", "--certificate", name];
    let two = hardround(&[&SEARCH[..], &csv, &more].concat());
    two.succeeds();
    assert_eq!(one.out, two.out);
    hardround(&["verify", name]).succeeds();
    let again = hardround(&[&SEARCH[..], &csv, &more, &["--resume"]].concat());
    again.succeeds();
    assert_eq!(one.out, again.out);
    // What is wrong is said once.
    let bad = hardround(&[
        "log",
        "--from",
        "-1",
        "--to",
        "2",
        "--bits",
        "60",
        "--processes",
        "2",
    ]);
    assert_eq!(bad.code, Some(2));
    assert_eq!(bad.err.matches("error:").count(), 1, "{}", bad.err);
    let small = hardround(&["exp", "--type", "binary16", "--processes", "2"]);
    assert_eq!(small.code, Some(2));
    // Only this command has CSV.
    let other = call(kerf(["doctor", "--format", "csv"]));
    assert_eq!(other.code, Some(2));
    assert!(other.err.contains("hardround"), "{}", other.err);
}

#[test]
fn a_library_on_hard_cases() {
    let f = Folder::new();
    let list = f.path("a.wc");
    let name = list.to_str().expect("a name");
    hardround(&[&SEARCH[..], &["--out", name]].concat()).succeeds();
    let said = hardround(&["check-libm", "--list", name, "--format", "json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let v: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(v["schema"], "kerf.check-libm/1");
    let exp = &v["functions"][0];
    assert_eq!(exp["function"], "exp");
    let (n, midway, wrong) = (
        exp["arguments"].as_u64().expect("a number"),
        exp["next_to_midpoint"].as_u64().expect("a number"),
        exp["misrounded"].as_u64().expect("a number"),
    );
    // About half are next to midpoints, and exp, which is not correctly rounded, gets some of those wrong.
    assert!(n > 60 && midway * 4 > n && midway < n, "{exp}");
    assert!(wrong > 0 && wrong <= midway, "{exp}");
    assert_eq!(exp["numbers_off"], 1);
    let worst = exp["worst_ulp"].as_f64().expect("a number");
    assert!((0.5..1.0).contains(&worst), "{exp}");
    assert!(
        exp["cases"][0]["x"]
            .as_str()
            .expect("text")
            .starts_with("0x1.")
    );
    // sqrt is correctly rounded whatever the argument.
    let said = hardround(&["check-libm", "sqrt", "x^2", "--list", name]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("pow(x, 2)"), "{}", said.out);
}

#[test]
fn lists_that_make_no_sense() {
    let f = Folder::new();
    let cases = [
        ("a.wc", "0x1p-1,0x1p-2 # 102\n", "two arguments"),
        ("b.wc", "0x1p-1\nfoo\n", "line 2"),
        ("c.wc", "# nothing\n", "no argument"),
        ("d.json", "{}", "not a list"),
    ];
    for (name, text, words) in cases {
        let file = f.file(name, text);
        let path = file.to_str().expect("a name");
        let said = hardround(&["check-libm", "exp", "--list", path]);
        assert_eq!(said.code, Some(2), "{name}");
        assert!(said.err.contains(words), "{name}: {}", said.err);
        // The same file for kerf device, which needs no GPU to refuse it.
        let said = call(kerf(["device", "--hard", &format!("exp={path}")]));
        assert_eq!(said.code, Some(2), "{name}");
        assert!(said.err.contains(words), "{name}: {}", said.err);
    }
    let plain = f.file("e.wc", "0x1p-1\n");
    let path = plain.to_str().expect("a name");
    let said = hardround(&["check-libm", "--list", path]);
    assert!(said.err.contains("whose arguments"), "{}", said.err);
    assert_eq!(hardround(&["check-libm", "exq"]).code, Some(2));
    let said = call(kerf(["device", "--hard", &format!("cbrt={path}")]));
    assert!(said.err.contains("check-libm"), "{}", said.err);
}

/// The list cannot be written: said, with the way on, and no half a file.
#[test]
fn a_full_disk() {
    let search = |more: &[&str]| hardround(&[&SEARCH[..], more].concat());
    let said = search(&["--certificate", "/dev/full"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    let said = search(&["--out", "/dev/full"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.err.contains("/dev/full"), "{}", said.err);
}
