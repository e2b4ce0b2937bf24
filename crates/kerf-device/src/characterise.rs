//! Characterising a GPU: every probe, the limits, pairs of streams and energy, into one profile.
//!
//! The profile is handed out after every step, so that an interrupted run can go on: what a given
//! profile already holds is not measured again.
use crate::accuracy::{self, Effort};
use crate::energy;
use crate::limits;
use crate::operation::{Class, Operation, catalogue, find};
use crate::probe::measure::{Bench, Best, Ring, UNSTABLE, summary};
use crate::probe::{self, Libraries, Probe, sass};
use crate::profile::{CoIssue, DeviceProfile, Figure, Limits, OperationProfile, Origin, Sass};
use crate::profile::{SCHEMA, VERSION};
use kerf_exec::cuda::watch::Watch;
use kerf_exec::cuda::{self, CudaExecutor};
use kerf_exec::{ExecError, Executor};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Under a minute: fewer repeats, no energy.
    Quick,
    /// Everything.
    Full,
}

impl Mode {
    /// As written in a profile.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Quick => "quick",
            Mode::Full => "full",
        }
    }
}

/// What to do and with what.
pub struct Options<'a> {
    /// How much.
    pub mode: Mode,
    /// Number of the GPU.
    pub ordinal: i32,
    /// What probes are linked with.
    pub libraries: Libraries<'a>,
    /// `cuobjdump` or `nvdisasm`.
    pub disassembler: Option<PathBuf>,
    /// Name of the profile.
    pub name: String,
    /// Today, `YYYY-MM-DD`.
    pub date: String,
    /// Operations to measure; all when empty.
    pub only: Vec<String>,
}

/// Where a characterisation stands.
#[derive(Debug, Clone)]
pub struct Progress {
    /// What is being done.
    pub what: String,
    /// Done, from 0 to 1.
    pub done: f64,
    /// Estimated seconds left.
    pub left: f64,
}

/// What masked chains go through: a logical operation, or a multiply-add.
const FEEDS: [&str; 2] = ["logic.i32", "fma.i32"];

/// Pairs of operations whose streams are issued together.
pub const PAIRS: [(&str, &str); 8] = [
    ("add.f32", "add.f64"),
    ("fma.f32", "fma.f64"),
    ("fma.f32", "fma.f16x2"),
    ("fma.f64", "fma.f16x2"),
    ("fma.f32", "add.i32"),
    ("fma.f64", "add.i32"),
    ("fma.f32", "exp2.f32.sfu"),
    ("fma.f64", "exp2.f32.sfu"),
];

/// Operations whose energy is measured.
pub const ENERGY: [&str; 26] = [
    "add.f32",
    "mul.f32",
    "fma.f32",
    "add.f64",
    "mul.f64",
    "fma.f64",
    "add.f16x2",
    "fma.f16x2",
    "fma.bf16x2",
    "add.i32",
    "add.dw32",
    "mul.dw32",
    "add.dw64",
    "mul.dw64",
    "div.f32",
    "div.f32.sfu",
    "exp.f32",
    "exp.f32.sfu",
    "exp.f64",
    "log.f32",
    "log.f32.sfu",
    "sin.f32",
    "sin.f32.sfu",
    "div.f64",
    "convert.f64.f32",
    "load.shared",
];

/// Seconds that a step is thought to take, for the estimate of the time left.
fn expected(mode: Mode, step: &str) -> f64 {
    match (mode, step) {
        (_, "compile") => 12.0,
        (Mode::Quick, "probe") => 0.08,
        (Mode::Full, "probe") => 0.25,
        (_, "limits") => 3.0,
        (_, "pair") => 0.1,
        (Mode::Quick, "accuracy") => 0.7,
        (Mode::Full, "accuracy") => 1.0,
        (_, "energy") => 11.5,
        _ => 1.0,
    }
}

struct Clock<'a> {
    started: Instant,
    total: f64,
    done: f64,
    tell: &'a mut dyn FnMut(Progress),
}

