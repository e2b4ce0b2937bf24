//! An application's result as a page, as text and as Markdown.
//!
//! It has no source of its own to show, so the page is plain HTML without a script. Architecture Invariant: every word of
//! the user's goes through [`escaped`].
use crate::ReportError;
use crate::claims::checked;
use crate::markup::{CSS, escaped, fact, table};
use crate::words::{bound, number};
use kerf_ir::kernels::shortened;
use kerf_svg::{Element, Svg, circle, line, text};
use kerf_tune::app::AppResult;
use std::fmt::Write;
use std::path::Path;

/// Reads the folder of `kerf tune --app`; none if it holds another kind of result.
pub fn read(dir: &Path) -> Result<Option<AppResult>, ReportError> {
    let path = dir.join("result.json");
    // What cannot be read is told by those who read the other kind.
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Ok(None);
    };
    let Ok(v) = serde_json::from_str::<serde_json::Value>(&text) else {
        return Ok(None);
    };
    if v["schema"] != "kerf.tune-app/1" {
        return Ok(None);
    }
    let r = serde_json::from_value(v);
    r.map(Some)
        .map_err(|e| ReportError::Page(format!("{}: {e}", path.display())))
}

/// An error, where it is one.
fn error(e: f64) -> String {
    number(Some(e).filter(|e| e.is_finite()))
}

/// What kernels tuned alone gave together.
fn alone(r: &AppResult) -> Option<String> {
    let l = r.local.as_ref()?;
    let within = if l.within { "within" } else { "beyond" };
    Some(match l.speedup {
        Some(s) => format!("{s:.2}x, error {}, {within} the tolerance", number(l.error)),
        None => "the application failed".to_owned(),
    })
}

fn limit(r: &AppResult) -> String {
    format!("{} at most {}", r.metric, bound(r.tolerance))
}

/// The way times came about, as far as it was recorded.
fn kind(r: &AppResult) -> &str {
    match r.time_by.split([':', ' ', ',']).next() {
        Some("predicted") => "predicted",
        Some("measured") => "measured",
        _ => "by a measurement that was not recorded",
    }
}

/// Does the record bear out that the plan is within the tolerance?
fn is_within(r: &AppResult) -> bool {
    r.verdict == "tuned" && r.error <= r.tolerance
}

/// Groups that the plan changes, and those that it leaves.
fn parts(r: &AppResult) -> [Vec<&(String, String)>; 2] {
    let best = r.front.iter().find(|p| p.error <= r.tolerance);
    let lowered = |k: usize| best.is_some_and(|p| p.assignment.get(k).is_some_and(|l| *l > 0));
    let (cut, kept): (Vec<_>, Vec<_>) = r
        .groups
        .iter()
        .enumerate()
        .partition(|(k, _)| r.verdict == "tuned" && lowered(*k));
    [cut, kept].map(|some| some.into_iter().map(|g| g.1).collect())
}

/// The result as text.
pub fn explain(r: &AppResult) -> String {
    let mut o = String::new();
    let _ = match r.verdict.as_str() {
        "tuned" => writeln!(
            o,
            "{}: {:.2}x {}, error {} ({})",
            r.command,
            r.speedup,
            kind(r),
            error(r.error),
            limit(r)
        ),
        _ if r.evaluations + r.layouts == 0 => writeln!(
            o,
            "{}: no plan was evaluated in the time that the search had",
            r.command
        ),
        _ => writeln!(
            o,
            "{}: nothing faster is within the tolerance ({})",
            r.command,
            limit(r)
        ),
    };
    let _ = writeln!(
        o,
        "{} numbers compared: {}; with {}",
        r.numbers, r.compared, r.reference
    );
    if let Some(c) = checked(r.checked.as_ref()) {
        let _ = writeln!(o, "{c}");
    }
    let _ = writeln!(o, "time {}", r.time_by);
    let _ = writeln!(o, "\nkernels:");
    for k in &r.kernels {
        let s = if k.launches == 1 { "" } else { "es" };
        let left = if k.tuned { "" } else { ", left as it is" };
        let _ = writeln!(
            o,
            "  {}: {:.1} % of the time, {} launch{s}{left}",
            shortened(&k.name),
            100.0 * k.part,
            k.launches
        );
    }
    for (title, some) in ["cut", "kept"].iter().zip(parts(r)) {
        if !some.is_empty() {
            let _ = writeln!(o, "\n{title}:");
        }
        for (name, format) in some {
            let to = if *title == "cut" { "->" } else { "kept" };
            let _ = writeln!(o, "  {name}: {to} {format}");
        }
    }
    if !r.left_out.is_empty() {
        let _ = writeln!(o, "\nnot searched:");
    }
    for l in &r.left_out {
        let kernel = shortened(&l.kernel);
        let _ = writeln!(o, "  {} of {kernel}: {}", l.what, l.why);
    }
    let faster = r
        .front
        .iter()
        .find(|p| p.error > r.tolerance && p.error.is_finite());
    if let Some(p) = faster {
        let _ = writeln!(
            o,
            "\nmore: with a tolerance of {} it would be {:.2}x",
            error(p.error),
            1.0 / p.time
        );
    }
    if let Some(text) = alone(r) {
        let _ = writeln!(o, "\nkernels tuned alone and put together: {text}");
    }
    for w in &r.warnings {
        let _ = writeln!(o, "warning: {w}");
    }
    o
}

