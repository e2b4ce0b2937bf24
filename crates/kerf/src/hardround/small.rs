//! Small formats: every argument, counted by its number of identical bits.
use super::search::PROGRESS_AFTER;
use super::{SearchArgs, find, show, threads};
use crate::DeviceArg;
use crate::fail::Failure;
use crate::files;
use crate::output::{Format, Style, note, say};
use crate::table::Table;
use kerf_exec::cuda::CudaExecutor;
use kerf_hardround::certificate::Written;
use kerf_hardround::exhaustive::{ArgumentTally, tally};
use kerf_hardround::leaf::{HardCase, Query};
use kerf_hardround::units::{Units, words, work};
use kerf_hardround_gpu::small;
use std::ops::ControlFlow;
use std::time::Instant;

fn on_cpu(query: &Query, units: &Units, threads: usize) -> (ArgumentTally, Vec<HardCase>) {
    let mut sum = ArgumentTally::default();
    let mut cases: Vec<HardCase> = Vec::new();
    let (began, mut said, mut done) = (Instant::now(), Instant::now(), 0);
    work(
        units,
        0..u64::MAX,
        threads,
        |_| true,
        |g, _| tally(query, g),
        |_, _, (t, c)| {
            sum.add(&t);
            cases.extend(c);
            done += 1;
            if said.elapsed() >= PROGRESS_AFTER {
                said = Instant::now();
                let left =
                    began.elapsed().as_secs_f64() / done as f64 * (units.len() - done) as f64;
                let share = 100.0 * done as f64 / units.len() as f64;
                note(&format!(
                    "{share:5.1} %, about {} left",
                    show::duration(left)
                ));
            }
            ControlFlow::Continue(())
        },
    );
    (sum, cases)
}

fn on_gpu(
    query: &Query,
    units: &Units,
    threads: usize,
    ordinal: i32,
) -> Result<(ArgumentTally, Vec<HardCase>), Failure> {
    let arch = format!("sm_{}", CudaExecutor::capability(ordinal)?);
    let module = small::program(&arch)?;
    let ptx = kerf_ir::finish::ptx(&module, &arch).map_err(|e| Failure::new(e.to_string()))?;
    let mut exec = CudaExecutor::new(&ptx, &[small::KERNEL.to_owned()], ordinal)?;
    Ok(small::count(
        &mut exec,
        query,
        units,
        threads,
        small::SmallBatchSizes::default(),
    )?)
}

/// Refuses what is for binary64 alone.
fn check(a: &SearchArgs) -> Result<(), Failure> {
    if a.processes > 0 {
        return Err(Failure::new("--processes is for binary64")
            .help("leave it away: small formats use all cores of one process"));
    }
    if a.resume || a.certificate.is_some() {
        return Err(
            Failure::new("small formats have no certificate: every argument is visited")
                .help("leave --resume and --certificate away"),
        );
    }
    Ok(())
}

/// What was counted.
struct Counted {
    query: Query,
    sum: ArgumentTally,
    /// Zero is an argument, and its value exact.
    zero_exact: bool,
    /// The hard cases, in order.
    listed: Vec<Written>,
    seconds: f64,
}

impl Counted {
    /// Visits every argument that was asked for.
    fn visit(a: &SearchArgs, query: Query, units: &Units) -> Result<Counted, Failure> {
        let began = Instant::now();
        let shown = crate::progress::Work::begin("visiting every argument");
        let (mut sum, mut cases) = match a.device {
            DeviceArg::Cpu => on_cpu(&query, units, threads(a.threads)),
            DeviceArg::Cuda => on_gpu(&query, units, threads(a.threads), a.gpu)?,
        };
        drop(shown);
        if a.from.is_none()
            && let Some(odd) = query.function.odd()
        {
            sum.mirror(odd, &mut cases);
        }
        let mut zero_exact = units.zero;
        if let Some(Ok(value)) = units.at_zero(&query)
            && let Some(k) = value.k
        {
            zero_exact = false;
            sum.count(k);
            cases.extend((k >= query.bits).then_some(HardCase { x: 0.0, value }));
        }
        cases.sort_by(|a, b| a.x.total_cmp(&b.x));
        Ok(Counted {
            sum,
            zero_exact,
            seconds: began.elapsed().as_secs_f64(),
            listed: cases.iter().map(Written::new).collect(),
            query,
        })
    }

