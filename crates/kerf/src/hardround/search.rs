//! The search in binary64: progress, checkpoints, the list.
use super::done::Done;
use super::engine::{Engine, own_gpu};
use super::journal::Journal;
use super::running::Running;
use super::show::{self, Summary};
use super::{SearchArgs, find, spread, threads};
use crate::DeviceArg;
use crate::cluster::{Post, Role, Team, role};
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use kerf_hardround::certificate::{Header, Written};
use kerf_hardround::format::RangeError;
use kerf_hardround::leaf::{HardCase, Query};
use kerf_hardround::search::Isa;
use kerf_hardround::units::{QueryError, Units, expected};
use std::path::PathBuf;

/// Lists longer than this are asked about.
const LONG_LIST: f64 = 1e5;
/// Arguments that have to be evaluated one by one, beyond which is asked.
const MANY: u128 = 1 << 28;
/// The same for sine, cosine and tangent of large arguments, and what one takes.
const MANY_TURNED: u128 = 1 << 34;
const TURN_SECONDS: f64 = 30e-9;

impl From<QueryError> for Failure {
    fn from(e: QueryError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            QueryError::Range(RangeError::NotInFormat(..)) => {
                f.help("choose a number with fewer digits in base 2, such as 0.5 or 0x1.8p-3")
            }
            QueryError::Range(_) => f.help("--from is in the range, --to is its end and not in it"),
            QueryError::Domain { .. } => f.help("choose a range inside the domain"),
        }
    }
}

/// Runs the command.
pub fn run(a: &SearchArgs, format: Format, style: Style) -> Result<i32, Failure> {
    match role(a.processes)? {
        // The coordinator says what is wrong, once.
        Role::Worker(post) => Ok(match serve(a, &post) {
            Ok(()) => 0,
            Err(e) => {
                note(&format!("process {}: {e}", post.local));
                2
            }
        }),
        Role::Coordinator(team) => here(a, Some(team), format, style),
        Role::Alone => here(a, None, format, style),
    }
}

/// Works for another process.
fn serve(a: &SearchArgs, post: &Post) -> Result<(), Failure> {
    let (query, from, to) = query(a)?;
    let units = Units::new(&query, from, to)?;
    let header = Header::new(&query, from, to, units.len(), device(a));
    let gpu = (a.device == DeviceArg::Cuda).then(|| own_gpu(post.local));
    let mut engine = Engine::new(gpu, share(a, Some(post)))?;
    spread::work(post, &mut engine, &query, &units, &header)
}

/// Threads of each process: those asked for, or its share of the cores.
fn share(a: &SearchArgs, post: Option<&Post>) -> usize {
    match (a.threads, post) {
        (0, Some(post)) => post.threads(),
        (n, _) => threads(n),
    }
}

fn device(a: &SearchArgs) -> &'static str {
    match a.device {
        DeviceArg::Cpu => "cpu",
        DeviceArg::Cuda => "cuda",
    }
}

/// What is asked for, and where.
fn query(a: &SearchArgs) -> Result<(Query, f64, f64), Failure> {
    let function = find(&a.function)?;
    let (Some(from), Some(to), Some(bits)) = (a.from, a.to, a.bits) else {
        return Err(
            Failure::new("--from, --to and --bits are needed for binary64")
                .help("for example: kerf hardround exp --from 1 --to 1.0001 --bits 40"),
        );
    };
    let query = Query {
        function,
        format: a.number,
        bits,
        isa: Some(a.vectors.unwrap_or_else(Isa::best)),
    };
    Ok((query, from, to))
}

/// Searches, with others if there are any, and shows what was found.
fn here(a: &SearchArgs, team: Option<Team>, format: Format, style: Style) -> Result<i32, Failure> {
    let (query, from, to) = query(a)?;
    let units = Units::new(&query, from, to)?;
    ask(a, &query, &units)?;
    if let Some(out) = &a.out {
        show::check(out)?;
    }
    let device = device(a);
    let header = Header::new(&query, from, to, units.len(), device);
    let mut journal = None;
    let mut done = Done::default();
    if let Some(path) = certificate(a)? {
        let j;
        (j, done) = Journal::open(&path, &header, a.resume)?;
        journal = Some(j);
    }
    let mut state = Running::new(&header, &units, journal, done);
    if state.resumed > 0 {
        note(&format!(
            "{} of {} units are there already",
            state.resumed,
            units.len()
        ));
    }
    match team {
        Some(team) => {
            let gpu = (a.device == DeviceArg::Cuda).then_some(a.gpu);
            let threads = share(a, team.own.as_ref());
            spread::coordinate_units(team, &query, threads, gpu, &mut state)?;
        }
        None => state.search(a, &query)?,
    }
    if let Some(j) = &mut state.journal {
        j.close()?;
    }
    let zero = units.at_zero(&query);
    let at_zero = zero.and_then(Result::ok).filter(|v| v.k.is_some());
    let summary = Summary {
        at_zero: at_zero
            .filter(|v| v.k >= Some(query.bits))
            .map(|value| Written::new(&HardCase { x: 0.0, value })),
        zero_exact: units.zero && at_zero.is_none(),
        query,
        from,
        to,
        zero: units.zero,
        done: state.done,
        seconds: state.began.elapsed().as_secs_f64(),
        opened: state.opened,
        device: device.into(),
    };
    if let Some(out) = &a.out {
        show::write(out, &summary)?;
    }
    say(&match format {
        Format::Json => format!("{}\n", show::json(&summary)),
        Format::Csv => show::csv(&summary),
        Format::Human => show::human(&summary, style),
    })?;
    Ok(0)
}

/// Refuses what nobody can want without saying so.
fn ask(a: &SearchArgs, q: &Query, units: &Units) -> Result<(), Failure> {
    let expected = expected(units.searched(), q.bits);
    if expected > LONG_LIST && !a.yes {
        return Err(Failure::new(format!(
            "about {expected:.1e} of {:.2e} arguments will have {} bits or more",
            units.searched() as f64,
            q.bits
        ))
        .help("raise --bits, or add --yes to list them all"));
    }
    if units.slow() > MANY && !a.yes {
        return Err(Failure::new(format!(
            "{} varies too fast between neighbouring arguments for the search: about {:.1e} values would be computed one by one",
            q.function.name(),
            units.slow() as f64
        ))
        .help("choose smaller arguments or a shorter range, or add --yes"));
    }
    if units.turned() > MANY_TURNED && !a.yes {
        let turned = units.turned() as f64;
        return Err(Failure::new(format!(
            "{} varies too fast between neighbouring arguments for the search: {turned:.1e} of them would be visited one by one, about {} of a core",
            q.function.name(),
            show::duration(turned * TURN_SECONDS)
        ))
        .help("choose smaller arguments or a shorter range, or add --yes"));
    }
    Ok(())
}

fn certificate(a: &SearchArgs) -> Result<Option<PathBuf>, Failure> {
    if let Some(path) = &a.certificate {
        return Ok(Some(path.clone()));
    }
    if let Some(out) = &a.out {
        let mut name = out.clone().into_os_string();
        name.push(".cert");
        return Ok(Some(name.into()));
    }
    match a.resume {
        true => Err(Failure::new("--resume needs the certificate of the search")
            .help("give --out or --certificate as before")),
        false => Ok(None),
    }
}
