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
use kerf_hardround::exhaustive::{Tally, tally};
use kerf_hardround::leaf::{Case, Query};
use kerf_hardround::units::{Units, words, work};
use kerf_hardround_gpu::small;
use std::ops::ControlFlow;
use std::time::Instant;

fn on_cpu(query: &Query, units: &Units, threads: usize) -> (Tally, Vec<Case>) {
    let mut sum = Tally::default();
    let mut cases: Vec<Case> = Vec::new();
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
) -> Result<(Tally, Vec<Case>), Failure> {
    let arch = format!("sm_{}", CudaExecutor::capability(ordinal)?);
    let module = small::program(&arch)?;
    let ptx = kerf_ir::finish::ptx(&module, &arch).map_err(|e| Failure::new(e.to_string()))?;
    let mut exec = CudaExecutor::new(&ptx, &[small::KERNEL.to_owned()], ordinal)?;
    Ok(small::count(
        &mut exec,
        query,
        units,
        threads,
        small::Room::default(),
    )?)
}

/// Runs the command.
pub fn run(a: &SearchArgs, format: Format, style: Style) -> Result<i32, Failure> {
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
    let function = find(&a.function)?;
    let query = Query {
        function,
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
    let began = Instant::now();
    let shown = crate::progress::Work::begin("visiting every argument");
    let (mut sum, mut cases) = match a.device {
        DeviceArg::Cpu => on_cpu(&query, &units, threads(a.threads)),
        DeviceArg::Cuda => on_gpu(&query, &units, threads(a.threads), a.gpu)?,
    };
    drop(shown);
    if a.from.is_none()
        && let Some(odd) = function.odd()
    {
        sum.mirror(odd, &mut cases);
    }
    let mut zero_exact = units.zero;
    if let Some(Ok(value)) = units.at_zero(&query)
        && let Some(k) = value.k
    {
        zero_exact = false;
        sum.count(k);
        cases.extend((k >= query.bits).then_some(Case { x: 0.0, value }));
    }
    cases.sort_by(|a, b| a.x.total_cmp(&b.x));
    let seconds = began.elapsed().as_secs_f64();
    let listed: Vec<Written> = cases.iter().map(Written::new).collect();
    let document = serde_json::json!({
        "schema": "kerf.hardround-counts/1",
        "function": function.name(),
        "format": a.number.name,
        "arguments": sum.total(),
        "by_k": sum.by_k,
        "exact": sum.exact + u64::from(zero_exact),
        "out_of_range": sum.out_of_range,
        "next_to_numbers": sum.uniform,
        "bits": query.bits,
        "cases": listed,
        "device": if a.device == DeviceArg::Cuda { "cuda" } else { "cpu" },
        "seconds": seconds,
    });
    let rows = || {
        let rows = listed.iter().map(|w| format!("{},{}", w.x, w.k));
        let all: Vec<String> = std::iter::once("x,k".to_owned()).chain(rows).collect();
        all.join("\n") + "\n"
    };
    if let Some(out) = &a.out {
        let text = match out.extension().and_then(|e| e.to_str()) {
            Some("json") => format!("{document}\n"),
            Some("csv") => rows(),
            _ => {
                let title = format!(
                    "# {}, at least {} identical bits",
                    words(function, a.number),
                    query.bits
                );
                let rows = listed.iter().map(|w| w.x.clone());
                std::iter::once(title)
                    .chain(rows)
                    .collect::<Vec<_>>()
                    .join("\n")
                    + "\n"
            }
        };
        files::write_whole(out, &text).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", out.display()))
                .help("choose another file with --out")
        })?;
    }
    if format == Format::Json {
        say(&format!("{document}\n"))?;
        return Ok(0);
    }
    if format == Format::Csv {
        say(&rows())?;
        return Ok(0);
    }
    let mut text = format!(
        "{}, {} arguments\n",
        style.bold(&words(function, a.number)),
        sum.total()
    );
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
    text += &format!("{} exact", sum.exact + u64::from(zero_exact));
    if sum.out_of_range > 0 {
        text += &format!(", {} out of range or at a limit", sum.out_of_range);
    }
    if sum.uniform > 0 {
        text += &format!(
            ", {} all within 2^-40 of a number, as next to zero, and not counted by k",
            sum.uniform
        );
    }
    text += &format!("; {} others with {} bits or more", listed.len(), query.bits);
    let hard: u64 = sum.by_k.iter().skip(query.bits as usize).sum();
    let unlisted = hard.saturating_sub(listed.len() as u64);
    if unlisted > 0 {
        text += &format!(
            " are listed, and {unlisted} not: they are in stretches where all have them, as next to a limit"
        );
    }
    let shown = listed.iter().take(100);
    for w in shown {
        text += &format!("\n  {} {}", w.x, w.k);
    }
    if listed.len() > 100 {
        text += &format!("\n  ... {} more; --out FILE has all", listed.len() - 100);
    }
    say(&format!(
        "{text}\n{}\n",
        style.dim(&show::duration(seconds))
    ))?;
    Ok(0)
}
