//! No sentence without its evidence: results with pieces missing are shown, and what is said is held against what is left.
//!
//! Every field of a recorded result is taken out, set to null or emptied, each alone. Where the rest still is a result,
//! its text, its Markdown and the claims of its page are searched for sentences whose record is gone. The rules here
//! read the JSON as it is left, not the types that the reports read.

use kerf_report::claims::Claims;
use kerf_report::gather::Gathered;
use kerf_report::{explain, markdown};
use kerf_tune::result::TuneResult;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn recorded() -> Value {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = std::fs::read(dir.join("result.json")).expect("recorded data");
    let mut r: Value = serde_json::from_slice(&text).expect("JSON");
    for o in r["outputs"].as_array_mut().expect("outputs") {
        o["counts"] = json!({"values": 4096, "compared": 4096, "nan_pairs": 0, "inf_pairs": 0, "not_finite_mismatches": 0, "integer_mismatches": 0});
    }
    r["checked"] = json!({"extent": "whole", "notes": []});
    r
}

/// The same with a measurement in place of a prediction, as a GPU gives it.
fn measured() -> Value {
    let mut r = recorded();
    r["speedup"] = json!({"value": 1.25, "low": 1.2, "high": 1.31, "kind": "measured", "by": "a GPU", "timing": {
        "median_s": 0.8, "baseline_s": 1.0, "ratio": 0.8, "ratio_low": 0.76, "ratio_high": 0.83, "samples": 15, "replays": 1}});
    let energy = |j: f64| json!({"per_run_j": j, "mean_w": 300.0, "window_s": 2.0, "runs": 100});
    r["energy"]["plan"] = energy(0.7);
    r["energy"]["program"] = energy(1.0);
    r
}

/// One whose program is not accurate enough.
fn unmet() -> Value {
    let mut r = recorded();
    r["verdict"] = json!("unmet");
    r["error"] = json!(3e-3);
    r["floor"]["error"] = json!(3e-3);
    r["validation"] = Value::Null;
    r
}

/// Ways to all fields, through objects and lists.
fn ways(v: &Value, at: &str, out: &mut Vec<String>) {
    let mut go = |key: String, v: &Value| {
        let way = format!("{at}/{key}");
        out.push(way.clone());
        ways(v, &way, out);
    };
    match v {
        Value::Object(all) => all
            .iter()
            .for_each(|(k, v)| go(k.replace('~', "~0").replace('/', "~1"), v)),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .for_each(|(i, v)| go(i.to_string(), v)),
        _ => {}
    }
}

/// A field taken out, set to null, or emptied: numbers become 0, lists and objects have nothing in them.
fn without(v: &Value, way: &str) -> Vec<Value> {
    let (parent, key) = way.rsplit_once('/').expect("a way");
    let key = key.replace("~1", "/").replace("~0", "~");
    let mut out = Vec::new();
    let mut gone = v.clone();
    match gone.pointer_mut(parent) {
        Some(Value::Object(all)) => drop(all.remove(&key)),
        Some(Value::Array(all)) => drop(all.remove(key.parse().expect("a position"))),
        _ => {}
    }
    out.push(gone);
    let mut put = |new: Value| {
        let mut one = v.clone();
        if let Some(place) = one.pointer_mut(way) {
            *place = new;
        }
        out.push(one);
    };
    put(Value::Null);
    match v.pointer(way) {
        Some(Value::Array(_)) => put(json!([])),
        Some(Value::Object(_)) => put(json!({})),
        Some(Value::Number(_)) => put(json!(0)),
        _ => {}
    }
    out
}

/// What is shown of a result: text, Markdown, claims of the page.
struct Shown {
    text: String,
    markdown: String,
    claims: Value,
}

fn shown(v: &Value) -> Option<Shown> {
    let result: TuneResult = serde_json::from_value(v.clone()).ok()?;
    // Groups that were taken out leave levels without a name; the program writes no such file.
    if result.groups.iter().any(|g| g.group.formats.is_empty()) {
        return None;
    }
    let claims = Claims::new(&result);
    let g = Gathered {
        folder: PathBuf::from("out"),
        alone: vec![None; result.groups.len()],
        claims: claims.clone(),
        result,
        evidence: None,
        evaluations: Vec::new(),
        ir: Default::default(),
        ptx: String::new(),
    };
    Some(Shown {
        text: explain::explain(&g),
        markdown: markdown::markdown(&g).replace('\\', ""),
        claims: serde_json::to_value(claims).expect("JSON"),
    })
}

/// The line of a text that begins with something.
fn line<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    text.lines().find(|l| l.starts_with(start))
}

/// Numbers before and after `of`, in `12 of 20 other inputs` and the like.
fn share(text: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|w| *w == "of")?;
    let number = |w: &str| w.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok();
    Some((
        number(words.get(at.checked_sub(1)?)?)?,
        number(words.get(at + 1)?)?,
    ))
}

fn written(x: &Value) -> Option<String> {
    let x = x.as_f64()?;
    Some(if x == 0.0 {
        "0".into()
    } else {
        format!("{x:.2e}")
    })
}

