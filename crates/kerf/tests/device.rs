//! `kerf device` as users run it: profiles shown and compared, occupancy, break-even, bad input.
#[allow(dead_code)]
use crate::bad_input::harness;

use harness::{Folder, Said, call, kerf};
use serde_json::Value;

fn device(args: &[&str]) -> Said {
    call(kerf(["device"].iter().chain(args)))
}

fn json(args: &[&str]) -> Value {
    let said = device(&[args, &["--format", "json"]].concat());
    said.succeeds();
    serde_json::from_str(&said.out).expect("JSON")
}

/// The line of a table that begins with these words.
#[track_caller]
fn line<'a>(text: &'a str, words: &[&str]) -> Vec<&'a str> {
    let found = text.lines().map(|l| l.split_whitespace().collect());
    found
        .into_iter()
        .find(|l: &Vec<&str>| l.starts_with(words))
        .unwrap_or_else(|| panic!("no line {words:?} in\n{text}"))
}

#[test]
fn every_listed_profile_can_be_shown() {
    let list = json(&["list"]);
    let profiles = list["profiles"].as_array().expect("a list");
    assert!(profiles.len() >= 15);
    for p in profiles {
        let name = p["name"].as_str().expect("a name");
        let shown = device(&["show", name]);
        shown.succeeds();
        for part in ["Limits", "Sources", "compute capability"] {
            assert!(shown.out.contains(part), "{name}: no {part}");
        }
        for card in p["cards"].as_array().expect("cards") {
            let by_card = device(&["show", card.as_str().expect("a name")]);
            assert_eq!(by_card.out, shown.out, "{card}");
        }
        assert_eq!(json(&["show", name])["name"], name);
    }
}

#[test]
fn tables_have_the_figures_of_their_sources() {
    // Surineni's tables IV and V, Kepler: division 520, fast 18, double 688.
    let kepler = device(&["show", "kepler"]).out;
    let div = line(&kepler, &["div"]);
    assert_eq!((div[1], div[3], div[5]), ("520", "18", "688"));
    // Li et al., table 4, Maxwell: logarithm on the special-function unit.
    let maxwell = device(&["show", "maxwell-gtx750ti"]).out;
    let log = line(&maxwell, &["log", "f32", "SFU"]);
    assert_eq!(log[3], "38");
    assert_eq!(log[5..7], ["6.33e-7", "mean"]);
    assert!(log.contains(&"1/1/0"), "{log:?}");
    // Every figure has a mark, and every mark its source.
    let hopper = device(&["show", "9.0"]).out;
    let fma = line(&hopper, &["fma", "f64"]);
    let at = fma.iter().position(|w| *w == "64").expect("its throughput");
    let mark = fma[at + 1];
    assert!(
        hopper.contains(&format!("\n  {mark}  published: NVIDIA, CUDA")),
        "{mark}"
    );
    // Nothing is known of its energy.
    assert_eq!(fma.last(), Some(&"-"));
}

#[test]
fn a_shown_profile_is_a_profile() {
    let f = Folder::new();
    let file = f.file("p.json", device(&["show", "sm_86", "--format", "json"]).out);
    let file = file.to_str().expect("a name");
    assert_eq!(device(&["show", file]).out, device(&["show", "sm_86"]).out);
    let diff = json(&["diff", file, "rtx3090"]);
    for s in diff["sections"].as_array().expect("sections") {
        assert_eq!((&s["only_a"], &s["only_b"]), (&0.into(), &0.into()));
        for p in s["figures"].as_array().expect("figures") {
            assert!(p["a"] == p["b"], "{p}");
        }
    }
}

#[test]
fn pictures() {
    let f = Folder::new();
    let svg = f.path("p.svg");
    let path = svg.to_str().expect("a name");
    device(&["show", "kepler-titanz", "--svg", path]).succeeds();
    let text = std::fs::read_to_string(&svg).expect("a picture");
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    for label in [
        "sin, cos f32 SFU",
        "results per clock",
        "correct bits",
        "Titan Z",
    ] {
        assert!(text.contains(label), "no {label}");
    }
    // Nothing is known of accuracy there.
    device(&["show", "kepler", "--svg", path]).refuses(&["nothing to draw", "kepler"]);
    device(&["show", "9.0", "--svg", "/nowhere/p.svg"]).refuses(&["/nowhere/p.svg"]);
}