/// The result for a pull request.
pub fn markdown(r: &AppResult) -> String {
    let text = explain(r);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let fence = if text.contains("```") { "~~~" } else { "```" };
    format!(
        "**Kerf**: `{}`\n\n{fence}\n{}\n{fence}\n",
        first.replace('`', "'"),
        rest.trim_end()
    )
}

/// Plans of the front, time across and error upwards, by its logarithm.
fn chart(r: &AppResult) -> String {
    let some: Vec<(f64, f64)> = r
        .front
        .iter()
        .filter(|p| p.error.is_finite())
        .map(|p| (p.time, p.error.max(1e-17).log10()))
        .collect();
    let limit = r.tolerance.max(1e-17).log10();
    let (mut low, mut high, mut left, mut right) = (limit, limit, 0.95f64, 1.05f64);
    for (t, e) in &some {
        (low, high) = (low.min(*e), high.max(*e));
        (left, right) = (left.min(*t), right.max(*t));
    }
    (low, high) = (low.floor(), (high + 0.5).ceil());
    let x = |t: f64| 60.0 + 530.0 * (t - left) / (right - left);
    let y = |e: f64| 250.0 - 225.0 * (e - low) / (high - low);
    let label = "time against error of the plans that none is better than in both";
    let mut svg = Svg::inline("chart", 620.0, 300.0, label);
    let soft = |e: Element| e.font_size(12.0).fill("var(--soft)");
    let step = ((high - low) / 6.0).ceil().max(1.0);
    let mut e = low;
    while e <= high {
        svg.add(line((60.0, y(e)), (590.0, y(e))).stroke("var(--line)"));
        svg.add(soft(text(54.0, y(e) + 4.0, &format!("1e{e}")).end()));
        e += step;
    }
    for k in 0..=4 {
        let t = left + (right - left) * f64::from(k) / 4.0;
        svg.add(soft(text(x(t), 270.0, &format!("{t:.2}")).middle()));
    }
    svg.add(soft(text(325.0, 290.0, "time over the program's").middle()));
    let tolerance = line((60.0, y(limit)), (590.0, y(limit))).stroke("var(--bad)");
    svg.add(tolerance.dashes("5 4"));
    let words = format!("tolerance {}", bound(r.tolerance));
    let words = text(588.0, y(limit) - 5.0, &words).end();
    svg.add(words.font_size(12.0).fill("var(--bad)"));
    for (t, e) in &some {
        let words = format!("{:.2}x, error {}", 1.0 / t, error(10f64.powf(*e)));
        let mark = circle(x(*t), y(*e), 5.0).fill("var(--accent)");
        svg.add(mark.title(&words));
    }
    svg.finish()
}

