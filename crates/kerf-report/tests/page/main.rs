//! The page in a real browser: it draws itself, answers to mouse and keyboard, complains of nothing, and
//! keeps what is a user's as text.
mod browser;

use browser::Browser;
use kerf_report::gather::{Gathered, ShownEvaluation};
use kerf_report::listing::IrLine;
use kerf_report::{explain, markdown, page};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn data(name: &str) -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    std::fs::read(dir.join(name)).expect("recorded data")
}

/// A result of the Black-Scholes example, as it was recorded, with `change` made to its files.
fn recorded(change: impl Fn(&mut Value, &mut Value)) -> Gathered {
    let mut result: Value = serde_json::from_slice(&data("result.json")).expect("JSON");
    let mut evidence: Value = serde_json::from_slice(&data("evidence.json")).expect("JSON");
    change(&mut result, &mut evidence);
    let rows: Vec<Value> = serde_json::from_slice(&data("evaluations.json")).expect("JSON");
    let evaluations = rows.iter().map(|r| ShownEvaluation {
        phase: r["phase"].as_str().expect("a phase").to_owned(),
        levels: serde_json::from_value(r["levels"].clone()).expect("levels"),
        error: r["error"].as_f64(),
        time: r["time"].as_f64(),
        failure: None,
        wall_s: 0.1,
        worst: Some(("call".into(), 17)),
    });
    let evaluations: Vec<ShownEvaluation> = evaluations.collect();
    let result: kerf_tune::result::TuneResult = serde_json::from_value(result).expect("a result");
    Gathered {
        folder: PathBuf::from("out"),
        alone: vec![None; result.groups.len()],
        claims: kerf_report::claims::Claims::new(&result),
        result,
        evidence: Some(serde_json::from_value(evidence).expect("evidence")),
        evaluations,
        ir: (
            Vec::new(),
            vec![IrLine {
                text: "  ret void".into(),
                at: Some((0, 66)),
            }],
        ),
        ptx: "// PTX".into(),
    }
}

fn opened(g: &Gathered, width: u32) -> (Browser, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("report.html");
    std::fs::write(&file, page::page(g).expect("a page")).expect("written");
    (Browser::open(&file, width, 900), dir)
}

#[test]
fn it_draws_itself_and_answers() {
    let g = recorded(|_, _| ());
    let (mut b, _dir) = opened(&g, 1280);
    let text = b.eval("document.getElementById('verdict').innerText");
    let text = text.as_str().expect("text");
    assert!(text.contains("times as fast"), "{text}");
    assert!(text.contains("predicted"), "{text}");
    // The canvas has more than one colour.
    let drawn = "(() => { const c = document.querySelector('#front canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return new Set(new Uint32Array(d.buffer)).size; })()";
    assert!(b.eval(drawn).as_u64() > Some(20));
    // A line opens and closes.
    let count = "document.querySelectorAll('#source .detail').length";
    b.eval("document.querySelector('#source button.l').click()");
    assert_eq!(b.eval(count), json!(1));
    let detail = b.eval("document.querySelector('#source .detail').innerText");
    assert!(
        detail.as_str().is_some_and(|t| t.contains("erfc")),
        "{detail}"
    );
    b.eval("document.querySelector('#source button.l').click()");
    assert_eq!(b.eval(count), json!(0));
    // IR and PTX.
    b.eval("[...document.querySelectorAll('[role=tab]')].find(t => t.textContent.startsWith('PTX')).click()");
    assert_eq!(
        b.eval("document.querySelector('#source pre').textContent"),
        json!("// PTX")
    );
    // Points by keyboard: two are kept and compared.
    b.eval("document.querySelector('#front canvas').focus()");
    for k in ["ArrowRight", "Enter", "ArrowRight", "ArrowRight", "Enter"] {
        b.key(k);
    }
    let heads =
        b.eval("[...document.querySelectorAll('.compare th')].map(t => t.textContent).join()");
    assert_eq!(heads, json!("variable,A,B"));
    assert!(
        b.eval("document.querySelectorAll('.compare tr.differs').length")
            .as_u64()
            > Some(0)
    );
    // Dark and light.
    let ground = "getComputedStyle(document.body).backgroundColor";
    let before = b.eval(ground);
    b.eval("document.getElementById('theme').click()");
    assert_ne!(b.eval(ground), before);
    assert_eq!(b.complaints, Vec::<String>::new());
}