#[test]
fn differences() {
    let said = device(&["diff", "a100", "h100"]);
    said.succeeds();
    let fma = line(&said.out, &["fma.f64"]);
    assert_eq!((fma[1], fma[3], fma[5]), ("32", "64", "2"));
    let d = json(&["diff", "sm_70", "sm_90"]);
    let latency = d["sections"].as_array().expect("sections").iter();
    let latency = latency
        .filter(|s| s["quantity"] == "latency")
        .collect::<Vec<_>>();
    // Volta's latencies are published, Hopper's are not.
    assert!(latency[0]["only_a"].as_u64() > Some(10));
    assert_eq!(latency[0]["figures"].as_array().map(Vec::len), Some(0));
}

#[test]
fn occupancy() {
    let args = [
        "occupancy",
        "--arch",
        "9.0",
        "--regs",
        "64",
        "--shared",
        "16384",
    ];
    let said = device(&[&args[..], &["--block", "256"]].concat());
    said.succeeds();
    assert!(said.out.contains("32 of 64 warps"), "{}", said.out);
    assert!(said.out.contains("limited by registers"), "{}", said.out);
    let one = json(&[&args[..], &["--block", "256"]].concat());
    assert_eq!(one["launch"]["blocks"], 4);
    assert_eq!(one["launch"]["limited_by"][0], "registers");
    assert_eq!(one["curve"].as_array().map(Vec::len), Some(0));
    let curve = json(&args);
    assert_eq!(curve["curve"].as_array().map(Vec::len), Some(32));
    assert!(curve["launch"].is_null());
    // 13 blocks of 17 KiB are what 228 KiB hold.
    assert_eq!(curve["curve"][0]["blocks"], 13);
    assert_eq!(curve["curve"][0]["limited_by"][0], "shared_memory");
    let shown = device(&args).out;
    assert_eq!(line(&shown, &["32"])[1..4], ["13", "13", "20"]);
    assert!(shown.contains("shared memory"), "{shown}");
    // The same by card, and with a carve-out.
    let carved = json(&[
        "occupancy",
        "--arch",
        "h100",
        "--regs",
        "32",
        "--shared",
        "7168",
        "--block",
        "128",
        "--carveout",
        "25",
    ]);
    assert_eq!(carved["launch"]["blocks"], 8);
}

#[test]
fn impossible_launches() {
    let launch = |more: &[&str]| device(&[&["occupancy", "--arch", "9.0"], more].concat());
    launch(&["--regs", "32", "--block", "1025"]).refuses(&["1025", "1 to 1024 threads"]);
    launch(&["--regs", "32", "--block", "0"]).refuses(&["1 to 1024 threads"]);
    launch(&["--regs", "256", "--block", "32"]).refuses(&["256", "1 to 255 registers"]);
    launch(&["--regs", "0"]).refuses(&["1 to 255 registers"]);
    launch(&["--regs", "128", "--block", "1024"]).refuses(&["131072", "65536", "512 threads"]);
    launch(&["--regs", "32", "--shared", "232449"]).refuses(&["232448 bytes"]);
    launch(&["--regs", "32", "--shared", "18446744073709551615"]).refuses(&["232448 bytes"]);
    launch(&["--regs", "32", "--carveout", "101"]).refuses(&["0 to 100"]);
    launch(&["--regs", "-1"]).refuses(&["-1", "--regs"]);
    launch(&["--regs", "many"]).refuses(&["many", "--regs"]);
    launch(&[]).refuses(&["--regs"]);
    device(&["occupancy", "--arch", "fermi", "--regs", "32"]).refuses(&["register_unit"]);
}

