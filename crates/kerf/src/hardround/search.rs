//! The search in binary64: progress, checkpoints, the list.
use super::show::{self, Summary};
use super::{SearchArgs, find, threads};
use crate::DeviceArg;
use crate::cluster::{Role, role};
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress;
use kerf_cluster::{Team, TeamMember};
use kerf_hardround::certificate::{Header, Written};
use kerf_hardround::cost::{SearchMachine, VISITED_S};
use kerf_hardround::finished::FinishedUnits;
use kerf_hardround::format::{RangeError, hex};
use kerf_hardround::journal::{Journal, JournalError};
use kerf_hardround::leaf::{HardCase, Query};
use kerf_hardround::search::Isa;
use kerf_hardround::symmetry::domain;
use kerf_hardround::units::{QueryError, Units, expected};
use kerf_hardround_gpu::GpuError;
use kerf_hardround_gpu::campaign::{Campaign, CampaignError, CampaignProgress};
use kerf_hardround_gpu::engine::{SearchEngine, gpus, own_gpu};
use kerf_hardround_gpu::spread;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time between two lines of progress.
pub const PROGRESS_AFTER: Duration = Duration::from_secs(5);
/// The same on a terminal, where the line is overwritten.
const PROGRESS_LIVE: Duration = Duration::from_millis(500);

/// Bits with which the whole domain is planned first, to know how many arguments have to be searched.
const PLANNED_BITS: u32 = 46;
/// Lists longer than this are asked about.
const LONG_LIST: f64 = 1e5;
/// Searches that take longer than this, as far as can be said before, are asked about.
const LONG_SEARCH_S: f64 = 2.0 * 3600.0;
/// Those that take longer than this say so first.
const WORTH_SAYING_S: f64 = 60.0;

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

impl From<GpuError> for Failure {
    fn from(e: GpuError) -> Failure {
        match e {
            GpuError::Exec(e) => e.into(),
            other => Failure::new(other.to_string()),
        }
    }
}

impl From<JournalError> for Failure {
    fn from(e: JournalError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            JournalError::Open { .. } | JournalError::NotAFile(_) => {
                f.help("choose another place with --certificate")
            }
            JournalError::Append { .. } => {
                f.help("make room, then give the same command with --resume: nothing is lost")
            }
            JournalError::Close { .. } => {
                f.help("make room, then give the same command with --resume")
            }
            JournalError::Exists(_) => {
                f.help("add --resume to go on with that search, or remove the file")
            }
            JournalError::Damaged { .. } => f.help("remove the file to begin anew"),
            JournalError::OtherSearch { header: of, .. } => f.help(format!(
                "it has {} on [{}, {}) with {} bits; choose another --certificate",
                of.function, of.from, of.to, of.bits
            )),
            JournalError::InUse(_) => {
                f.help("wait for its end, or choose another place with --certificate")
            }
        }
    }
}

impl From<CampaignError> for Failure {
    fn from(e: CampaignError) -> Failure {
        match e {
            CampaignError::Journal(e) => e.into(),
            CampaignError::Gpu(e) => e.into(),
            CampaignError::Cluster(e) => e.into(),
            other => Failure::new(other.to_string()),
        }
    }
}

/// Runs the command.
pub fn run(a: &SearchArgs, format: Format, style: Style) -> Result<i32, Failure> {
    match role(a.processes)? {
        // The coordinator says what is wrong, once.
        Role::Worker(member) => Ok(match serve(a, &member) {
            Ok(()) => 0,
            Err(e) => {
                note(&format!("process {}: {e}", member.local_rank));
                2
            }
        }),
        Role::Coordinator(team) => here(a, Some(team), format, style),
        Role::Alone => here(a, None, format, style),
    }
}

/// Works for another process.
fn serve(a: &SearchArgs, member: &TeamMember) -> Result<(), Failure> {
    let asked = Asked::new(a)?;
    let header = asked.header(device(a));
    let gpu = (a.device == DeviceArg::Cuda).then(|| own_gpu(member.local_rank));
    let mut engine = SearchEngine::new(gpu, share(a, Some(member)))?;
    let Asked { query, units, .. } = &asked;
    Ok(spread::work(member, &mut engine, query, units, &header)?)
}

