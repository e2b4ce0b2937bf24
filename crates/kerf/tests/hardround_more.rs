//! `kerf hardround` over processes, its lists on a library, and what it writes where.
#[allow(dead_code)]
use crate::bad_input::harness;

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

/// Several libraries on the same cases: C's math library in every rounding mode, CUDA's to nearest.
#[test]
fn libraries_in_one_table() {
    let f = Folder::new();
    let list = f.path("a.wc");
    let name = list.to_str().expect("a name");
    hardround(&[&SEARCH[..], &["--out", name]].concat()).succeeds();
    let both = ["--library", "libm.so.6", "--library", "libdevice"];
    let said = hardround(
        &[
            &["check-libm", "--list", name, "--format", "json"][..],
            &both,
        ]
        .concat(),
    );
    assert_eq!(said.code, Some(0), "{}", said.err);
    let v: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(v["schema"], "kerf.check-libraries/1");
    let (c, cuda) = (&v["functions"][0], &v["functions"][1]);
    assert_eq!(
        (&c["library"], &c["function"]),
        (&"libm.so.6".into(), &"exp".into())
    );
    for mode in ["nearest", "toward_zero", "upward", "downward"] {
        let wrong = c["misrounded"][mode].as_u64().expect("a number");
        assert!(wrong <= c["arguments"].as_u64().expect("a number"), "{c}");
    }
    assert!(c["worst_ulp"].as_f64().expect("a number") < 2.0, "{c}");
    assert_eq!(cuda["library"], "libdevice");
    assert!(cuda["misrounded"]["nearest"].as_u64() > Some(0), "{cuda}");
    assert!(cuda["misrounded"]["upward"].is_null(), "{cuda}");
    // What is not correctly rounded can be asked to be; the root is, in every mode.
    let required = ["--require-correct", "nearest", "--library", "libdevice"];
    let said = hardround(&[&["check-libm", "--list", name][..], &required].concat());
    assert_eq!(said.code, Some(1), "{}", said.out);
    let required = ["--require-correct", "all", "--library", "libm.so.6"];
    let said = hardround(&[&["check-libm", "sqrt", "--list", name][..], &required].concat());
    assert_eq!(said.code, Some(0), "{}", said.out);
}

#[test]
fn libraries_that_are_none() {
    let f = Folder::new();
    let text = f.file("lib.so", "not a library");
    let path = text.to_str().expect("a name");
    let list = f.file("a.wc", "# exp in binary64\n0x1p-1\n");
    let list = list.to_str().expect("a name");
    for (library, words) in [
        (path, path),
        ("libnothing_of_the_kind.so.1", "libnothing_of_the_kind"),
        ("libm.so.6:cr_%", "no function"),
        ("libm.so.6:cr_", "%"),
    ] {
        let said = hardround(&["check-libm", "--list", list, "--library", library]);
        assert_eq!(said.code, Some(2), "{library}: {}", said.out);
        assert!(said.err.contains(words), "{library}: {}", said.err);
    }
    let said = hardround(&[
        "check-libm",
        "rsqrt",
        "--list",
        list,
        "--library",
        "libm.so.6",
    ]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("no function rsqrt"), "{}", said.err);
}

/// A list as the test vectors of others, and back.
#[test]
fn test_vectors_of_a_list() {
    let f = Folder::new();
    let list = f.file("a.wc", "# exp in binary64, [1, 2)\n0x1.8p+0\n-0x1.2p-3\n");
    let path = list.to_str().expect("a name");
    let out = f.path("exp.wc");
    let name = out.to_str().expect("a name");
    hardround(&["vectors", path, "--for", "core-math", "--out", name]).succeeds();
    let text = std::fs::read_to_string(&out).expect("written");
    assert!(text.ends_with("\n0x1.8p+0\n-0x1.2p-3\n"), "{text}");
    let said = hardround(&["vectors", path, "--for", "llvm-libc"]);
    said.succeeds();
    assert!(
        said.out.contains("mpfr::Operation::Exp, x,"),
        "{}",
        said.out
    );
    let other = hardround(&["vectors", path, "--for", "llvm-libc", "--function", "erfc"]);
    assert_eq!(other.code, Some(2));
    assert!(other.err.contains("no erfc"), "{}", other.err);
    let plain = f.file("b.wc", "0x1.8p+0\n");
    let path = plain.to_str().expect("a name");
    let said = hardround(&["vectors", path, "--for", "core-math"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--function"), "{}", said.err);
}

/// The list beside a certificate: as it was written, with a line less, and with one more.
#[test]
fn a_changed_list_is_found() {
    let f = Folder::new();
    let list = f.path("a.wc");
    let name = list.to_str().expect("a name");
    let search = [
        "exp",
        "--from",
        "1",
        "--to",
        "0x1.000004p+0",
        "--bits",
        "24",
        "--out",
        name,
    ];
    hardround(&search).succeeds();
    let cert = f.path("a.wc.cert");
    let cert = cert.to_str().expect("a name");
    let verify = || hardround(&["verify", "--all", "--list", name, cert]);
    let said = verify();
    said.succeeds();
    assert!(said.out.contains("1073741824 arguments"), "{}", said.out);
    let text = std::fs::read_to_string(&list).expect("a list");
    let lines: Vec<&str> = text.lines().collect();
    let less = lines[..lines.len() - 1].join("\n") + "\n";
    let more = text.clone() + "0x1.0000003p+0\n";
    for (changed, words) in [(less, "is not in"), (more, "not in the certificate")] {
        std::fs::write(&list, changed).expect("written");
        let said = verify();
        assert_eq!(said.code, Some(1), "{}", said.out);
        assert!(said.out.contains(words), "{}", said.out);
    }
}

/// The worst cases by binade and rounding mode are in the JSON of every search.
#[test]
fn worst_cases_by_binade() {
    let said = hardround(&[
        "exp",
        "--from",
        "0x1.fffffcp-1",
        "--to",
        "0x1.000004p+0",
        "--bits",
        "20",
        "--format",
        "json",
    ]);
    said.succeeds();
    let v: Value = serde_json::from_str(&said.out).expect("JSON");
    let worst = v["worst"].as_array().expect("a table");
    let names: Vec<&Value> = worst.iter().map(|b| &b["binade"]).collect();
    assert_eq!(names, ["2^-1", "2^0"]);
    let cases = v["cases"].as_array().expect("cases");
    let k = |c: &Value| c["k"].as_u64().expect("a number");
    let worst_of = |binade: &str, nearest: bool| {
        let inside = |c: &&Value| {
            let x = c["x"].as_str().expect("text");
            x.ends_with("p-1") == (binade == "2^-1") && (c["round_bit"] != c["repeated"]) == nearest
        };
        cases.iter().filter(inside).map(k).max()
    };
    for b in worst {
        let binade = b["binade"].as_str().expect("text");
        assert_eq!(Some(k(&b["nearest"])), worst_of(binade, true), "{b}");
        assert_eq!(Some(k(&b["directed"])), worst_of(binade, false), "{b}");
    }
    let sum: u64 = worst
        .iter()
        .map(|b| b["cases"].as_u64().expect("a number"))
        .sum();
    assert_eq!(sum, cases.len() as u64);
}