impl Clock<'_> {
    fn step(&mut self, what: &str, expected: f64) {
        let elapsed = self.started.elapsed().as_secs_f64();
        // Trust the plan at first, the pace so far later.
        let pace = if self.done > 5.0 {
            elapsed / self.done
        } else {
            1.0
        };
        (self.tell)(Progress {
            what: what.into(),
            done: (self.done / self.total).min(1.0),
            left: (self.total - self.done).max(0.0) * pace,
        });
        self.done += expected;
    }
}

/// A probe that was compiled, assembled and looked at.
struct Ready {
    probe: Probe,
    binary: Vec<u8>,
    sass: Option<Sass>,
}

fn disassemble(tool: &PathBuf, binary: &[u8]) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    std::fs::write(file.path(), binary).map_err(|e| e.to_string())?;
    let name = tool
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let flag = if name.starts_with("cuobjdump") {
        "-sass"
    } else {
        "-c"
    };
    let out = std::process::Command::new(tool)
        .arg(flag)
        .arg(file.path())
        .output()
        .map_err(|e| format!("{}: {e}", tool.display()))?;
    if !out.status.success() {
        return Err(format!(
            "{}: {}",
            tool.display(),
            String::from_utf8_lossy(&out.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn ready(probe: Probe, o: &Options) -> Result<Ready, String> {
    let binary = cuda::assemble(&probe.ptx, o.ordinal).map_err(|e| e.to_string())?;
    let sass = match &o.disassembler {
        None => None,
        Some(tool) => {
            let listing = disassemble(tool, &binary)?;
            Some(sass::examine(&probe, &listing).map_err(|e| format!("rejected: {e}"))?)
        }
    };
    Ok(Ready {
        probe,
        binary,
        sass,
    })
}

type Compiled = BTreeMap<String, Result<Ready, String>>;

/// Compiles probes on all cores.
fn compile(operations: &[Operation], pairs: &[(&str, &str)], arch: &str, o: &Options) -> Compiled {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Compiled::new());
    let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
    let n = operations.len();
    let build = |i: usize| -> Option<(String, Result<Ready, String>)> {
        let (key, built) = if let Some(op) = operations.get(i) {
            (op.key.clone(), probe::build(op, o.libraries, arch))
        } else if let Some(op) = operations.get(i - n) {
            (
                format!("{}+back", op.key),
                probe::build_round_trip(op, o.libraries, arch),
            )
        } else {
            let (a, b) = pairs[i - 2 * n];
            (
                format!("{a}+{b}"),
                probe::build_pair(&find(a)?, &find(b)?, o.libraries, arch),
            )
        };
        let result = match built {
            Ok(None) => return None,
            Ok(Some(p)) => ready(p, o),
            Err(e) => Err(e.to_string()),
        };
        Some((key, result))
    };
    std::thread::scope(|s| {
        for _ in 0..cores {
            s.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= 2 * n + pairs.len() {
                        return;
                    }
                    if let Some((key, r)) = build(i)
                        && let Ok(mut all) = all.lock()
                    {
                        all.insert(key, r);
                    }
                }
            });
        }
    });
    all.into_inner().unwrap_or_default()
}

fn ring(key: &str, mode: Mode) -> Ring {
    match (key, mode) {
        ("load.dram", Mode::Quick) => Ring::Wander(256 << 20),
        ("load.dram", Mode::Full) => Ring::Wander(1 << 30),
        _ => Ring::Own,
    }
}