/// Threads of each process: those asked for, or its share of the cores.
fn share(a: &SearchArgs, member: Option<&TeamMember>) -> usize {
    match (a.threads, member) {
        (0, Some(member)) => member.threads(),
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
struct Asked {
    query: Query,
    /// None for the whole domain.
    range: Option<(f64, f64)>,
    units: Units,
}

impl Asked {
    fn new(a: &SearchArgs) -> Result<Asked, Failure> {
        let query = |bits| -> Result<Query, Failure> {
            Ok(Query {
                function: find(&a.function)?,
                format: a.number,
                bits,
                isa: Some(a.vectors.unwrap_or_else(Isa::best)),
            })
        };
        if a.all {
            let first = query(a.bits.unwrap_or(PLANNED_BITS))?;
            let units = Units::domain(&first);
            let enough = |bits: &u32| expected(units.searched(), *bits) <= LONG_LIST;
            let bits = a.bits.or_else(|| (1..=200).find(enough));
            return Ok(match bits.filter(|b| *b != first.bits) {
                Some(bits) => {
                    let query = query(bits)?;
                    let units = Units::domain(&query);
                    Asked {
                        query,
                        range: None,
                        units,
                    }
                }
                None => Asked {
                    query: first,
                    range: None,
                    units,
                },
            });
        }
        let (Some(from), Some(to), Some(bits)) = (a.from, a.to, a.bits) else {
            return Err(
                Failure::new("--from, --to and --bits, or --all, are needed for binary64")
                    .help("for example: kerf hardround exp --from 1 --to 1.0001 --bits 40"),
            );
        };
        let query = query(bits)?;
        let units = Units::new(&query, from, to)?;
        Ok(Asked {
            query,
            range: Some((from, to)),
            units,
        })
    }

    fn header(&self, device: &str) -> Header {
        match self.range {
            Some((from, to)) => Header::new(&self.query, from, to, self.units.len(), device),
            None => Header::for_domain(&self.query, self.units.len(), device),
        }
    }
}

/// Says where processes share GPUs.
fn note_shared_gpus(team: &Team) {
    // Ranks that each see a GPU of their own see one.
    if std::env::var_os("CUDA_VISIBLE_DEVICES").is_some() {
        return;
    }
    let here = team.own.as_ref().map_or(team.workers, |m| m.local_size);
    let there = gpus(here);
    if there < here {
        note(&format!(
            "{here} processes of this machine share {there} GPU{}",
            if there == 1 { "" } else { "s" }
        ));
    }
}

/// A line about how far a search is.
fn progress_line(p: &CampaignProgress) -> String {
    format!(
        "{}{:5.1} %, near {}: {} cases, {:.2e} arguments/s, about {} left",
        match progress::live() {
            true => progress::bar(p.share),
            false => String::new(),
        },
        100.0 * p.share,
        p.near,
        p.cases,
        p.arguments as f64 / p.elapsed_s,
        show::duration(p.left_s)
    )
}

/// Searches the units that are not finished, with others if there are any.
fn search_units(
    a: &SearchArgs,
    team: Option<Team>,
    query: &Query,
    campaign: &mut Campaign,
) -> Result<(), CampaignError> {
    let gpu = (a.device == DeviceArg::Cuda).then_some(a.gpu);
    match team {
        Some(team) => {
            if gpu.is_some() {
                note_shared_gpus(&team);
            }
            let threads = share(a, team.own.as_ref());
            let lost = |again| {
                note(&format!(
                    "a process was lost; {again} of its units are done by others"
                ));
            };
            spread::coordinate_units(team, query, threads, gpu.is_some(), campaign, lost)?;
        }
        None => campaign.search(query, gpu, threads(a.threads))?,
    }
    Ok(())
}

/// Searches, with others if there are any, and shows what was found.
fn here(a: &SearchArgs, team: Option<Team>, format: Format, style: Style) -> Result<i32, Failure> {
    let asked = Asked::new(a)?;
    let header = asked.header(device(a));
    let Asked {
        query,
        range,
        units,
    } = asked;
    ask(a, &query, &units)?;
    let machine = machine(a, &query, team.as_ref());
    ask_about_time(a, &query, &units, machine)?;
    if let Some(out) = &a.out {
        show::check(out)?;
    }
    let before = match certificate(a)? {
        Some(path) => {
            let (journal, finished) = Journal::open(&path, &header, a.resume)?;
            (Some(journal), finished)
        }
        None => (None, FinishedUnits::default()),
    };
    let mut said = Instant::now();
    let mut tell = |p: &CampaignProgress| {
        let after = match progress::live() {
            true => PROGRESS_LIVE,
            false => PROGRESS_AFTER,
        };
        if said.elapsed() >= after {
            said = Instant::now();
            progress::status(&progress_line(p));
        }
    };
    let mut campaign = Campaign::new(&header, &units, machine, before, &mut tell);
    if campaign.resumed_units > 0 {
        note(&format!(
            "{} of {} units are there already",
            campaign.resumed_units,
            units.len()
        ));
    }
    campaign.until = a
        .max_time
        .map(|s| campaign.began + Duration::from_secs_f64(s));
    let searched = search_units(a, team, &query, &mut campaign);
    campaign.close()?;
    match searched {
        Err(CampaignError::TimeOver) => return time_over(&campaign, &units),
        other => other?,
    }
    let zero = units.at_zero(&query);
    let at_zero = zero.and_then(Result::ok).filter(|v| v.k.is_some());
    let summary = Summary {
        at_zero: at_zero
            .filter(|v| v.k >= Some(query.bits))
            .map(|value| Written::new(&HardCase { x: 0.0, value })),
        zero_exact: units.zero && at_zero.is_none(),
        query,
        range,
        left_out: match range {
            Some(_) => Vec::new(),
            None => domain(query.function, query.format).left_out,
        },
        zero: units.zero,
        seconds: campaign.began.elapsed().as_secs_f64(),
        opened: campaign.opened,
        done: campaign.finished,
        device: device(a).into(),
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

/// The time that was given is over: how far the search is, and how to go on. The list is not written.
fn time_over(campaign: &Campaign, units: &Units) -> Result<i32, Failure> {
    let done = campaign.finished.units.len();
    say(&format!(
        "not finished: {done} of {} units, {} cases so far; the same command with --resume goes on\n",
        units.len(),
        campaign.finished.cases.len()
    ))?;
    Ok(1)
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
    Ok(())
}

/// What searches.
fn machine(a: &SearchArgs, q: &Query, team: Option<&Team>) -> SearchMachine {
    let workers = team.map_or(1, |t| t.workers.max(1));
    let own = team.and_then(|t| t.own.as_ref());
    SearchMachine {
        threads: share(a, own) * own.map_or(1, |_| workers),
        gpus: match a.device {
            DeviceArg::Cuda => own.map_or_else(|| gpus(workers), |_| workers),
            DeviceArg::Cpu => 0,
        },
        isa: q.isa.unwrap_or(Isa::Scalar),
    }
}

/// Refuses a search that would take hours, with the reason, before anything is written. One that is resumed was begun
/// knowingly.
fn ask_about_time(
    a: &SearchArgs,
    q: &Query,
    units: &Units,
    machine: SearchMachine,
) -> Result<(), Failure> {
    let seconds = machine.seconds(units.cost());
    let on = match machine.gpus {
        0 => format!("{} threads", machine.threads),
        1 => "one GPU".to_owned(),
        n => format!("{n} GPUs"),
    };
    let how_long = format!("about {} on {on}", show::duration(seconds));
    if seconds <= LONG_SEARCH_S || a.yes || a.resume || a.max_time.is_some() {
        if seconds > WORTH_SAYING_S && !a.resume {
            note(&how_long);
        }
        return Ok(());
    }
    let place = units.costliest().map_or(String::new(), |(grid, cost)| {
        let ends = [grid.first, grid.end - 1].map(|m| hex(grid.value(m)));
        let part = 100.0 * machine.seconds(cost) / seconds;
        let visited = cost.total() / grid.len() as f64 >= VISITED_S;
        let why = match visited {
            true => "; it varies too fast between neighbouring arguments there, which are visited one by one",
            false => "",
        };
        format!(" ({part:.0} % of it from {} to {}{why})", ends[0], ends[1])
    });
    let what = q.function.name();
    Err(
        Failure::new(format!("{what}: the search would take {how_long}{place}"))
            .help("choose smaller arguments or a shorter range, give --max-time and --resume later, or add --yes"),
    )
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