/// Sentences that the JSON does not bear out.
fn unfounded(v: &Value, s: &Shown) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut need = |founded: bool, what: &str, said: &str| {
        if !founded {
            wrong.push(format!("{what}: {said}"));
        }
    };
    let valid = &v["validation"];
    let count = |k: &str| valid[k].as_u64().unwrap_or(0);
    let counted = (count("held_out") + count("perturbed")).saturating_sub(count("beyond_program"));
    let others = [
        s.text.lines().find(|l| l.contains("other inputs")),
        line(&s.markdown, "| other inputs"),
        s.claims["other_inputs"]["head"].as_str(),
    ];
    for said in others.into_iter().flatten() {
        if let Some((passed, of)) = share(said) {
            let same = (passed, of) == (count("passed"), counted);
            need(counted > 0 && same, "other inputs", said);
        }
        if said.contains("worst ") && !said.contains("worst not") && !said.contains("worst inf") {
            let worst = written(&valid["worst"]);
            let there = worst.is_some_and(|w| said.contains(&format!("worst {w}")));
            need(there, "worst error", said);
        }
    }
    for said in [&s.text, &s.markdown, &s.claims.to_string()] {
        let bears = !said.contains("confidence") || counted > 0 && valid["confidence"].is_number();
        need(bears, "confidence", said);
        need(
            !said.contains("values compared") || v["outputs"].to_string().contains("\"compared\""),
            "values compared",
            said,
        );
        need(!said.contains("NaN"), "a number that is none", said);
        let whole = said.contains("checked for undefined behaviour on");
        let bears = !whole || v["checked"]["extent"] == "whole";
        need(bears, "checked for undefined behaviour", said);
    }
    let head = s.text.lines().next().unwrap_or_default();
    let row = line(&s.markdown, "| speed-up").unwrap_or_default();
    let timing = v["speedup"]["timing"].is_object();
    for said in [head, row] {
        need(
            !said.contains("x measured") && !said.contains("] measured") || timing,
            "measured",
            said,
        );
        let interval =
            timing && v["speedup"]["low"].is_number() && v["speedup"]["high"].is_number();
        need(!said.contains("x [") || interval, "interval", said);
    }
    need(
        s.claims["time_kind"] != "measured" || timing,
        "measured",
        "the page",
    );
    need(
        s.claims["interval"].is_null() || v["speedup"]["low"].is_number() && timing,
        "interval",
        "the page",
    );
    let own = written(&v["floor"]["error"]);
    let error = match v["verdict"] == "unmet" {
        true => own.clone(),
        false => written(&v["error"]),
    };
    let row = line(&s.markdown, "| error |").unwrap_or_default();
    if v["verdict"] != "unchanged" {
        let told = error
            .as_ref()
            .is_some_and(|e| head.contains(&format!("error {e}")));
        need(told || head.contains("error not recorded"), "error", head);
    }
    let told = own
        .as_ref()
        .is_some_and(|e| row.contains(&format!("itself {e}")));
    need(
        told || row.contains("itself not recorded"),
        "own error",
        row,
    );
    // Nothing here was infinite.
    for said in [head, row, &s.claims.to_string()] {
        let outputs = v["outputs"].to_string() + &v["floor"]["outputs"].to_string();
        let none = outputs.contains("\"error\":null") || !outputs.contains("\"error\"");
        need(
            !said.contains("infinite") || none || valid["worst"].is_null(),
            "infinite",
            said,
        );
    }
    wrong
}

#[test]
fn nothing_is_said_whose_record_is_gone() {
    let mut shown_at_all = 0;
    for whole in [recorded(), measured(), unmet()] {
        let first = shown(&whole).expect("a result");
        assert_eq!(unfounded(&whole, &first), Vec::<String>::new());
        let mut all = Vec::new();
        ways(&whole, "", &mut all);
        for way in all {
            for less in without(&whole, &way) {
                let Some(s) = shown(&less) else { continue };
                shown_at_all += 1;
                let wrong = unfounded(&less, &s);
                assert!(wrong.is_empty(), "without {way}: {wrong:#?}\n{}", s.text);
            }
        }
    }
    assert!(shown_at_all > 300, "{shown_at_all}");
}

#[test]
fn the_whole_result_makes_every_claim_that_is_looked_for() {
    let s = shown(&measured()).expect("a result");
    for part in [
        "1.25x [1.20, 1.31] measured",
        "error 7.75e-6",
        "8192 of 8192 values compared",
        "on 20 of 20 other inputs within the tolerance, worst 8.76e-6",
        "with 95 % confidence at least 86.1 % of such inputs pass",
    ] {
        assert!(s.text.contains(part), "{part}\n{}", s.text);
        let row = part.replace("error ", "");
        assert!(s.markdown.contains(&row), "{row}\n{}", s.markdown);
    }
    assert_eq!(s.claims["other_inputs"]["head"], "20 of 20");
    let s = shown(&recorded()).expect("a result");
    assert!(
        s.text.starts_with("black_scholes.toml: 1.28x predicted"),
        "{}",
        s.text
    );
}

#[test]
fn what_was_not_tried_is_said() {
    let cases = [
        (Value::Null, "no other inputs were tried\n"),
        (
            json!({"held_out": 0, "perturbed": 0, "perturb": 0.001, "passed": 0, "beyond_program": 0, "worst": 0.0,
                "worst_input": null, "confidence": 0.95, "pass_probability": 0.0, "remark": "the inputs cannot be varied", "used": 4}),
            "no other inputs were tried: the inputs cannot be varied\n",
        ),
        (
            json!({"held_out": 3, "perturbed": 3, "perturb": 0.001, "passed": 0, "beyond_program": 6, "worst": 0.0,
                "worst_input": null, "confidence": 0.95, "pass_probability": 0.0, "remark": null, "used": 6}),
            "the program itself exceeds the tolerance on all 6 that were tried\n",
        ),
    ];
    for (validation, said) in cases {
        let mut r = recorded();
        r["validation"] = validation;
        let s = shown(&r).expect("a result");
        assert!(s.text.contains(said), "{}", s.text);
        assert!(s.markdown.contains(said.trim_end()), "{}", s.markdown);
        assert_eq!(s.claims["other_inputs"]["head"], "not shown");
    }
}