/// The beginning of the page, down to its first section.
fn head(r: &AppResult) -> String {
    let headline = match (is_within(r), r.verdict.as_str()) {
        (true, _) => format!("{:.2} times as fast, within the tolerance", r.speedup),
        (_, "tuned") => "Tuned; the error that was recorded is not within the tolerance".to_owned(),
        _ => "Nothing faster is within the tolerance".to_owned(),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>{0} - Kerf</title>\n<style>{CSS}</style>\n</head>\n<body>\n<header class=\"top\"><h1>Kerf</h1><span class=\"file\">{0}</span><nav aria-label=\"Sections\"><a href=\"#front\">Time and error</a><a href=\"#kernels\">Kernels</a><a href=\"#groups\">Variables</a><a href=\"#repeat\">Repeat it</a></nav></header>\n<main>\n<section id=\"verdict\" aria-label=\"Result\"><p class=\"headline\">{1}</p><div class=\"verdict\">",
        escaped(&r.command),
        escaped(&headline)
    )
}

/// Speed-up, error, what was compared and where it ran; and what to know of them.
fn verdict_section(r: &AppResult) -> String {
    let tuned = is_within(r);
    let mut o = fact("Speed-up", &format!("{:.2}×", r.speedup), &r.time_by, tuned);
    let more = format!("{}; compared with {}", limit(r), r.reference);
    o += &fact(
        &format!("Error: {}", r.metric),
        &error(r.error),
        &more,
        tuned,
    );
    o += &fact(
        "Numbers compared",
        &r.numbers.to_string(),
        &r.compared,
        false,
    );
    o += &fact(
        "Ran on",
        &r.device,
        &checked(r.checked.as_ref()).unwrap_or_default(),
        false,
    );
    o += "</div>";
    if !r.warnings.is_empty() {
        o += "<ul>";
        for w in &r.warnings {
            let _ = write!(o, "<li>{}</li>", escaped(w));
        }
        o += "</ul>";
    }
    o + "</section>\n"
}

/// Time against error.
fn front_section(r: &AppResult) -> String {
    let mut o = String::from(
        "<section id=\"front\"><h2>Time against error</h2><p class=\"about\">Plans that none is better than in both. Left is faster, down is more accurate.</p>",
    );
    o += &chart(r);
    let rows: Vec<Vec<String>> = r
        .front
        .iter()
        .map(|p| {
            let within = if p.error <= r.tolerance { "yes" } else { "no" };
            vec![
                format!("{:.3}", p.time),
                format!("{:.2}", 1.0 / p.time),
                error(p.error),
                within.into(),
            ]
        })
        .collect();
    o += &table(&["#time", "#speed-up", "#error", "within"], &rows);
    o + "</section>\n"
}

/// The kernels, and what came of each tuned alone.
fn kernels_section(r: &AppResult) -> String {
    let mut o = String::from(
        "<section id=\"kernels\"><h2>Kernels</h2><p class=\"about\">By their part of the kernels' run time.</p>",
    );
    let rows: Vec<Vec<String>> = r
        .kernels
        .iter()
        .map(|k| {
            let tuned = if k.tuned { "tuned" } else { "left as it is" };
            vec![
                shortened(&k.name),
                format!("{:.1} %", 100.0 * k.part),
                k.launches.to_string(),
                tuned.into(),
            ]
        })
        .collect();
    o += &table(&["kernel", "#part", "#launches", ""], &rows);
    if let Some(text) = alone(r) {
        let _ = write!(
            o,
            "<p class=\"about\">Each kernel tuned alone, and the plans put together: {}.</p>",
            escaped(&text)
        );
    }
    o + "</section>\n"
}

/// What changes together, and what it became.
fn groups_section(r: &AppResult) -> String {
    let mut o = String::from(
        "<section id=\"groups\"><h2>Variables and buffers</h2><p class=\"about\">What changes together, and what it became. Buffers are numbered in the order of their allocation.</p>",
    );
    let [cut, kept] = parts(r);
    let row = |changed: &str| {
        let changed = changed.to_owned();
        move |g: &&(String, String)| vec![g.0.clone(), g.1.clone(), changed.clone()]
    };
    let mut rows: Vec<Vec<String>> = cut.iter().map(row("cut")).collect();
    rows.extend(kept.iter().map(row("kept")));
    o += &table(&["variable", "format", ""], &rows);
    o + "</section>\n"
}

