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
use kerf_hardround::worst_cases::{BinadeWorst, worst_by_binade};
use std::path::Path;

/// A finished search.
pub struct Summary {
    /// What was asked.
    pub query: Query,
    /// The range; none for the whole domain.
    pub range: Option<(f64, f64)>,
    /// Arguments of the whole domain that follow from others: why, and how many.
    pub left_out: Vec<(&'static str, u128)>,
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
        let range = match self.range {
            Some((from, to)) => format!("[{}, {})", hex(from), hex(to)),
            None => "all numbers".into(),
        };
        format!(
            "{}, {range}, at least {} identical bits after the round bit",
            words(self.query.function, self.query.format),
            self.query.bits
        )
    }
    /// Lines about what is left out.
    fn left_out(&self) -> Vec<String> {
        let line = |(why, n): &(&str, u128)| {
            format!(
                "{:.4e} arguments are left out: their cases follow from {why}",
                *n as f64
            )
        };
        self.left_out.iter().map(line).collect()
    }
    /// Arguments by how they were dealt with, where that is worth saying.
    fn trivial(&self) -> Vec<(&'static str, u64)> {
        let all = TRIVIAL.into_iter().zip(self.done.trivial);
        let all = all.map(|((_, what), n)| (what, n));
        all.filter(|(_, n)| *n > 0).collect()
    }
    /// Arguments of which it is not proven without a search that all are hard or none is.
    fn searched(&self) -> u64 {
        let trivial: u64 = self.done.trivial.iter().sum();
        self.arguments().saturating_sub(trivial)
    }
    /// Cases that chance would give among those.
    fn expected(&self) -> f64 {
        expected(u128::from(self.searched()), self.query.bits)
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

const WORST_HEAD: [&str; 6] = [
    "binade",
    "cases",
    "to nearest",
    "k",
    "toward 0, up, down",
    "k",
];

fn worst_row(b: &BinadeWorst) -> Vec<String> {
    let mut cells = vec![b.binade.clone(), b.cases.to_string()];
    for w in [&b.nearest, &b.directed] {
        cells.extend(match w {
            Some(w) => [w.x.clone(), w.k.to_string()],
            None => ["".into(), "".into()],
        });
    }
    cells
}

/// For people.
pub fn human(s: &Summary, style: Style) -> String {
    let cases = s.cases();
    let mut out = format!("{}\n", style.bold(&s.title()));
    let mut t = match s.range {
        Some(_) => Table::new(1, HEAD.map(str::to_owned).to_vec()),
        None => Table::new(1, WORST_HEAD.map(str::to_owned).to_vec()),
    };
    match s.range {
        Some(_) => cases.iter().for_each(|w| t.row(row(w).to_vec())),
        None => worst_by_binade(cases.iter().copied())
            .iter()
            .for_each(|b| t.row(worst_row(b))),
    }
    if !cases.is_empty() {
        out += &t.render(style);
    }
    let (n, searched) = (s.arguments(), s.searched());
    let among = match searched < n {
        true => format!(" among the {searched} that were searched"),
        false => String::new(),
    };
    out += &format!(
        "{} cases among {n} arguments; chance would give {:.1}{among}\n",
        cases.len(),
        s.expected()
    );
    let (exact, first) = s.exact();
    if exact > 0 {
        let some: Vec<&str> = first.iter().take(4).map(|x| x.as_str()).collect();
        let zero = if s.zero_exact { ["0"].as_slice() } else { &[] };
        let some = [zero, &some].concat().join(" ");
        let dots = if first.len() > 4 { " ..." } else { "" };
        out += &format!("{exact} exact cases, not listed: {some}{dots}\n");
    }
    for line in s.left_out() {
        out += &format!("{line}\n");
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
    let (from, to) = s.range.unwrap_or((-f64::MAX, f64::MAX));
    let left_out: Vec<_> = s
        .left_out
        .iter()
        .map(|(why, n)| serde_json::json!({"why": why, "arguments": n.to_string()}))
        .collect();
    serde_json::json!({
        "schema": "kerf.hardround/1",
        "all": s.range.is_none(),
        "left_out": left_out,
        "function": s.query.function.name(),
        "format": s.query.format.name,
        "from": hex(from),
        "to": hex(to),
        "bits": s.query.bits,
        "device": s.device,
        "arguments": s.arguments(),
        "expected": s.expected(),
        "seconds": s.seconds,
        "counts": s.done.counts,
        "exact": exact,
        "exact_first": first,
        "zero_in_range": s.zero,
        "trivial": trivial,
        "worst": worst_by_binade(s.cases()),
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
        Some("wc") => {
            let head: Vec<String> = std::iter::once(s.title()).chain(s.left_out()).collect();
            lines(format!("# {}", head.join("\n# ")), &|w| w.x.clone())
        }
        Some("csv") => csv(s),
        Some("json") => format!("{}\n", json(s)),
        _ => lines(format!("# {}", s.title()), &|w| row(w).join(" ")),
    };
    files::write_whole(path, &text).map_err(|e| {
        Failure::new(format!("cannot write {}: {e}", path.display()))
            .help("make room or choose another file, then give the same command with --resume")
    })
}