/// A page says of other inputs and of measurements what its result has records of.
#[test]
fn what_is_not_recorded_is_not_claimed() {
    let g = recorded(|r, _| {
        r["validation"] = Value::Null;
        r["speedup"]["kind"] = json!("measured");
        r["floor"]["error"] = Value::Null;
        r["floor"]["outputs"] = json!([]);
    });
    let (mut b, _dir) = opened(&g, 1280);
    let text = b.eval("document.body.innerText");
    let text = text.as_str().expect("text");
    assert!(text.contains("no other inputs were tried"), "{text}");
    assert!(text.contains("without a recorded measurement"), "{text}");
    assert!(text.contains("the program itself not recorded"), "{text}");
    for claim in [
        "% confidence",
        "20 of 20",
        "Times are measured",
        "Times are predicted",
    ] {
        assert!(!text.contains(claim), "{claim}\n{text}");
    }
    assert_eq!(b.complaints, Vec::<String>::new());
}

/// Sections follow each other, nothing is wider than the window, and no text of a chart leaves it.
#[test]
fn nothing_overlaps_or_is_cut_off() {
    let (plain, shapes) = (recorded(|_, _| ()), with_shapes());
    for (g, width) in [(&plain, 1280), (&shapes, 1280), (&shapes, 400)] {
        let (mut b, _dir) = opened(g, width);
        assert_eq!(
            b.eval("document.scrollingElement.scrollWidth <= innerWidth"),
            json!(true),
            "{width}"
        );
        let order = "(() => { const all = [...document.querySelectorAll('main > section:not([hidden])')].map(s => s.getBoundingClientRect()); return all.every((r, i) => r.height > 60 && (!i || r.top >= all[i - 1].bottom)); })()";
        assert_eq!(b.eval(order), json!(true), "{width}");
        let cut = "[...document.querySelectorAll('svg.chart')].flatMap(s => { const o = s.getBoundingClientRect(); return [...s.querySelectorAll('text')].filter(t => { const r = t.getBoundingClientRect(); return r.left < o.left - 1 || r.right > o.right + 1; }).map(t => t.textContent); })";
        assert_eq!(b.eval(cut), json!([]), "{width}");
        let big = "[...document.querySelectorAll('.fact .big')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)";
        assert_eq!(b.eval(big), json!([]), "{width}");
        assert_eq!(b.complaints, Vec::<String>::new());
    }
}

/// The recorded result with a group of launch shapes in place of its first.
fn with_shapes() -> Gathered {
    let mut g = recorded(|r, _| {
        r["groups"][0]["name"] = json!("launch: bx, by");
        r["groups"][0]["formats"] = json!(["bx=16,by=8", "bx=128,by=2", "bx=8,by=8", "bx=16,by=2"]);
        r["groups"][0]["format"] = json!("bx=128,by=2");
        r["assignment"][0] = json!(1);
    });
    let one = g.evaluations.iter().find(|e| e.phase == "search");
    let one = one.expect("one").clone();
    g.evaluations.retain(|e| e.phase == "baseline");
    let runs = [
        (1, Some(0.75), Some(1e-6), None),
        (1, Some(0.5), Some(1.0), None), // faster, and not within the tolerance
        (2, None, None, Some("too many <b>registers</b>")),
    ];
    for (level, time, error, failure) in runs {
        let mut e = one.clone();
        e.levels.fill(0);
        e.levels[0] = level;
        (e.time, e.error, e.failure) = (time, error, failure.map(str::to_owned));
        g.evaluations.push(e);
    }
    g
}