/// How to repeat the search, and the end of the page.
fn repeat_section(r: &AppResult) -> String {
    let what = match r.what.is_empty() {
        true => String::new(),
        false => format!(" --what {}", r.what.join(",")),
    };
    format!(
        "<section id=\"repeat\"><h2>Repeat it</h2><pre class=\"command\">kerf tune --app {}{} --tolerance {:e} --metric {} --strategy {} --budget {} --seed {} --out again</pre><p class=\"about\">{} evaluations, {} failed; the search ended: {}; {:.1} s. Run with the plan: <code>KERF_PLAN=plan.json</code> before the command.</p></section>\n</main>\n<footer>Made by Kerf {}. Times are {}.</footer>\n</body>\n</html>\n",
        escaped(&quoted(&r.command)),
        escaped(&what),
        r.tolerance,
        escaped(&r.metric.to_string()),
        escaped(&r.strategy),
        r.budget,
        r.seed,
        r.evaluations,
        r.failed,
        escaped(r.ended.words()),
        r.wall_s,
        escaped(&r.kerf),
        kind(r)
    )
}

/// The result as a page.
pub fn page(r: &AppResult) -> String {
    let sections = [
        head(r),
        verdict_section(r),
        front_section(r),
        kernels_section(r),
        groups_section(r),
        repeat_section(r),
    ];
    sections.concat()
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> AppResult {
        serde_json::from_str(
            r#"{"schema": "kerf.tune-app/1", "kerf": "0.1.0", "verdict": "tuned", "command": "./a '<script>'", "device": "cpu",
            "compared": "all", "numbers": 8, "metric": "max_rel", "tolerance": 1e-5, "reference": "the program",
            "kernels": [{"name": "k<double>", "launches": 2, "part": 0.75, "tuned": true}], "strategy": "guided", "seed": 1,
            "budget": 4, "evaluations": 3, "failed": 0, "ended": "bracketed", "error": 3e-7, "speedup": 1.9,
            "time_by": "predicted: by counts", "groups": [["buffer #1", "f32"], ["k: sum", "f64"]],
            "front": [{"assignment": [1, 1], "time": 0.4, "error": 1e-3}, {"assignment": [1, 0], "time": 0.5, "error": 3e-7},
            {"assignment": [0, 0], "time": 1.0, "error": 0.0}], "warnings": ["other inputs were not tried"], "wall_s": 10.0}"#,
        )
        .expect("a result")
    }

    #[test]
    fn the_text_says_what_was_cut() {
        let t = explain(&result());
        for part in [
            "./a '<script>': 1.90x predicted, error 3.00e-7 (max_rel at most 1e-5)",
            "k<double>: 75.0 % of the time, 2 launches",
            "cut:\n  buffer #1: -> f32\n",
            "kept:\n  k: sum: kept f64\n",
            "more: with a tolerance of 1.00e-3 it would be 2.50x",
            "warning: other inputs were not tried",
        ] {
            assert!(t.contains(part), "{part} in\n{t}");
        }
        assert!(markdown(&result()).starts_with("**Kerf**: `./a"));
    }

    #[test]
    fn nothing_is_claimed_without_its_record() {
        let mut r = result();
        r.time_by.clear();
        for text in [explain(&r), page(&r)] {
            assert!(text.contains("was not recorded"), "{text}");
            for claim in ["x predicted", "x measured", "are predicted", "are measured"] {
                assert!(!text.contains(claim), "{claim} in {text}");
            }
        }
        r.error = f64::NAN;
        assert!(page(&r).contains("is not within the tolerance"));
        // Fields that the text needs are not optional: a result without one is no result.
        let whole = serde_json::to_value(result()).expect("JSON");
        let optional = [
            "checked",
            "counts",
            "kernels_by",
            "local",
            "what",
            "layouts",
            "changed",
        ];
        for field in whole.as_object().expect("an object").keys() {
            let mut less = whole.clone();
            less.as_object_mut().expect("an object").remove(field);
            let read = serde_json::from_value::<AppResult>(less);
            assert_eq!(read.is_ok(), optional.contains(&field.as_str()), "{field}");
        }
    }

    #[test]
    fn the_page_takes_words_as_words() {
        let p = page(&result());
        assert!(!p.contains("<script"), "nothing of the user's is markup");
        assert!(p.contains("k&lt;double&gt;") && p.contains("1.90×"));
        assert_eq!(p.matches("<circle").count(), 3);
    }
}