/// Latency and throughput of one operation.
fn measure(
    r: &Ready,
    o: &Options,
    sms: u32,
    feed: Option<f64>,
) -> Result<(OperationProfile, Option<Best>, Bench), ExecError> {
    let key = r.probe.key.clone();
    let (repeats, warps): (usize, &[u32]) = match o.mode {
        Mode::Quick => (3, &[8, 16, 32]),
        Mode::Full => (9, &[1, 2, 4, 8, 12, 16, 24, 32]),
    };
    let direct = r.probe.recipe().direct;
    let mut bench = Bench::new(
        r.probe.clone(),
        &r.binary,
        o.ordinal,
        sms,
        ring(&key, o.mode),
    )?;
    let mut p = OperationProfile {
        sass: r.sass.clone(),
        ..OperationProfile::default()
    };
    if r.sass.is_none() {
        p.remarks
            .push("not disassembled: no cuobjdump or nvdisasm at hand".into());
    }
    if direct && let Some(v) = bench.latency(false, repeats)? {
        p.latency = summary(v, 1.0);
    }
    // An address that went through arithmetic is no longer the load's own.
    if let (Some(v), Some(feed)) = (bench.latency(true, repeats)?, feed) {
        let v: Vec<f64> = v.into_iter().map(|x| x - feed).collect();
        p.latency_to_consumer = summary(v, 1.0);
        if !direct {
            p.latency = p
                .latency_to_consumer
                .clone()
                .with_note("through an integer operation, whose latency is taken off");
        }
    }
    p.registers = bench
        .registers()
        .map_or_else(Figure::default, |n| Figure::measured(f64::from(n)));
    if key == "load.l2" || key == "load.dram" {
        // What limits these is the device's bandwidth, measured with the limits.
        return Ok((p, None, bench));
    }
    let (best, rates) = bench.throughput(warps, repeats)?;
    let spread = UNSTABLE * best.rate;
    let mut f = summary(rates, spread);
    let shape = format!("{} streams, {} warps", best.shape.streams, best.warps);
    f.note = Some(match f.note {
        Some(n) => format!("{n}; {shape}"),
        None => shape,
    });
    if bench.busy() == 1 {
        f.note = f.note.map(|n| format!("{n}, one multiprocessor alone"));
    }
    p.throughput = f;
    Ok((p, Some(best), bench))
}

fn measured_already(p: &OperationProfile) -> bool {
    !p.latency.is_unknown() || !p.throughput.is_unknown() || !p.remarks.is_empty()
}

/// Throughput of a probe that is not one operation of the catalogue.
fn pair_rate(r: &Ready, o: &Options, sms: u32) -> Result<Figure, ExecError> {
    let mut bench = Bench::new(r.probe.clone(), &r.binary, o.ordinal, sms, Ring::Own)?;
    let (best, rates) = bench.throughput(&[4, 8, 16, 32], 5)?;
    Ok(summary(rates, UNSTABLE * best.rate))
}

/// A conversion's rate from that of the trip there and back, where it is the better reading.
fn from_round_trip(p: &mut DeviceProfile, op: &Operation, trip: &Figure) {
    let back = format!("convert.{}.{}", op.to.unwrap_or_default(), op.format);
    let back = p.operations.get(&back).and_then(|o| o.throughput.value);
    let (Some(trip), Some(back)) = (trip.value, back) else {
        return;
    };
    let there = 1.0 / (1.0 / trip - 1.0 / back);
    let Some(slot) = p.operations.get_mut(&op.key) else {
        return;
    };
    // Both on one unit, one after the other: otherwise the difference means nothing.
    let alone = slot.throughput.value.unwrap_or(0.0);
    if there.is_finite() && there > alone && there < 1.25 * alone {
        slot.throughput = Figure::measured(there).with_note(format!(
            "from {trip:.2} trips there and back; {alone:.2} when fed through a mask"
        ));
    }
}

/// Two streams together against each alone.
fn co_issue(first: &str, second: &str, together: &Figure, p: &DeviceProfile) -> Option<CoIssue> {
    let rate = |key: &str| p.operations.get(key)?.throughput.value;
    let results = |key: &str| if key.ends_with("x2") { 2.0 } else { 1.0 };
    // Cycles for one instruction of each, by the rate of results.
    let (a, b) = (
        results(first) / rate(first)?,
        results(second) / rate(second)?,
    );
    let both = (results(first) + results(second)) / together.value?;
    let (short, long) = (a.min(b), a.max(b));
    Some(CoIssue {
        first: first.into(),
        second: second.into(),
        together: together.clone(),
        serialisation: Figure::measured((both - long) / short)
            .with_note("1: one after the other; 0: the shorter one is free"),
    })
}