    fn words(&self) -> String {
        words(self.query.function, self.query.format)
    }

    fn exact(&self) -> u64 {
        self.sum.exact + u64::from(self.zero_exact)
    }

    fn json(&self, device: DeviceArg) -> serde_json::Value {
        serde_json::json!({
            "schema": "kerf.hardround-counts/1",
            "function": self.query.function.name(),
            "format": self.query.format.name,
            "arguments": self.sum.total(),
            "by_k": self.sum.by_k,
            "exact": self.exact(),
            "out_of_range": self.sum.out_of_range,
            "next_to_numbers": self.sum.uniform,
            "bits": self.query.bits,
            "cases": self.listed,
            "device": if device == DeviceArg::Cuda { "cuda" } else { "cpu" },
            "seconds": self.seconds,
        })
    }

    fn csv(&self) -> String {
        let rows = self.listed.iter().map(|w| format!("{},{}", w.x, w.k));
        let all: Vec<String> = std::iter::once("x,k".to_owned()).chain(rows).collect();
        all.join("\n") + "\n"
    }

    /// The arguments alone, one a line.
    fn list(&self) -> String {
        let title = format!(
            "# {}, at least {} identical bits",
            self.words(),
            self.query.bits
        );
        let rows = self.listed.iter().map(|w| w.x.clone());
        std::iter::once(title)
            .chain(rows)
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"
    }

    fn human(&self, style: Style) -> String {
        let (sum, listed) = (&self.sum, &self.listed);
        let mut text = format!("{}, {} arguments\n", style.bold(&self.words()), sum.total());
        let mut t = Table::new(
            0,
            ["k", "arguments", "by chance"].map(str::to_owned).to_vec(),
        );
        let inside: u64 = sum.by_k.iter().sum();
        for (k, n) in sum.by_k.iter().enumerate().filter(|(_, n)| **n > 0) {
            let chance = inside as f64 * 2f64.powi(-(k as i32));
            t.row(vec![k.to_string(), n.to_string(), format!("{chance:.1}")]);
        }
        text += &t.render(style);
        text += &format!("{} exact", self.exact());
        if sum.out_of_range > 0 {
            text += &format!(", {} out of range or at a limit", sum.out_of_range);
        }
        if sum.uniform > 0 {
            text += &format!(
                ", {} all within 2^-40 of a number, as next to zero, and not counted by k",
                sum.uniform
            );
        }
        let bits = self.query.bits;
        text += &format!("; {} others with {bits} bits or more", listed.len());
        let hard: u64 = sum.by_k.iter().skip(bits as usize).sum();
        let unlisted = hard.saturating_sub(listed.len() as u64);
        if unlisted > 0 {
            text += &format!(
                " are listed, and {unlisted} not: they are in stretches where all have them, as next to a limit"
            );
        }
        for w in listed.iter().take(100) {
            text += &format!("\n  {} {}", w.x, w.k);
        }
        if listed.len() > 100 {
            text += &format!("\n  ... {} more; --out FILE has all", listed.len() - 100);
        }
        format!("{text}\n{}\n", style.dim(&show::duration(self.seconds)))
    }
}

/// Runs the command.
pub fn run(a: &SearchArgs, format: Format, style: Style) -> Result<i32, Failure> {
    check(a)?;
    let query = Query {
        function: find(&a.function)?,
        format: a.number,
        // By default the list has about the hardest dozens.
        bits: a.bits.unwrap_or(a.number.precision + 2),
        isa: None,
    };
    let units = match (a.from, a.to) {
        (None, None) => Units::all(&query),
        (Some(from), Some(to)) => Units::new(&query, from, to)?,
        _ => {
            return Err(Failure::new("--from and --to belong together")
                .help("give both, or none for the whole domain"));
        }
    };
    if let Some(out) = &a.out {
        show::check(out)?;
    }
    let counted = Counted::visit(a, query, &units)?;
    if let Some(out) = &a.out {
        let text = match out.extension().and_then(|e| e.to_str()) {
            Some("json") => format!("{}\n", counted.json(a.device)),
            Some("csv") => counted.csv(),
            _ => counted.list(),
        };
        files::write_whole(out, &text).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", out.display()))
                .help("choose another file with --out")
        })?;
    }
    say(&match format {
        Format::Json => format!("{}\n", counted.json(a.device)),
        Format::Csv => counted.csv(),
        Format::Human => counted.human(style),
    })?;
    Ok(0)
}
