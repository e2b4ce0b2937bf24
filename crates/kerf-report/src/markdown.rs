//! A result as Markdown, for a pull request.
use crate::claims::{self, compared, error, other_inputs, speedup};
use crate::gather::Gathered;
use crate::kept::kept;
use crate::words::{bound, lines};
use kerf_tune::result::SearchVerdict;
use std::fmt::Write;

/// Text in a table's cell.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The summary.
pub fn markdown(g: &Gathered) -> String {
    let r = &g.result;
    let mut o = String::new();
    let name = r.workload.file_name().unwrap_or_default().to_string_lossy();
    let _ = writeln!(o, "### Kerf: {}\n", cell(&name));
    let _ = writeln!(o, "| | |\n|---|---|");
    let mut row = |a: &str, b: String| {
        let _ = writeln!(o, "| {a} | {} |", cell(&b));
    };
    row(
        "speed-up",
        match r.verdict {
            SearchVerdict::Tuned => format!("{}, {}", speedup(&r.speedup), r.speedup.by),
            SearchVerdict::Raised => format!(
                "{}, {}; raised, since the program itself is not within the tolerance",
                speedup(&r.speedup),
                r.speedup.by
            ),
            SearchVerdict::Unchanged => "none: nothing faster is within the tolerance".into(),
            SearchVerdict::Unmet => "none: the program itself is not within the tolerance".into(),
        },
    );
    row(
        "error",
        format!(
            "{} {} (tolerance {}, the program itself {})",
            r.criteria.metric,
            error(r.error, &r.outputs),
            bound(r.criteria.tolerance),
            error(r.floor.error, &r.floor.outputs)
        ),
    );
    if let Some(c) = compared(&r.outputs) {
        row("compared", c);
    }
    if let Some(other) = other_inputs(r) {
        row("other inputs", other.sentence());
    }
    row("errors measured on", r.device.clone());
    let _ = writeln!(
        o,
        "\n| variable | lines | format | why not lower |\n|---|---|---|---|"
    );
    for (i, gr) in r.groups.iter().enumerate() {
        let own = gr.group.formats[0];
        let to = match gr.format == own {
            true => own.to_string(),
            false => format!("{own} → {}", gr.format),
        };
        let _ = writeln!(
            o,
            "| {} | {} | {} | {} |",
            cell(&gr.group.name),
            lines(&gr.group.lines),
            cell(&to),
            cell(&kept(g, i))
        );
    }
    let changed = [
        ("Raised", claims::raised(r)),
        ("Rewritten", claims::rewritten(r)),
        ("Math calls by made functions", claims::made(r)),
    ];
    for (title, all) in changed.into_iter().filter(|c| !c.1.is_empty()) {
        let _ = writeln!(o, "\n{title}:\n");
        for e in all {
            let _ = writeln!(o, "- {}", cell(&e));
        }
    }
    let _ = writeln!(
        o,
        "\nKerf {}, {} with seed {}, {} evaluations.",
        r.kerf,
        r.strategy,
        r.seed,
        r.effort.search + r.effort.probes + r.effort.validation
    );
    o
}
