//! The search in binary64: progress, checkpoints, the list.
use super::journal::Journal;
use super::show::{self, Summary};
use super::{SearchArgs, find, threads};
use crate::DeviceArg;
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use kerf_exec::cuda::CudaExecutor;
use kerf_hardround::certificate::{Header, Unit};
use kerf_hardround::format::{Grid, hex};
use kerf_hardround::leaf::{Found, Query, search};
use kerf_hardround::search::Isa;
use kerf_hardround::units::{QueryError, Units, expected, work};
use kerf_hardround_gpu::GpuError;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Lists longer than this are asked about.
const LONG_LIST: f64 = 1e5;
/// Arguments that have to be evaluated one by one, beyond which is asked.
const MANY: u128 = 1 << 28;
/// Sub-blocks of a batch on a GPU: enough for all its multiprocessors, and little memory.
const BATCH: usize = 4096;
/// Time between two lines of progress.
const PROGRESS_AFTER: Duration = Duration::from_secs(5);

impl From<QueryError> for Failure {
    fn from(e: QueryError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            QueryError::Range(_) => f.help("--from is in the range, --to is its end and not in it"),
            QueryError::Domain { .. } => f.help("choose a range inside the domain"),
        }
    }
}

impl From<GpuError> for Failure {
    fn from(e: GpuError) -> Failure {
        match e {
            GpuError::Exec(e) => e.into(),
            GpuError::Compile(_) => Failure::new(e.to_string()),
            GpuError::Full(..) => {
                Failure::new(e.to_string()).help("raise --bits, or search on the CPU")
            }
        }
    }
}

/// Runs the command.
pub fn run(a: &SearchArgs, format: Format, style: Style) -> Result<i32, Failure> {
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
    let units = Units::new(&query, from, to)?;
    ask(a, &query, &units)?;
    let device = match a.device {
        DeviceArg::Cpu => "cpu",
        DeviceArg::Cuda => "cuda",
    };
    let header = Header::new(&query, from, to, units.len(), device);
    let mut journal = None;
    let mut done = BTreeMap::new();
    if let Some(path) = certificate(a)? {
        let (j, units) = Journal::open(&path, &header, a.resume)?;
        done.extend(units.into_iter().map(|u| (u.unit, u)));
        journal = Some(j);
    }
    if let Some(out) = &a.out {
        show::check(out)?;
    }
    let mut state = Running {
        header: &header,
        units: &units,
        journal,
        resumed: done.len() as u64,
        done,
        began: Instant::now(),
        said: Instant::now(),
        arguments: 0,
    };
    if state.resumed > 0 {
        note(&format!(
            "{} of {} units are there already",
            state.resumed,
            units.len()
        ));
    }
    state.search(a, &query)?;
    if let Some(j) = &mut state.journal {
        j.close()?;
    }
    let summary = Summary {
        query,
        from,
        to,
        zero: units.zero,
        units: state.done.into_values().collect(),
        seconds: state.began.elapsed().as_secs_f64(),
        device: device.into(),
    };
    if let Some(out) = &a.out {
        show::write(out, &summary)?;
    }
    match format {
        Format::Json => say(&format!("{}\n", show::json(&summary)))?,
        Format::Human => say(&show::human(&summary, style))?,
    }
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
    let module = kerf_hardround_gpu::program(&arch)?;
    let ptx = kerf_ir::finish::ptx(&module, &arch).map_err(|e| Failure::new(e.to_string()))?;
    let kernels = kerf_hardround_gpu::KERNELS.map(str::to_owned);
    Ok(CudaExecutor::new(&ptx, &kernels, ordinal)?)
}

/// A search under way.
struct Running<'a> {
    header: &'a Header,
    units: &'a Units,
    journal: Option<Journal>,
    done: BTreeMap<u64, Unit>,
    resumed: u64,
    began: Instant,
    said: Instant,
    arguments: u64,
}

impl Running<'_> {
    fn search(&mut self, a: &SearchArgs, q: &Query) -> Result<(), Failure> {
        let there: std::collections::BTreeSet<u64> = self.done.keys().copied().collect();
        let units = self.units;
        let mut failure = None;
        let wanted = |i| !there.contains(&i);
        let sink = |i, g: Grid, found| match self.keep(i, &g, &found) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                failure = Some(e);
                ControlFlow::Break(())
            }
        };
        let threads = threads(a.threads);
        match a.device {
            DeviceArg::Cpu => {
                let each = |g: &Grid, scratch: &mut _| search(q, g, scratch);
                work(units, threads, wanted, each, sink);
            }
            DeviceArg::Cuda => {
                let mut exec = gpu(a.gpu)?;
                kerf_hardround_gpu::search(&mut exec, q, units, threads, BATCH, wanted, sink)?;
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// A unit is done: it is written before it counts.
    fn keep(&mut self, i: u64, g: &Grid, found: &Found) -> Result<(), Failure> {
        let unit = Unit::new(self.header, i, g, found);
        if let Some(j) = &mut self.journal {
            j.line(&serde_json::to_string(&unit).unwrap_or_default())?;
        }
        self.arguments += g.len();
        self.done.insert(i, unit);
        if self.said.elapsed() >= PROGRESS_AFTER {
            self.said = Instant::now();
            note(&self.progress(&hex(g.value(g.first))));
        }
        Ok(())
    }

    fn progress(&self, at: &str) -> String {
        let seconds = self.began.elapsed().as_secs_f64();
        let (done, all) = (self.done.len() as u64, self.units.len());
        let cases: usize = self.done.values().map(|u| u.cases.len()).sum();
        let each = seconds / (done - self.resumed).max(1) as f64;
        format!(
            "{:5.1} %, near {at}: {cases} cases, {:.2e} arguments/s, about {} left",
            100.0 * done as f64 / all as f64,
            self.arguments as f64 / seconds,
            show::duration(each * (all - done) as f64)
        )
    }
}
