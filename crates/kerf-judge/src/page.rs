//! A judgement as a page: one HTML file without a script. Every word of the user's goes through `escaped`.
use crate::cases::sizes_in_words;
use crate::speed::Pace;
use crate::text::{headline, speed_line};
use crate::verdict::{CandidateDecision, CandidateVerdict, CaseOutcome, TriedCase};
use kerf_report::markup::{CSS, escaped, fact, table};
use kerf_run::job::LeftOut;
use std::fmt::Write;

fn number(x: Option<f64>) -> String {
    match x {
        Some(0.0) => "0".into(),
        Some(x) => format!("{x:.2e}"),
        None => "-".into(),
    }
}

fn head(v: &CandidateVerdict) -> String {
    let name = v.candidate.file_name().unwrap_or_default();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>{0} - Kerf</title>\n<style>{CSS}</style>\n</head>\n<body>\n<header class=\"top\"><h1>Kerf</h1><span class=\"file\">{0}</span><nav aria-label=\"Sections\"><a href=\"#defects\">Defects</a><a href=\"#errors\">Errors</a><a href=\"#inputs\">Inputs</a></nav></header>\n<main>\n<section id=\"verdict\" aria-label=\"Verdict\"><p class=\"headline\">{1}</p><div class=\"verdict\">",
        escaped(&name.to_string_lossy()),
        escaped(&headline(v))
    )
}

fn facts(v: &CandidateVerdict) -> String {
    let good = v.decision == CandidateDecision::Accepted;
    let n = &v.inputs;
    let correct = match v.correct {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    let about = format!(
        "{} of {} inputs that count failed; {} left out",
        n.failed, n.counted, n.left_out
    );
    let mut o = fact("Correct", correct, &about, v.correct == Some(true));
    let (big, more) = match (&v.speed, &v.no_speed) {
        (Some(s), _) => (format!("{:.2}×", s.speedup), speed_line(s)),
        (None, why) => ("-".to_owned(), why.clone().unwrap_or_default()),
    };
    let faster = matches!(v.pace, Pace::Faster | Pace::PredictedFaster);
    o += &fact("Speed-up", &big, &more, faster);
    let limit = format!("{} at most {:e}", v.metric, v.tolerance);
    o += &fact("Tolerance", &format!("{:e}", v.tolerance), &limit, false);
    let against = format!("against {}", v.original.display());
    o += &fact("Verdict", v.decision.word(), &against, good);
    o + "</div></section>\n"
}

fn defects_section(v: &CandidateVerdict) -> String {
    let mut o = String::from("<section id=\"defects\"><h2>Defects</h2>");
    if v.defects.is_empty() {
        return o + "<p class=\"about\">None was found.</p></section>\n";
    }
    o += "<p class=\"about\">Each at the smallest sizes that were found to show it.</p>";
    let row = |d: &crate::verdict::FoundDefect| {
        let values = d.smallest.values.map_or("as generated", |v| v.name());
        vec![
            d.words.clone(),
            d.inputs.to_string(),
            sizes_in_words(&d.smallest.sizes),
            values.into(),
            d.message.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = v.defects.iter().map(row).collect();
    let heads = [
        "defect",
        "#inputs",
        "smallest sizes",
        "values",
        "what it shows",
    ];
    o += &table(&heads, &rows);
    o + "</section>\n"
}

fn errors_section(v: &CandidateVerdict) -> String {
    let mut o = String::from(
        "<section id=\"errors\"><h2>Errors</h2><p class=\"about\">The largest over all inputs that count, against the original's reference in double-double.</p>",
    );
    let row = |e: &crate::verdict::WorstErrors| {
        vec![
            e.name.clone(),
            number(e.original),
            number(e.candidate),
            e.inputs.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = v.errors.iter().map(row).collect();
    o += &table(&["output", "#original", "#candidate", "#inputs"], &rows);
    o + "</section>\n"
}

fn outcome(c: &TriedCase) -> String {
    match c.outcome {
        CaseOutcome::Passed => "passed".into(),
        CaseOutcome::Same => "the same input as another".into(),
        CaseOutcome::NotTried => "not tried: time was up".into(),
        CaseOutcome::LeftOut => {
            let why = c.left_out.as_ref().map(LeftOut::words);
            format!("left out: {}", why.unwrap_or_default())
        }
        CaseOutcome::Failed => {
            let all: Vec<&str> = c.findings.iter().map(|f| f.defect.words()).collect();
            format!("failed: {}", all.join("; "))
        }
    }
}

fn inputs_section(v: &CandidateVerdict) -> String {
    let mut o = String::from("<section id=\"inputs\"><h2>Inputs</h2>");
    let row = |c: &TriedCase| {
        let worst = |pick: fn(&kerf_run::job::OutputErrors) -> Option<f64>| {
            number(c.outputs.iter().filter_map(pick).reduce(f64::max))
        };
        vec![
            c.case.name.clone(),
            sizes_in_words(&c.case.sizes),
            worst(|o| o.original),
            worst(|o| o.candidate),
            if c.case.checked { "yes" } else { "no" }.into(),
            outcome(c),
        ]
    };
    let rows: Vec<Vec<String>> = v.cases.iter().map(row).collect();
    let heads = [
        "input",
        "sizes",
        "#original",
        "#candidate",
        "checked",
        "outcome",
    ];
    o += &table(&heads, &rows);
    if !v.notes.is_empty() {
        o += "<p class=\"about\">Noticed, and deciding nothing:</p><ul>";
        for n in &v.notes {
            let _ = write!(o, "<li>{}</li>", escaped(n));
        }
        o += "</ul>";
    }
    o + "</section>\n"
}

/// The page.
pub fn page(v: &CandidateVerdict) -> String {
    let foot = format!(
        "</main>\n<footer>Made by Kerf {} in {:.1} s.</footer>\n</body>\n</html>\n",
        escaped(&v.kerf),
        v.wall_s
    );
    let sections = [
        head(v),
        facts(v),
        defects_section(v),
        errors_section(v),
        inputs_section(v),
        foot,
    ];
    sections.concat()
}