#[test]
fn break_even() {
    let all = json(&["breakeven"]);
    let winner = |name: &str, function: usize| {
        let p = all["profiles"].as_array().expect("profiles").iter();
        let p = p.clone().find(|p| p["name"] == name).expect(name);
        p["functions"][function]["winner"]
            .as_str()
            .map(str::to_owned)
    };
    for (i, _) in ["add", "mul", "fma", "div", "exp"].iter().enumerate() {
        for plenty in ["sm_70", "sm_80", "sm_90", "sm_100"] {
            assert_eq!(winner(plenty, i).as_deref(), Some("f64"), "{plenty} {i}");
        }
        for scarce in [
            "sm_75", "sm_86", "sm_89", "sm_103", "sm_120", "maxwell", "pascal",
        ] {
            assert_eq!(winner(scarce, i).as_deref(), Some("float2"), "{scarce} {i}");
        }
    }
    let said = device(&["breakeven", "8.6"]);
    said.succeeds();
    let add = line(&said.out, &["sm_86", "add"]);
    assert_eq!(
        add[2..],
        [
            "2", "p", "53.0", "6.4", "d", "46.4", "float2", "3.2x", "0.1", "d", "104.4", "20x"
        ]
    );
}

#[test]
fn names_that_are_none() {
    device(&["show", "h10"]).refuses(&["\"h10\"", "h100"]);
    device(&["show", "keppler"]).refuses(&["did you mean kepler"]);
    device(&["show", "9.1"]).refuses(&["compute capability 9.1", "9.0", "12.0"]);
    device(&["occupancy", "--arch", "sm_999", "--regs", "32"]).refuses(&["sm_999"]);
    device(&["breakeven", "h100", "nope"]).refuses(&["\"nope\""]);
    device(&["diff", "h100", ""]).refuses(&["no profile"]);
    device(&["show"]).refuses(&["NAME|FILE"]);
    device(&["shwo", "h100"]).refuses(&["shwo", "'show'"]);
    device(&["--resume"]).refuses(&["--out"]);
    // A card of the same architecture: its own numbers are not known.
    let relative = device(&["show", "a10"]);
    relative.succeeds();
    assert!(
        relative.err.contains("a10 is taken as sm_86"),
        "{}",
        relative.err
    );
}

#[test]
fn files_that_are_no_profiles() {
    let f = Folder::new();
    let good = device(&["show", "sm_90", "--format", "json"]).out;
    let refused = |content: &[u8], words: &[&str]| {
        let file = f.file("p.json", content);
        let said = device(&["show", file.to_str().expect("a name")]);
        said.refuses(&[&["p.json"], words].concat());
    };
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    refused(b"", &["not a device profile"]);
    refused(b"\xff\xfe{}", &["UTF-8"]);
    refused(b"{}", &["schema"]);
    refused(b"[1, 2]", &["schema"]);
    refused(
        &good.as_bytes()[..good.len() / 2],
        &["not a device profile", "line"],
    );
    refused(
        changed("\"version\": 1", "\"version\": 0").as_bytes(),
        &["version 0", "reads version 1"],
    );
    refused(
        changed("\"version\": 1", "\"version\": 2").as_bytes(),
        &["version 2"],
    );
    refused(
        changed("\"fma.f64\"", "\"fma.f46\"").as_bytes(),
        &["fma.f46"],
    );
    refused(
        changed("\"published: guide\"", "\"published: rumour\"").as_bytes(),
        &["rumour"],
    );
    refused(
        changed("\"published: guide\"", "\"hearsay\"").as_bytes(),
        &["hearsay", "line"],
    );
    refused(
        changed("\"value\": 132.0", "\"value\": -132.0").as_bytes(),
        &["limits.sms"],
    );
    refused(
        changed("\"max_ulp_rounded\": 0.0", "\"max_ulp_rounded\": -1.0").as_bytes(),
        &["max_ulp_rounded", "-1"],
    );
    refused(
        changed("\"gpu\": \"", "\"gpu\": \"\\u001b[31m").as_bytes(),
        &["control characters"],
    );
    device(&["show", f.path("none.json").to_str().expect("a name")]).refuses(&["none.json"]);
    device(&["show", "/"]).refuses(&["directory"]);
}
