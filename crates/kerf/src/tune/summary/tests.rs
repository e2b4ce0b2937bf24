//! The summary of a recorded result, whole and with pieces missing.
use super::human;
use crate::output::{Color, Style};
use kerf_tune::result::TuneResult;
use serde_json::{Value, json};
use std::path::Path;

fn recorded() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kerf-report/tests/data/result.json");
    serde_json::from_slice(&std::fs::read(path).expect("recorded data")).expect("JSON")
}

fn said(change: impl Fn(&mut Value)) -> String {
    let mut v = recorded();
    change(&mut v);
    let r: TuneResult = serde_json::from_value(v).expect("a result");
    human(&r, "w.toml", Path::new("out"), Style::new(Color::Never))
}

#[test]
fn sentences_go_with_their_records() {
    let energy = |j: f64| json!({"per_run_j": j, "mean_w": 300.0, "window_s": 2.0, "runs": 100});
    let timing = json!({"median_s": 0.8, "baseline_s": 1.0, "ratio": 0.8, "ratio_low": 0.76, "ratio_high": 0.83});
    let whole = |v: &mut Value| {
        v["speedup"] = json!({"value": 1.25, "low": 1.2, "high": 1.31, "kind": "measured", "by": "a GPU", "timing": timing});
        v["energy"]["plan"] = energy(0.7);
        v["energy"]["program"] = energy(1.0);
        v["outputs"][0]["counts"] = json!({"values": 9, "compared": 9, "nan_pairs": 0, "inf_pairs": 0, "not_finite_mismatches": 0, "integer_mismatches": 0});
        v["outputs"][1]["counts"] = v["outputs"][0]["counts"].clone();
    };
    let cases: &[(&str, &str, &str)] = &[
        (
            "/speedup/timing",
            "measured 1.25x faster",
            "not recorded 1.25x faster",
        ),
        ("/speedup/timing", "[1.20, 1.31]", ""),
        (
            "/validation",
            "20 of 20 inputs within the tolerance",
            "validated: no other inputs were tried",
        ),
        ("/validation", "% confidence", ""),
        (
            "/validation/worst",
            "worst error 8.76e-6",
            "worst error not recorded",
        ),
        (
            "/error",
            "error 7.745e-6 on the tuning inputs",
            "error not recorded on the tuning inputs",
        ),
        (
            "/floor/error",
            "the program itself 2.324e-14",
            "the program itself not recorded",
        ),
        ("/energy", "energy measured", ""),
        ("/energy/plan", "energy measured", ""),
        ("/energy/program", "energy measured", ""),
        ("/energy/estimated", "estimated: 0.699", ""),
        ("/outputs/0/counts", "18 of 18 values compared", ""),
    ];
    for (way, claim, instead) in cases {
        let text = said(whole);
        assert!(text.contains(claim), "{claim}\n{text}");
        let text = said(|v| {
            whole(v);
            *v.pointer_mut(way).expect("a field") = Value::Null;
        });
        assert!(!text.contains(claim), "without {way}: {claim}\n{text}");
        assert!(text.contains(instead), "without {way}: {instead}\n{text}");
    }
    let text = said(|v| v["effort"]["evaluation_s"] = json!(0.0));
    assert!(!text.contains("s of evaluations"), "{text}");
}