/// Everything, in order. `store` gets the profile after each step.
pub fn characterise(
    o: &Options,
    begun: Option<DeviceProfile>,
    store: &mut dyn FnMut(&DeviceProfile) -> Result<(), ExecError>,
    tell: &mut dyn FnMut(Progress),
) -> Result<DeviceProfile, ExecError> {
    let started = Instant::now();
    let capability = CudaExecutor::capability(o.ordinal)?;
    let arch = format!("sm_{capability}");
    let attributes = cuda::attributes(o.ordinal)?;
    let watch = Watch::new(o.ordinal as u32).ok();
    let mut p = begun.unwrap_or_else(|| DeviceProfile {
        schema: SCHEMA.into(),
        version: VERSION,
        name: o.name.clone(),
        gpu: String::new(),
        arch: format!("{}.{}", capability / 10, capability % 10),
        origin: Origin {
            mode: o.mode.name().into(),
            ..Origin::default()
        },
        sources: BTreeMap::new(),
        limits: Limits::default(),
        operations: BTreeMap::new(),
        co_issue: Vec::new(),
    });
    let before = p.origin.seconds.unwrap_or(0.0);
    p.origin.kerf = env!("CARGO_PKG_VERSION").into();
    p.origin.date = o.date.clone();
    p.origin.driver = match &watch {
        Some(w) => format!("{} (CUDA {})", w.driver(), cuda::driver_version()),
        None => format!("CUDA {}", cuda::driver_version()),
    };
    p.origin.disassembler = o
        .disassembler
        .as_ref()
        .map(|d| d.file_name().unwrap_or_default().to_string_lossy().into());
    let wanted = |key: &str| o.only.is_empty() || o.only.iter().any(|k| k == key);
    let operations: Vec<Operation> = catalogue()
        .into_iter()
        .filter(|op| wanted(&op.key) || FEEDS.contains(&op.key.as_str()))
        .collect();
    let pairs: Vec<(&str, &str)> = PAIRS
        .into_iter()
        .filter(|(a, b)| wanted(a) && wanted(b))
        .collect();
    let judged: Vec<&Operation> = operations
        .iter()
        .filter(|op| wanted(&op.key) && accuracy::measurable(op))
        .filter(|op| match o.mode {
            Mode::Full => true,
            Mode::Quick => op.class == Class::Function && !op.format.starts_with("dw"),
        })
        .collect();
    let energies: Vec<&str> = match o.mode {
        Mode::Quick => vec![],
        Mode::Full => ENERGY.into_iter().filter(|k| wanted(k)).collect(),
    };
    let mut clock = Clock {
        started,
        total: expected(o.mode, "compile")
            + expected(o.mode, "limits")
            + operations.len() as f64 * expected(o.mode, "probe")
            + pairs.len() as f64 * expected(o.mode, "pair")
            + judged.len() as f64 * expected(o.mode, "accuracy")
            + energies.len() as f64 * expected(o.mode, "energy"),
        done: 0.0,
        tell,
    };

    clock.step("compiling probes", expected(o.mode, "compile"));
    let compiled = compile(&operations, &pairs, &arch, o);

    clock.step("limits", expected(o.mode, "limits"));
    let mut device = limits::Bench::new(&arch, o.ordinal, attributes.sms)?;
    p.gpu = device.executor().device().name;
    if p.limits.copy_bandwidth.is_unknown() {
        p.limits = limits::stated(&attributes, watch.as_ref());
        p.limits.launch_overhead = device.launch_overhead()?;
        let (copy, l2) = device.bandwidths(u64::from(attributes.l2_bytes))?;
        p.limits.copy_bandwidth = copy;
        p.limits.l2_bandwidth = l2;
        if let Some(unit) = device.shared_unit(&attributes)? {
            p.limits.shared_unit = Figure::measured(f64::from(unit))
                .with_note("from where the driver's occupancy changes");
        }
        store(&p)?;
    }

    // Masked chains need the latency of the mask first.
    let mut ordered: Vec<&Operation> = operations.iter().collect();
    ordered.sort_by_key(|op| !FEEDS.contains(&op.key.as_str()));
    let mut bests: BTreeMap<String, Best> = BTreeMap::new();
    for op in ordered {
        clock.step(&op.key, expected(o.mode, "probe"));
        let wanted_energy = energies.contains(&op.key.as_str());
        let have = p.operations.get(&op.key).is_some_and(measured_already);
        if have && !wanted_energy {
            continue;
        }
        let Some(result) = compiled.get(&op.key) else {
            continue;
        };
        let logic = p.operations.get("logic.i32").and_then(|l| l.latency.value);
        let measured = match result {
            Err(why) => Err(why.clone()),
            Ok(r) => measure(r, o, attributes.sms, logic).map_err(|e| e.to_string()),
        };
        let slot = p.operations.entry(op.key.clone()).or_default();
        match measured {
            Err(why) => {
                let why = why.lines().next().unwrap_or_default().to_owned();
                if !slot.remarks.contains(&why) {
                    slot.remarks.push(why);
                }
            }
            Ok((new, best, mut bench)) => {
                if let Some(b) = best {
                    if op.key == "fma.f32" {
                        p.limits.clock_mhz = Figure::measured(bench.clock(b, 0.05)?)
                            .with_note("cycles over event time while fma.f32 runs");
                    }
                    bests.insert(op.key.clone(), b);
                }
                let slot = p.operations.entry(op.key.clone()).or_default();
                if !have {
                    *slot = OperationProfile {
                        accuracy: slot.accuracy.take(),
                        energy_pj: slot.energy_pj.clone(),
                        ..new
                    };
                }
            }
        }
        store(&p)?;
    }
    bandwidth_as_operations(&mut p, attributes.sms);
    for op in &operations {
        let key = format!("{}+back", op.key);
        let Some(Ok(r)) = compiled.get(&key) else {
            continue;
        };
        let trip = pair_rate(r, o, attributes.sms)?;
        from_round_trip(&mut p, op, &trip);
    }

    for (a, b) in pairs {
        let key = format!("{a}+{b}");
        clock.step(&key, expected(o.mode, "pair"));
        if p.co_issue.iter().any(|c| c.first == a && c.second == b) {
            continue;
        }
        let Some(Ok(r)) = compiled.get(&key) else {
            continue;
        };
        let together = pair_rate(r, o, attributes.sms)?;
        if let Some(c) = co_issue(a, b, &together, &p) {
            p.co_issue.push(c);
            store(&p)?;
        }
    }

    for (key, publication) in accuracy::bounds::publications() {
        p.sources.insert(key.into(), publication);
    }
    for op in judged {
        clock.step(
            &format!("accuracy of {}", op.key),
            expected(o.mode, "accuracy"),
        );
        if p.operations
            .get(&op.key)
            .is_some_and(|s| s.accuracy.is_some())
        {
            continue;
        }
        let judged = measure_accuracy(op, o, &arch);
        let slot = p.operations.entry(op.key.clone()).or_default();
        match judged {
            Ok(a) => slot.accuracy = a,
            Err(e) => slot.remarks.push(format!("accuracy: {e}")),
        }
        store(&p)?;
    }

    if let (Some(watch), false) = (&watch, energies.is_empty()) {
        measure_energy(
            o,
            &mut p,
            &energies,
            &compiled,
            &bests,
            watch,
            &mut device,
            &mut clock,
            store,
        )?;
    } else if !energies.is_empty() {
        p.origin
            .remarks
            .push("energy was not measured: NVML is not there".into());
    }
    p.origin.seconds = Some(before + started.elapsed().as_secs_f64());
    clock.step("done", 0.0);
    store(&p)?;
    Ok(p)
}

