//! `kerf hardround` as users run it.
#[allow(dead_code)]
use crate::bad_input::harness;

use harness::{Folder, Said, call, kerf};
use serde_json::Value;
use std::path::Path;

/// 2^36 arguments of exp.
const RANGE: [&str; 7] = [
    "hardround",
    "exp",
    "--from",
    "1",
    "--to",
    "0x1.0001p+0",
    "--bits",
];

fn search(bits: &str, args: &[&str]) -> Said {
    call(kerf([&RANGE, [bits].as_slice(), args].concat()))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

#[test]
fn lists_in_every_form() {
    let f = Folder::new();
    let plain = search("32", &[]);
    plain.succeeds();
    let xs: Vec<&str> = plain
        .out
        .lines()
        .filter_map(|l| l.split_whitespace().next())
        .filter(|w| w.starts_with("0x"))
        .collect();
    assert!((16..64).contains(&xs.len()), "{}", plain.out);
    for name in ["a.wc", "a.csv", "a.json", "a.txt"] {
        let file = f.path(name);
        search("32", &["--out", file.to_str().expect("a name")]).succeeds();
        let text = text(&file);
        assert!(xs.iter().all(|x| text.contains(x)), "{text}");
    }
    let wc = text(&f.path("a.wc"));
    let listed: Vec<&str> = wc.lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(listed, xs);
    let v: Value = serde_json::from_str(&text(&f.path("a.json"))).expect("JSON");
    assert_eq!(v["schema"], "kerf.hardround/1");
    assert_eq!(v["arguments"], 1u64 << 36);
    let said = call(kerf([
        "hardround",
        "verify",
        f.path("a.wc.cert").to_str().expect("a name"),
    ]));
    said.succeeds();
    assert!(said.out.contains("right"), "{}", said.out);
}

#[test]
fn goes_on_where_it_was_cut_off() {
    let f = Folder::new();
    let file = f.path("a.wc");
    let name = file.to_str().expect("a name");
    let range = [
        "hardround",
        "exp",
        "--from",
        "1",
        "--to",
        "0x1.0008p+0",
        "--bits",
        "34",
    ];
    let run = |more: &[&str]| call(kerf([&range, ["--out", name].as_slice(), more].concat()));
    run(&[]).succeeds();
    let (list, cert) = (text(&file), text(&f.path("a.wc.cert")));
    // As after kill -9: some units are there, the last line in part.
    let lines: Vec<&str> = cert.lines().collect();
    assert!(lines.len() > 6, "{cert}");
    let cut = lines[..4].join("\n") + "\n" + &lines[4][..lines[4].len() / 2];
    std::fs::write(f.path("a.wc.cert"), &cut).expect("written");
    std::fs::remove_file(&file).expect("removed");
    let refused = run(&[]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--resume"), "{}", refused.err);
    let said = run(&["--resume"]);
    said.succeeds();
    assert!(said.err.contains("3 of "), "{}", said.err);
    assert_eq!(text(&file), list);
    let other = call(kerf([
        "hardround",
        "log",
        "--from",
        "1.5",
        "--to",
        "1.51",
        "--bits",
        "40",
        "--resume",
        "--out",
        name,
    ]));
    assert_eq!(other.code, Some(2));
    assert!(other.err.contains("another search"), "{}", other.err);
    // A certificate that lost a unit is not right, and one whose text was changed is refused.
    let less = lines[..lines.len() - 1].join("\n") + "\n";
    std::fs::write(f.path("a.wc.cert"), less).expect("written");
    let verify = || {
        call(kerf([
            "hardround",
            "verify",
            f.path("a.wc.cert").to_str().expect("a name"),
        ]))
    };
    assert_eq!(verify().code, Some(1));
    std::fs::write(f.path("a.wc.cert"), cert.replacen(" 34 ", " 35 ", 1)).expect("written");
    let said = verify();
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("hash"), "{}", said.err);
}

/// The whole domain in pieces of time: it stops, says so, and goes on where it was.
#[test]
fn the_whole_domain_in_parts() {
    let f = Folder::new();
    let file = f.path("sqrt.wc");
    let name = file.to_str().expect("a name");
    let run = |more: &[&str]| {
        let args = [
            "hardround",
            "sqrt",
            "--all",
            "--max-time",
            "2s",
            "--out",
            name,
        ];
        call(kerf([&args, more].concat()))
    };
    let first = run(&[]);
    assert_eq!(first.code, Some(1), "{}", first.err);
    assert!(first.out.contains("not finished"), "{}", first.out);
    assert!(!file.exists());
    let cert = || text(&f.path("sqrt.wc.cert"));
    let lines = cert().lines().count();
    assert!(lines > 1);
    let second = run(&["--resume"]);
    assert_eq!(second.code, Some(1), "{}", second.err);
    assert!(second.err.contains("are there already"), "{}", second.err);
    assert!(cert().lines().count() > lines, "{}", cert());
    // As many bits as give at most 10^5 cases among 2 binades.
    assert!(
        cert().starts_with("{\"schema\":\"kerf.hardround-certificate/2\",\"function\":\"sqrt\"")
    );
    assert!(cert().contains("\"bits\":38,"), "{}", cert());
    // What is there is right, and what is not is said.
    let said = call(kerf([
        "hardround",
        "verify",
        f.path("sqrt.wc.cert").to_str().expect("a name"),
    ]));
    assert_eq!(said.code, Some(1));
    assert!(said.out.contains("units are missing"), "{}", said.out);
    assert_eq!(said.out.matches("\n  ").count(), 1, "{}", said.out);
    let both = call(kerf([
        "hardround",
        "exp",
        "--all",
        "--from",
        "1",
        "--to",
        "2",
    ]));
    assert_eq!(both.code, Some(2));
    let never = call(kerf(["hardround", "exp", "--all", "--max-time", "soon"]));
    assert!(never.err.contains("9m"), "{}", never.err);
}

#[test]
fn bad_input_is_named() {
    let cases: [(&[&str], &str); 9] = [
        (
            &["exq", "--from", "1", "--to", "2", "--bits", "40"],
            "did you mean `exp`",
        ),
        (
            &["log", "--from", "-1", "--to", "2", "--bits", "60"],
            "x > 0",
        ),
        (
            &["exp", "--from", "2", "--to", "1", "--bits", "40"],
            "empty",
        ),
        (
            &["exp", "--from", "1", "--to", "2", "--bits", "20"],
            "--yes",
        ),
        (
            &[
                "exp",
                "--from",
                "0x1.00000000000001p0",
                "--to",
                "2",
                "--bits",
                "20",
            ],
            "a number that f64 has",
        ),
        (
            &["sin", "--from", "1e22", "--to", "1.1e22", "--bits", "60"],
            "one by one",
        ),
        (
            &["cos", "--from", "1e7", "--to", "1.1e7", "--bits", "50"],
            "would take about",
        ),
        (&["exp", "--from", "1", "--to", "2"], "--bits"),
        (
            &[
                "exp",
                "--type",
                "binary16",
                "--from",
                "0x1.00001p0",
                "--to",
                "2",
            ],
            "not a number of binary16",
        ),
    ];
    for (args, expected) in cases {
        let said = call(kerf([&["hardround"], args].concat()));
        assert_eq!(said.code, Some(2), "{args:?}");
        assert!(said.err.contains(expected), "{args:?}: {}", said.err);
        assert!(said.out.is_empty());
    }
}

/// 3 is where the results of exp2 change their binade, in the middle of [2, 4): the range is searched like others.
#[test]
fn a_change_of_binade_in_the_middle() {
    let args = [
        "hardround",
        "exp2",
        "--from",
        "0x1.7ffffp+1",
        "--to",
        "0x1.80001p+1",
    ];
    let args = [&args, ["--bits", "34", "--format", "json"].as_slice()].concat();
    let said = call(kerf(args));
    said.succeeds();
    let v: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(v["arguments"], 1u64 << 33);
    assert_eq!(v["exact"], 1);
    assert!(
        v["counts"]["evaluated"].as_u64().expect("a number") < 1000,
        "{v}"
    );
}

#[test]
fn ranges_across_zero_and_binades() {
    // sin near 0 is its argument, less a third power: all are hard, next to zero.
    let args = [
        "hardround",
        "sin",
        "--from",
        "-0x1p-50",
        "--to",
        "0x1p-50",
        "--bits",
        "44",
        "--format",
        "json",
    ];
    let said = call(kerf(args));
    said.succeeds();
    let v: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(v["zero_in_range"], true);
    assert!(
        v["trivial"][0]["what"]
            .as_str()
            .expect("words")
            .contains("all hard")
    );
}

/// Just below 1, and around 1 with a third of the bits.
#[test]
fn limits_take_no_time() {
    for (f, to) in [
        ("exp", "-0x1p-700"),
        ("cos", "-0x1p-700"),
        ("cosh", "-0x1p-700"),
    ] {
        let args = [
            "hardround",
            f,
            "--from",
            "-0x1p-660",
            "--to",
            to,
            "--bits",
            "44",
        ];
        let said = call(kerf(args));
        said.succeeds();
        assert!(said.out.contains("arguments all hard"), "{}", said.out);
    }
}

#[test]
fn small_formats_are_counted() {
    let said = call(kerf([
        "hardround",
        "exp",
        "--type",
        "binary16",
        "--format",
        "json",
    ]));
    said.succeeds();
    let v: Value = serde_json::from_str(&said.out).expect("JSON");
    // All numbers but zeros, infinities and NaN.
    assert_eq!(v["arguments"], 2 * (31 * 1024 - 1));
    let by_k = v["by_k"].as_array().expect("counts");
    let sum: u64 = by_k.iter().filter_map(Value::as_u64).sum();
    let rest: u64 = ["out_of_range", "exact", "next_to_numbers"]
        .iter()
        .map(|n| v[n].as_u64().expect("a count"))
        .sum();
    assert_eq!(sum + rest, 2 * (31 * 1024 - 1) + 1);
}
