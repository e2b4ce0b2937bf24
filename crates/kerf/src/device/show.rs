//! `kerf device show`: a profile as tables and a picture.
use super::marks::{Marks, UNKNOWN};
use super::{load, tables};
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::table::Table;
use kerf_device::picture;
use kerf_device::profile::{DeviceProfile, figures};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Which profile, and how.
#[derive(clap::Args)]
pub struct Args {
    /// Name (`kerf device list`), card (h100), compute capability (9.0) or file of a profile.
    #[arg(value_name = "NAME|FILE")]
    profile: String,
    /// Also draw accuracy against throughput into this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Also print the notes of single figures.
    #[arg(long)]
    notes: bool,
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let p = load(&a.profile)?;
    if let Some(path) = &a.svg {
        let drawing = picture::svg(&p).ok_or_else(|| {
            Failure::new(format!(
                "there is nothing to draw: {} has no operation with both throughput and accuracy",
                p.name
            ))
            .help("leave --svg away")
        })?;
        kerf_files::write_whole(path, drawing).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", path.display()))
                .help("choose another file with --svg, in a folder that exists")
        })?;
        note(&format!("picture in {}", path.display()));
    }
    match format {
        Format::Json => say(&(p.to_json() + "\n"))?,
        Format::Human | Format::Csv => say(&human(&p, a.notes, style))?,
    }
    Ok(0)
}

/// The profile as tables.
pub fn human(p: &DeviceProfile, with_notes: bool, style: Style) -> String {
    let marks = Marks::new(p);
    let mut out = format!("{}: {}\n", style.bold(&p.name), p.gpu);
    out += &origin(p);
    let mut section = |title: &str, body: Option<String>| {
        if let Some(body) = body {
            out += &format!("\n{}\n{body}", style.bold(title));
        }
    };
    let render = |t: Option<Table>| t.map(|t| t.render(style));
    section(
        "Latency in cycles (fast: on the special-function unit)",
        render(tables::by_format(p, &marks, |o| &o.latency)),
    );
    section(
        "Latency to a consumer of another kind, in cycles",
        render(tables::by_format(p, &marks, |o| &o.latency_to_consumer)),
    );
    section(
        "Functions: instructions by unit, results per clock per SM, energy per result",
        render(tables::functions(p, &marks)),
    );
    section(
        "Conversions: results per clock per SM",
        render(tables::conversions(p, &marks)),
    );
    section(
        "Selects, shuffles and memory",
        render(tables::others(p, &marks)),
    );
    section("Issued together", render(co_issue(p, &marks)));
    section("Limits", render(Some(limits(p, &marks))));
    section("Accuracy against throughput", picture::characters(p));
    section("Sources", Some(marks.legend()));
    let notes = notes(p);
    match with_notes {
        true => section("Notes", (!notes.is_empty()).then(|| list(&notes))),
        false if notes.is_empty() => {}
        false => {
            let n: usize = notes.values().map(Vec::len).sum();
            out += &format!("\n{n} figures have notes, which --notes prints.\n");
        }
    }
    out
}

fn origin(p: &DeviceProfile) -> String {
    let o = &p.origin;
    let mut out = format!("compute capability {}", p.arch);
    match o.mode.as_str() {
        "published" => out += &format!("; figures from publications, collected {}", o.date),
        mode => {
            out += &format!("; measured {} ({mode}) with Kerf {}", o.date, o.kerf);
            if !o.driver.is_empty() {
                out += &format!(", driver {}", o.driver);
            }
            if let Some(s) = o.seconds {
                out += &format!(", in {s:.0} s");
            }
        }
    }
    out.push('\n');
    for r in &o.remarks {
        out += &format!("{r}\n");
    }
    out
}

fn limits(p: &DeviceProfile, marks: &Marks) -> Table {
    let mut t = Table::new(1, ["limit", "", ""]);
    for (name, f, unit) in tables::limits(p) {
        let value = f.value.map_or(UNKNOWN.into(), |v| tables::limit(v, unit));
        t.row([name.to_owned(), value, marks.mark(&f.source)]);
    }
    t
}

fn co_issue(p: &DeviceProfile, marks: &Marks) -> Option<Table> {
    let head = ["first", "second", "both per clock", "serialisation"];
    let mut t = Table::new(2, head);
    for c in &p.co_issue {
        t.row([
            c.first.clone(),
            c.second.clone(),
            marks.figure(&c.together),
            marks.figure(&c.serialisation),
        ]);
    }
    (!t.is_empty()).then_some(t)
}

/// What figures say beside their numbers: each text with the figures that say it.
fn notes(p: &DeviceProfile) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |text: &str, field: &str| {
        let field = field.strip_prefix("operations.").unwrap_or(field);
        all.entry(text.to_owned())
            .or_default()
            .push(field.to_owned());
    };
    for (field, f) in figures(p) {
        if let Some(n) = &f.note {
            add(n, &field);
        }
    }
    for (key, o) in &p.operations {
        if let Some(n) = o.accuracy.as_ref().and_then(|a| a.note.as_ref()) {
            add(n, &format!("{key}.accuracy"));
        }
        for r in &o.remarks {
            add(r, key);
        }
    }
    all
}

fn list(notes: &BTreeMap<String, Vec<String>>) -> String {
    let line = |(text, fields): (&String, &Vec<String>)| {
        let shown = match fields.len() {
            0..=4 => fields.join(", "),
            n => format!("{} and {} more", fields[..3].join(", "), n - 3),
        };
        format!("  {shown}:\n    {text}\n")
    };
    notes.iter().map(line).collect()
}