/// Accuracy of one operation on the GPU.
fn measure_accuracy(
    op: &Operation,
    o: &Options,
    arch: &str,
) -> Result<Option<crate::profile::Accuracy>, accuracy::AccuracyError> {
    let effort = match o.mode {
        Mode::Quick => Effort::QUICK,
        Mode::Full => Effort::FULL,
    };
    let mut load = |m: &kerf_ir::llvm::Module, kernel: &str| {
        let ptx = kerf_ir::finish::ptx(m, arch).map_err(|e| ExecError::Compile(e.0))?;
        let exec = CudaExecutor::new(&ptx, &[kernel.to_owned()], o.ordinal)?;
        Ok(Box::new(exec) as Box<dyn Executor>)
    };
    let mut bench = accuracy::Bench {
        libdevice: o.libraries.libdevice,
        arch,
        load: &mut load,
    };
    accuracy::measure(&op.key, &mut bench, &effort, &mut |_| {})
}

/// Rates of loads that the device's bandwidth limits, per clock and multiprocessor.
fn bandwidth_as_operations(p: &mut DeviceProfile, sms: u32) {
    let Some(clock) = p.limits.clock_mhz.value else {
        return;
    };
    let per = |bytes: f64| bytes / 8.0 / (clock * 1e6 * f64::from(sms));
    for (key, bandwidth, note) in [
        (
            "load.l2",
            p.limits.l2_bandwidth.value,
            "64-bit words, from L2's bandwidth with all multiprocessors reading",
        ),
        (
            "load.dram",
            p.limits.copy_bandwidth.value.map(|b| b / 2.0),
            "64-bit words, half of the copy's bandwidth",
        ),
    ] {
        if let (Some(o), Some(b)) = (p.operations.get_mut(key), bandwidth) {
            o.throughput = Figure::measured(per(b)).with_note(note);
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn measure_energy(
    o: &Options,
    p: &mut DeviceProfile,
    energies: &[&str],
    compiled: &Compiled,
    bests: &BTreeMap<String, Best>,
    watch: &Watch,
    device: &mut limits::Bench,
    clock: &mut Clock,
    store: &mut dyn FnMut(&DeviceProfile) -> Result<(), ExecError>,
) -> Result<(), ExecError> {
    const SECONDS: f64 = 5.0;
    let sms = p.limits.sms.value.unwrap_or(1.0) as u32;
    clock.step("power at rest", 0.0);
    if p.limits.idle_power.is_unknown() {
        let rest = energy::window(watch, 3.0, || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            Ok(())
        })?;
        if let Some(w) = rest {
            p.limits.idle_power =
                Figure::measured(w.watts()).with_note("context open, nothing running");
        }
    }
    let wait = |device: &mut limits::Bench, warps: u32| {
        energy::window(watch, SECONDS, || {
            device.wait(warps, 10_000_000)?;
            device.executor().start_clock()?;
            device.executor().stop_clock().map(|_| ())
        })
    };
    let mut waiting: BTreeMap<u32, Vec<energy::Window>> = BTreeMap::new();
    // A fixed shuffle: neighbours in the list would warm each other in the same order every time.
    let mut order: Vec<&str> = energies.to_vec();
    order.sort_by_key(|k| {
        k.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        })
    });
    for key in order {
        clock.step(&format!("energy of {key}"), expected(o.mode, "energy"));
        let done = p
            .operations
            .get(key)
            .is_some_and(|s| s.energy_pj.value.is_some() || s.energy_pj.note.is_some());
        let (Some(Ok(r)), Some(best), false) = (compiled.get(key), bests.get(key), done) else {
            continue;
        };
        if !waiting.contains_key(&best.warps)
            && let Some(w) = wait(device, best.warps)?
        {
            waiting.entry(best.warps).or_default().push(w);
        }
        let mut bench = Bench::new(
            r.probe.clone(),
            &r.binary,
            o.ordinal,
            sms,
            ring(key, o.mode),
        )?;
        // About 5 ms a launch.
        let iterations = (f64::from(best.iterations) * 8e6 / 6e4) as u32;
        let mut windows = Vec::new();
        for _ in 0..2 {
            let w = energy::window(watch, SECONDS, || {
                bench.start(best.shape, sms, best.warps, iterations)?;
                bench.executor().start_clock()?;
                bench.executor().stop_clock().map(|_| ())
            })?;
            windows.extend(w);
        }
        let results = (best.shape.streams * best.shape.unroll) as f64
            * f64::from(iterations)
            * f64::from(32 * best.warps)
            * f64::from(sms)
            * r.probe.results();
        let base = waiting.get(&best.warps).cloned().unwrap_or_default();
        let slot = p.operations.entry(key.to_owned()).or_default();
        slot.energy_pj = energy::per_result(&windows, &base, results);
        store(p)?;
    }
    Ok(())
}
