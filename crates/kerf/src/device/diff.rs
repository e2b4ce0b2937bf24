//! `kerf device diff`: two profiles, figure by figure.
use super::load;
use super::marks::{Marks, UNKNOWN};
use super::tables;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_device::bits;
use kerf_device::operation::catalogue;
use kerf_device::picture::short_number;
use kerf_device::profile::{DeviceProfile, Figure, OperationProfile};
use serde_json::json;

/// Which two.
#[derive(clap::Args)]
pub struct Args {
    /// Name, card, compute capability or file of a profile.
    a: String,
    /// The profile to compare it with.
    b: String,
}

/// A kind of figure that operations have.
type Quantity = (&'static str, fn(&OperationProfile) -> &Figure);

const QUANTITIES: [Quantity; 5] = [
    ("throughput", |o| &o.throughput),
    ("latency", |o| &o.latency),
    ("latency to a consumer", |o| &o.latency_to_consumer),
    ("registers", |o| &o.registers),
    ("energy", |o| &o.energy_pj),
];

/// A figure that both have.
struct Pair {
    what: String,
    a: (f64, String),
    b: (f64, String),
}

/// A kind of figure: what both have, and how many only one has.
struct Section {
    name: &'static str,
    pairs: Vec<Pair>,
    only_a: usize,
    only_b: usize,
}

impl Section {
    fn new(name: &'static str) -> Section {
        Section {
            name,
            pairs: Vec::new(),
            only_a: 0,
            only_b: 0,
        }
    }

    fn add(&mut self, what: &str, a: Option<(f64, String)>, b: Option<(f64, String)>) {
        match (a, b) {
            (Some(a), Some(b)) => self.pairs.push(Pair {
                what: what.to_owned(),
                a,
                b,
            }),
            (Some(_), None) => self.only_a += 1,
            (None, Some(_)) => self.only_b += 1,
            (None, None) => {}
        }
    }
}

fn compare(a: &DeviceProfile, b: &DeviceProfile) -> Vec<Section> {
    let (marks_a, marks_b) = (Marks::new(a), Marks::new(b));
    let mut limits = Section::new("limits");
    for ((name, fa, unit), (_, fb, _)) in tables::limits(a).into_iter().zip(tables::limits(b)) {
        let get = |f: &Figure, m: &Marks| {
            let shown = |v| format!("{} {}", tables::limit(v, unit), m.mark(&f.source));
            f.value.map(|v| (v, shown(v)))
        };
        limits.add(name, get(fa, &marks_a), get(fb, &marks_b));
    }
    let mut all = vec![limits];
    for (name, of) in QUANTITIES {
        let mut s = Section::new(name);
        for o in catalogue() {
            let get = |p: &DeviceProfile, m: &Marks| {
                let f = of(p.operations.get(&o.key)?);
                Some((f.value?, m.figure(f)))
            };
            s.add(&o.key, get(a, &marks_a), get(b, &marks_b));
        }
        all.push(s);
    }
    let mut accuracy = Section::new("correct bits");
    for o in catalogue() {
        let get = |p: &DeviceProfile, m: &Marks| {
            let known = p.operations.get(&o.key)?.accuracy.as_ref()?;
            let c = bits::correct(known, o.format)?;
            let kind = kerf_device::picture::caution(c.measure);
            Some((
                c.bits,
                format!("{:.1}{kind} {}", c.bits, m.mark(&known.source)),
            ))
        };
        accuracy.add(&o.key, get(a, &marks_a), get(b, &marks_b));
    }
    all.push(accuracy);
    all
}

fn ratio(p: &Pair) -> Option<f64> {
    (p.a.0 != 0.0).then(|| p.b.0 / p.a.0)
}

/// Runs the command.
pub fn run(args: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let (a, b) = (load(&args.a)?, load(&args.b)?);
    let sections = compare(&a, &b);
    if format == Format::Json {
        let list: Vec<_> = sections
            .iter()
            .map(|s| {
                let pairs: Vec<_> = s
                    .pairs
                    .iter()
                    .map(|p| json!({ "what": p.what, "a": p.a.0, "b": p.b.0, "ratio": ratio(p) }))
                    .collect();
                json!({ "quantity": s.name, "figures": pairs, "only_a": s.only_a, "only_b": s.only_b })
            })
            .collect();
        let answer =
            json!({ "schema": "kerf.device-diff/1", "a": a.name, "b": b.name, "sections": list });
        say(&format!("{answer}\n"))?;
        return Ok(0);
    }
    let mut out = format!("a: {}: {}\nb: {}: {}\n", a.name, a.gpu, b.name, b.gpu);
    for s in &sections {
        if s.pairs.is_empty() && s.only_a + s.only_b == 0 {
            continue;
        }
        out += &format!("\n{}\n", style.bold(s.name));
        if !s.pairs.is_empty() {
            let mut t = Table::new(1, ["", a.name.as_str(), b.name.as_str(), "b/a"]);
            for p in &s.pairs {
                t.row([
                    p.what.clone(),
                    p.a.1.clone(),
                    p.b.1.clone(),
                    ratio(p).map_or(UNKNOWN.into(), short_number),
                ]);
            }
            out += &t.render(style);
        }
        for (n, name) in [(s.only_a, &a.name), (s.only_b, &b.name)] {
            if n > 0 {
                out += &style.dim(&format!("  {n} only in {name}\n"));
            }
        }
    }
    let legend = |which: &str, p: &DeviceProfile| {
        format!("\nmarks of {which}, {}\n{}", p.name, Marks::new(p).legend())
    };
    out += &legend("a", &a);
    out += &legend("b", &b);
    say(&out)?;
    Ok(0)
}
