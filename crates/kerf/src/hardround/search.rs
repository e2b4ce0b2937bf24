//! The search in binary64: progress, checkpoints, the list.
use super::done::Done;
use super::journal::Journal;
use super::show::{self, Summary};
use super::{SearchArgs, find, spread, threads};
use crate::DeviceArg;
use crate::cluster::{Post, Role, Team, role};
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress;
use kerf_exec::Executor;
use kerf_exec::cuda::{CudaExecutor, keep};
use kerf_hardround::certificate::{Header, Unit, Written};
use kerf_hardround::format::{Grid, RangeError};
use kerf_hardround::leaf::{Case, Found, Query, search};
use kerf_hardround::search::Isa;
use kerf_hardround::units::{QueryError, Units, expected, work};
use kerf_hardround_gpu::{GpuError, Room, Work, search_opening};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Lists longer than this are asked about.
const LONG_LIST: f64 = 1e5;
/// Arguments that have to be evaluated one by one, beyond which is asked.
const MANY: u128 = 1 << 28;
/// The same for sine, cosine and tangent of large arguments, and what one takes.
const MANY_TURNED: u128 = 1 << 34;
const TURN_SECONDS: f64 = 30e-9;
/// Sub-blocks of a batch on a GPU: enough for all its multiprocessors, and little memory.
pub const BATCH: usize = 1024;
/// Threads that write certificates while a GPU searches.
const WRITERS: usize = 3;
/// Time between two lines of progress.
pub const PROGRESS_AFTER: Duration = Duration::from_secs(5);
/// The same on a terminal, where the line is overwritten.
const PROGRESS_LIVE: Duration = Duration::from_millis(500);

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
    let mut state = Running {
        header: &header,
        units: &units,
        journal,
        resumed: done.numbers.len() as u64,
        done,
        began: Instant::now(),
        said: Instant::now(),
        arguments: 0,
        opened: None,
    };
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
            .map(|value| Written::new(&Case { x: 0.0, value })),
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

/// A GPU with the kernels.
fn gpu(ordinal: i32) -> Result<CudaExecutor, Failure> {
    let arch = format!("sm_{}", CudaExecutor::capability(ordinal)?);
    let compile = || -> Result<String, Failure> {
        let module = kerf_hardround_gpu::program(&arch)?;
        kerf_ir::finish::ptx(&module, &arch).map_err(|e| Failure::new(e.to_string()))
    };
    let kernels = kerf_hardround_gpu::KERNELS.map(str::to_owned);
    // Opening the GPU takes as long as compiling for it.
    std::thread::scope(|scope| {
        let compiling = scope.spawn(compile);
        let _open = keep(ordinal)?;
        let ptx = compiling.join();
        let ptx = ptx.map_err(|_| Failure::new("the kernels could not be compiled"))??;
        Ok(CudaExecutor::new(&ptx, &kernels, ordinal)?)
    })
}

/// The GPU of an engine, opened if it is not; says in `opened` when it was.
fn open<'a>(
    ordinal: i32,
    exec: &'a mut Option<CudaExecutor>,
    began: Instant,
    opened: &mut Option<f64>,
) -> Result<&'a mut dyn Executor, Failure> {
    if exec.is_none() {
        *exec = Some(gpu(ordinal)?);
        *opened = Some(began.elapsed().as_secs_f64());
    }
    match exec {
        Some(e) => Ok(e),
        None => Err(Failure::new("the GPU is not open")),
    }
}

/// The GPU of a process, by its number on the machine; more processes than GPUs share them.
pub fn own_gpu(local: usize) -> i32 {
    (local % gpus(local + 1)) as i32
}

/// GPUs of this machine, up to a number; at least one.
pub fn gpus(most: usize) -> usize {
    let there = |n: &usize| CudaExecutor::capability(*n as i32).is_ok();
    (0..most).take_while(there).count().max(1)
}

/// What searches units.
pub struct Engine {
    /// Number of the GPU, and that GPU once it is open.
    gpu: Option<(i32, Option<CudaExecutor>)>,
    threads: usize,
    /// Seconds until the GPU was ready.
    pub opened: Option<f64>,
}

impl Engine {
    /// The GPU of that number, or the processor.
    pub fn new(ordinal: Option<i32>, threads: usize) -> Result<Engine, Failure> {
        if let Some(n) = ordinal {
            CudaExecutor::capability(n)?;
        }
        Ok(Engine {
            gpu: ordinal.map(|n| (n, None)),
            threads,
            opened: None,
        })
    }

