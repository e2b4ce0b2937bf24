//! Lists of hard cases as text, CSV, JSON and in CORE-MATH's form.
use crate::fail::Failure;
use crate::files;
use crate::output::Style;
use crate::table::Table;
use kerf_hardround::certificate::Written;
use kerf_hardround::finished::{FinishedUnits, TRIVIAL};
use kerf_hardround::format::{hex, parse};
use kerf_hardround::leaf::Query;
use kerf_hardround::units::{expected, words};
use std::path::Path;

/// A finished search.
pub struct Summary {
    /// What was asked.
    pub query: Query,
    /// Start of the range.
    pub from: f64,
    /// End of the range.
    pub to: f64,
    /// Whether zero is in it.
    pub zero: bool,
    /// The value at zero, if it is not exact and hard to round.
    pub at_zero: Option<Written>,
    /// Whether the value at zero is exact.
    pub zero_exact: bool,
    /// What was found in all units.
    pub done: FinishedUnits,
    /// Time taken, without that of what was resumed.
    pub seconds: f64,
    /// Of that, until the GPU was ready.
    pub opened: Option<f64>,
    /// Where.
    pub device: String,
}

impl Summary {
    fn cases(&self) -> Vec<&Written> {
        let mut all: Vec<&Written> = self.done.cases.iter().collect();
        all.extend(&self.at_zero);
        let x = |w: &Written| parse(&w.x).unwrap_or(f64::NAN);
        all.sort_by(|a, b| x(a).total_cmp(&x(b)));
        all
    }
    fn arguments(&self) -> u64 {
        self.done.arguments
    }
    fn title(&self) -> String {
        format!(
            "{}, [{}, {}), at least {} identical bits after the round bit",
            words(self.query.function, self.query.format),
            hex(self.from),
            hex(self.to),
            self.query.bits
        )
    }
    /// Arguments by how they were dealt with, where that is worth saying.
    fn trivial(&self) -> Vec<(&'static str, u64)> {
        let all = TRIVIAL.into_iter().zip(self.done.trivial);
        let all = all.map(|((_, what), n)| (what, n));
        all.filter(|(_, n)| *n > 0).collect()
    }
    fn exact(&self) -> (u64, Vec<&String>) {
        let n = self.done.exact + u64::from(self.zero_exact);
        (n, self.done.exact_first.values().flatten().collect())
    }
}

/// A time for people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.1} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s if s < 200_000.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86400.0),
    }
}

fn row(w: &Written) -> [String; 6] {
    [
        w.x.clone(),
        w.k.to_string(),
        w.round_bit.to_string(),
        w.repeated.to_string(),
        w.sign.to_string(),
        w.binade.to_string(),
    ]
}

const HEAD: [&str; 6] = ["x", "k", "round bit", "repeated", "sign", "binade"];

/// For people.
pub fn human(s: &Summary, style: Style) -> String {
    let cases = s.cases();
    let mut out = format!("{}\n", style.bold(&s.title()));
    let mut t = Table::new(1, HEAD.map(str::to_owned).to_vec());
    for w in &cases {
        t.row(row(w).to_vec());
    }
    if !cases.is_empty() {
        out += &t.render(style);
    }
    let n = s.arguments();
    out += &format!(
        "{} cases among {n} arguments; chance would give {:.1}\n",
        cases.len(),
        expected(u128::from(n), s.query.bits)
    );
    let (exact, first) = s.exact();
    if exact > 0 {
        let some: Vec<&str> = first.iter().take(4).map(|x| x.as_str()).collect();
        let zero = if s.zero_exact { ["0"].as_slice() } else { &[] };
        let some = [zero, &some].concat().join(" ");
        let dots = if first.len() > 4 { " ..." } else { "" };
        out += &format!("{exact} exact cases, not listed: {some}{dots}\n");
    }
    for (what, n) in s.trivial() {
        out += &format!("{n} arguments {what}\n");
    }
    let c = s.done.counts;
    out += &format!(
        "intervals tested {:?}, failed {:?}; {} arguments walked, {} evaluated with MPFR\n",
        c.tested, c.failed, c.walked, c.evaluated
    );
    let rate = n as f64 / s.seconds.max(1e-9);
    let opened = s.opened.map_or(String::new(), |o| {
        format!(" ({o:.2} s of it until the GPU was ready)")
    });
    out += &style.dim(&format!(
        "{} on {}{opened}, {rate:.2e} arguments/s\n",
        duration(s.seconds),
        s.device
    ));
    out
}

/// For programs.
pub fn json(s: &Summary) -> serde_json::Value {
    let (exact, first) = s.exact();
    let trivial: Vec<_> = s
        .trivial()
        .into_iter()
        .map(|(w, n)| serde_json::json!({"what": w, "arguments": n}))
        .collect();
    serde_json::json!({
        "schema": "kerf.hardround/1",
        "function": s.query.function.name(),
        "format": s.query.format.name,
        "from": hex(s.from),
        "to": hex(s.to),
        "bits": s.query.bits,
        "device": s.device,
        "arguments": s.arguments(),
        "expected": expected(u128::from(s.arguments()), s.query.bits),
        "seconds": s.seconds,
        "counts": s.done.counts,
        "exact": exact,
        "exact_first": first,
        "zero_in_range": s.zero,
        "trivial": trivial,
        "cases": s.cases(),
    })
}

/// For spreadsheets: a line a case.
pub fn csv(s: &Summary) -> String {
    let head = HEAD.join(",").replace(' ', "_");
    let rows = s.cases().into_iter().map(|w| row(w).join(","));
    let lines: Vec<String> = std::iter::once(head).chain(rows).collect();
    lines.join("\n") + "\n"
}

/// Whether the folder of a file is there, asked before the work.
pub fn check(path: &Path) -> Result<(), Failure> {
    let folder = files::folder(path);
    if path.is_dir() || !folder.is_dir() {
        return Err(Failure::new(format!(
            "cannot write {}: there is no folder for it, or it is one",
            path.display()
        ))
        .help("choose another file with --out"));
    }
    Ok(())
}

/// Writes the list in the form that the file's name asks for.
pub fn write(path: &Path, s: &Summary) -> Result<(), Failure> {
    let lines = |head: String, line: &dyn Fn(&Written) -> String| {
        let all = s.cases().into_iter().map(line);
        std::iter::once(head)
            .chain(all)
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"
    };
    let text = match path.extension().and_then(|e| e.to_str()) {
        Some("wc") => lines(format!("# {}", s.title()), &|w| w.x.clone()),
        Some("csv") => csv(s),
        Some("json") => format!("{}\n", json(s)),
        _ => lines(format!("# {}", s.title()), &|w| row(w).join(" ")),
    };
    files::write_whole(path, &text).map_err(|e| {
        Failure::new(format!("cannot write {}: {e}", path.display()))
            .help("make room or choose another file, then give the same command with --resume")
    })
}