#[test]
fn shapes_of_launches_are_a_heat_map() {
    let g = with_shapes();
    let (mut b, _dir) = opened(&g, 1280);
    let text = |b: &mut Browser, what: &str| {
        b.eval(&format!(
            "[...document.querySelectorAll('table.heat {what}')].map(t => t.textContent).join('|')"
        ))
    };
    assert_eq!(text(&mut b, "thead th"), json!("by \\ bx|8|16|128"));
    assert_eq!(text(&mut b, "tbody th"), json!("2|8"));
    // One did not run, one is chosen; one failed, one is the program's own; the others are not in the space.
    assert_eq!(text(&mut b, "td"), json!("|·|0.750◯|failed|1.000•|"));
    assert_eq!(text(&mut b, "td.chosen"), json!("0.750◯"));
    let why = b.eval("document.querySelector('table.heat td.off').title");
    assert_eq!(why, json!("bx 8, by 8: too many <b>registers</b>"));
    let strength = "[...document.querySelectorAll('table.heat td[style]')].map(t => t.style.background.match(/(\\d+)%/)[1]).join()";
    assert_eq!(b.eval(strength), json!("44,4"));
    assert_eq!(
        b.eval("document.querySelector('nav a[href=\"#launch\"]') !== null"),
        json!(true)
    );
    assert_eq!(b.complaints, Vec::<String>::new());
    // Without shapes there is no such section.
    let (mut b, _dir) = opened(&recorded(|_, _| ()), 1280);
    assert_eq!(
        b.eval("document.getElementById('launch').hidden"),
        json!(true)
    );
}

#[test]
fn a_hostile_kernel_injects_nothing() {
    const EVIL: &str =
        "</script><script>window.taken = 1</script><img src=x onerror='window.taken = 1'>{{js}}";
    let g = recorded(|r, e| {
        r["workload"] = json!(format!("/tmp/{EVIL}/{{{{data}}}}<b>.toml"));
        r["groups"][0]["name"] = json!(EVIL);
        r["warnings"] = json!([EVIL]);
        e["sources"][0]["text"] = json!(format!("{EVIL}\n").repeat(80));
        e["workload"] = json!(EVIL);
    });
    let (mut b, _dir) = opened(&g, 1280);
    assert_eq!(b.eval("typeof window.taken"), json!("undefined"));
    assert_eq!(b.eval("document.querySelectorAll('img').length"), json!(0));
    let shown = b.eval("document.querySelector('.warnings li').textContent");
    assert_eq!(shown, json!(EVIL));
    assert_eq!(b.eval("document.title"), json!("{{data}}<b>.toml - Kerf"));
    assert_eq!(b.complaints, Vec::<String>::new());
    // Nor does a table in Markdown.
    assert!(
        markdown::markdown(&g)
            .lines()
            .all(|l| !l.contains("<script"))
    );
}

#[test]
fn ten_thousand_evaluations_are_drawn() {
    let mut g = recorded(|_, _| ());
    let one = g
        .evaluations
        .iter()
        .find(|e| e.phase == "search")
        .expect("one")
        .clone();
    for i in 0..10_000 {
        let mut e = one.clone();
        e.time = Some(0.5 + f64::from(i % 997) / 1000.0);
        e.error = Some(1e-9 * 1.001f64.powi(i));
        g.evaluations.push(e);
    }
    let (mut b, _dir) = opened(&g, 1280);
    b.eval("document.querySelector('#front canvas').focus()");
    b.key("ArrowRight");
    assert_eq!(
        b.eval("document.querySelector('.tip').style.display"),
        json!("block")
    );
    assert_eq!(b.complaints, Vec::<String>::new());
}

#[test]
fn the_text_names_what_was_cut_and_why() {
    let g = recorded(|_, _| ());
    let t = explain::explain(&g);
    assert!(t.contains("\ncut:\n") && t.contains("\nkept:\n"), "{t}");
    let p = t
        .lines()
        .find(|l| l.contains("black_scholes: p"))
        .expect("a line");
    assert!(
        p.contains("kept f64") && p.contains("f32 costs") && p.contains("limit 1e-5"),
        "{p}"
    );
}