    /// Searches units of a range of numbers, those for which `wanted` says so; `sink` gets each with its line of the
    /// certificate.
    pub fn search(
        &mut self,
        q: &Query,
        units: &Units,
        range: Range<u64>,
        header: &Header,
        wanted: impl Fn(u64) -> bool + Sync,
        mut sink: impl FnMut(Unit, String) -> ControlFlow<()> + Send,
    ) -> Result<(), Failure> {
        let Some((ordinal, exec)) = &mut self.gpu else {
            let each = |g: &Grid, scratch: &mut _| search(q, g, scratch);
            work(units, range, self.threads, wanted, each, |i, g, found| {
                let (unit, text) = line(header, i, &g, &found);
                sink(unit, text)
            });
            return Ok(());
        };
        let work = Work {
            query: q,
            units,
            range,
            threads: self.threads,
            room: Room::usual(BATCH),
        };
        // Certificates take time: this thread has to keep the GPU busy.
        std::thread::scope(|scope| {
            let (send, results) = sync_channel(1024);
            // Theirs alone: when they end, nobody waits for them.
            let results = Arc::new(Mutex::new(results));
            let (written, lines) = sync_channel(1024);
            for _ in 0..WRITERS {
                let (results, written) = (results.clone(), written.clone());
                scope.spawn(move || {
                    loop {
                        let next = results.lock().ok().and_then(|r| r.recv().ok());
                        let Some((i, g, found)) = next else { return };
                        if written.send(line(header, i, &g, &found)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop((results, written));
            scope.spawn(move || {
                for (unit, text) in lines {
                    if sink(unit, text).is_break() {
                        return;
                    }
                }
            });
            let (began, opened) = (Instant::now(), &mut self.opened);
            search_opening(
                || open(*ordinal, exec, began, opened),
                &work,
                wanted,
                |i, g, found| match send.send((i, g, found)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                },
            )
        })?;
        if let Some((_, Some(e))) = &mut self.gpu {
            e.clear();
        }
        Ok(())
    }
}

/// A unit and its line of the certificate.
fn line(header: &Header, i: u64, g: &Grid, found: &Found) -> (Unit, String) {
    let unit = Unit::new(header, i, g, found);
    let text = serde_json::to_string(&unit).unwrap_or_default();
    (unit, text)
}

/// A search under way.
pub struct Running<'a> {
    /// What was asked.
    pub header: &'a Header,
    /// The units.
    pub units: &'a Units,
    journal: Option<Journal>,
    /// Units that are done.
    pub done: Done,
    resumed: u64,
    began: Instant,
    said: Instant,
    arguments: u64,
    opened: Option<f64>,
}

impl Running<'_> {
    fn search(&mut self, a: &SearchArgs, q: &Query) -> Result<(), Failure> {
        let there = self.done.numbers.clone();
        let (units, header) = (self.units, self.header);
        let mut failure = None;
        let wanted = |i| !there.contains(&i);
        let sink = |unit, text: String| match self.keep_unit(unit, &text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failure = Some(e);
                ControlFlow::Break(())
            }
        };
        let gpu = (a.device == DeviceArg::Cuda).then_some(a.gpu);
        let mut engine = Engine::new(gpu, threads(a.threads))?;
        engine.search(q, units, 0..units.len(), header, wanted, sink)?;
        self.opened = engine.opened;
        failure.map_or(Ok(()), Err)
    }

    /// A unit is done: it is written before it counts.
    pub fn keep_unit(&mut self, unit: Unit, text: &str) -> Result<(), Failure> {
        if let Some(j) = &mut self.journal {
            j.line(text)?;
        }
        self.arguments += unit.length;
        let after = match progress::live() {
            true => PROGRESS_LIVE,
            false => PROGRESS_AFTER,
        };
        let said = self.said.elapsed() >= after;
        let at = said.then(|| unit.first.clone());
        self.done.add(unit);
        if let Some(at) = at {
            self.said = Instant::now();
            progress::status(&self.progress(&at));
        }
        Ok(())
    }

    fn progress(&self, at: &str) -> String {
        let seconds = self.began.elapsed().as_secs_f64();
        let (done, all) = (self.done.numbers.len() as u64, self.units.len());
        let cases = self.done.cases.len();
        let each = seconds / (done - self.resumed).max(1) as f64;
        format!(
            "{}{:5.1} %, near {at}: {cases} cases, {:.2e} arguments/s, about {} left",
            match progress::live() {
                true => progress::bar(done as f64 / all as f64),
                false => String::new(),
            },
            100.0 * done as f64 / all as f64,
            self.arguments as f64 / seconds,
            show::duration(each * (all - done) as f64)
        )
    }
}
