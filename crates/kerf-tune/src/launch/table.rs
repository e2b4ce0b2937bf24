//! Every shape of a workload's launches timed, whole and in samples: what strategies and predictions are
//! compared with.
//!
//! Each kernel is an instance of its own: its first launch, from the workload's first contents.
use super::sample;
use super::space::{self, Component, KernelDemand, LaunchParams};
use kerf_device::occupancy::Multiprocessor;
use kerf_ir::kernels;
use kerf_llvm::{Module, Opcode};
use kerf_predict::sampled::BlockSample;
use kerf_run::job::{Job, JobError, LaunchKind, LaunchTime, LaunchTimer, MachineShare, Run, bench};
use kerf_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to time.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// More shapes than the file lists, for kernels without barriers: every multiple of a warp along one axis,
    /// powers of two along two.
    pub rich: bool,
    /// Multiples of the blocks that fill the device, at which every shape is sampled.
    pub samples: Vec<u32>,
    /// More of them for the file's own shape, where also other places of the grid are sampled.
    pub more: Vec<u32>,
    /// Shapes that are also compiled for their block, at most, for each kernel.
    pub fixed: usize,
    /// Compare the outputs of every shape with those of the file's own.
    pub check: bool,
    /// The file's own shape alone, sampled as predictions are, for training them.
    pub own: bool,
    /// Parts of the cache to be written back at which the samples from the start of the file's own shape are taken as well.
    pub states: Vec<f64>,
    /// Name of the workload in rows, where not that of its file.
    pub name: Option<String>,
}

/// One timing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeTiming {
    /// Workload.
    pub workload: String,
    /// Sizes and parameters that replaced the file's.
    pub sizes: Vec<(String, i64)>,
    /// Kernel.
    pub kernel: String,
    /// Launch parameters of the kernel.
    pub params: LaunchParams,
    /// The file's own shape.
    pub own: bool,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks.
    pub grid: [u32; 3],
    /// Dynamic shared memory of a block.
    pub dynamic: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory.
    pub shared: u32,
    /// Local memory of a thread.
    pub local: u32,
    /// Blocks that fit on one multiprocessor.
    pub resident: u32,
    /// Multiprocessors.
    pub sms: u32,
    /// Sectors of 32 bytes a thread, by analysis.
    pub sectors: f64,
    /// Segments of 128 bytes a thread.
    pub segments: f64,
    /// Part of the accesses that the analysis could tell.
    pub told: f64,
    /// `whole`, `fixed` (compiled for the block) or `part`.
    pub run: String,
    /// First block.
    pub first: u32,
    /// Blocks that ran.
    pub count: u64,
    /// Its time.
    pub time: LaunchTime,
    /// The part of the cache that had to be written back, where that is not what the launch leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<f64>,
    /// Outputs that differ from those of the file's own shape, of how many bytes; none where not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differ: Option<(u64, u64)>,
}

/// Parameters that stand alone as a block's extent, by axis, of a kernel's launches.
fn axes(w: &Workload, kernel: &str) -> Vec<Option<String>> {
    fn find<'w>(
        steps: &'w [kerf_workload::WorkloadStep],
        kernel: &str,
    ) -> Option<&'w kerf_workload::LaunchSpec> {
        steps.iter().find_map(|s| match s {
            kerf_workload::WorkloadStep::Launch(l) if l.kernel == kernel => Some(l),
            kerf_workload::WorkloadStep::Loop { body, .. } => find(body, kernel),
            _ => None,
        })
    }
    let Some(l) = find(&w.steps, kernel) else {
        return Vec::new();
    };
    let plain = |t: &str| {
        let known = w.launch_space.params.iter().any(|(n, _)| n == t.trim());
        known.then(|| t.trim().to_owned())
    };
    l.block.iter().map(|e| plain(e.text())).collect()
}

fn has_barrier(m: &Module, symbol: &str) -> bool {
    let Some(f) = m.function(symbol) else {
        return true;
    };
    let called = |i: &kerf_llvm::Value| i.opcode() == Some(Opcode::LLVMCall);
    kernels::reachable(f)
        .into_iter()
        .flat_map(|f| f.instructions())
        .filter(called)
        .filter_map(|i| i.callee_name())
        .any(|n| n.contains("barrier") || n.contains("bar.") || n.contains("shfl"))
}

/// More values for the parameters of a component whose kernels have no barriers: extents of the block only.
pub fn enrich(w: &mut Workload, c: &Component, symbols: &[String], m: &Module) {
    if symbols.iter().any(|s| has_barrier(m, s)) {
        return;
    }
    let axes: Vec<Vec<Option<String>>> = c.kernels.iter().map(|k| axes(w, k)).collect();
    for p in &c.params {
        let alone = |a: &Vec<Option<String>>| !a.iter().any(Option::is_some) || a.len() == 1;
        let used = axes.iter().flatten().flatten().any(|x| x == p);
        if !used {
            continue;
        }
        let values: Vec<i64> = match axes.iter().all(alone) {
            true => (1..=32).map(|w| 32 * w).collect(),
            false => (0..=8).map(|e| 1 << e).collect(),
        };
        if let Some((_, v)) = w.launch_space.params.iter_mut().find(|(n, _)| n == p) {
            v.extend(values);
            v.sort_unstable();
            v.dedup();
        }
    }
}

struct Instance {
    name: String,
    /// Points with the kernel's launch in them; the file's own first.
    points: Vec<(LaunchParams, LaunchKind)>,
}

fn instances(w: &Workload, b: &LaunchTimer, rich: bool) -> Result<Vec<Instance>, JobError> {
    let mut w = w.clone();
    let mut out = Vec::new();
    let all = space::components(&w);
    let symbol = |k: &String| kernels::find(b.kernels, k).map(|i| i.symbol.clone()).ok();
    for c in &all {
        let symbols: Vec<String> = c.kernels.iter().filter_map(symbol).collect();
        if rich {
            enrich(&mut w, c, &symbols, b.module);
        }
    }
    for c in &all {
        let Some(points) = space::points(&w, c) else {
            continue;
        };
        for k in &c.kernels {
            let Some(s) = symbol(k) else { continue };
            let mut mine: Vec<(LaunchParams, LaunchKind)> = Vec::new();
            for p in &points {
                // Shapes that cannot be launched at all are not there.
                let Ok(all) = kerf_run::job::kinds(&w, b.kernels, p) else {
                    continue;
                };
                let Some(kind) = all.into_iter().find(|x| x.symbol == s) else {
                    continue;
                };
                if kind.threads().is_multiple_of(32)
                    && !mine.iter().any(|(_, o)| o.launch == kind.launch)
                {
                    mine.push((p.clone(), kind));
                }
            }
            out.push(Instance {
                name: k.clone(),
                points: mine,
            });
        }
    }
    out.retain(|i| !i.points.is_empty());
    // Kernels whose launches no parameter changes have the file's own shape.
    let default = w.launch_space.default_params();
    for kind in b.kinds(&default)? {
        let known = |i: &Instance| i.points.iter().any(|(_, k)| k.symbol == kind.symbol);
        if !out.iter().any(known) {
            out.push(Instance {
                name: kind.name.clone(),
                points: vec![(default.clone(), kind)],
            });
        }
    }
    Ok(out)
}

struct Table<'t, 'b> {
    job: &'t Job,
    bench: &'t mut LaunchTimer<'b>,
    machine: &'t Multiprocessor,
    name: String,
    sink: &'t mut dyn FnMut(&ShapeTiming),
}

impl Table<'_, '_> {
    fn row(&mut self, i: &Instance, at: usize, run: Run) -> Result<ShapeTiming, JobError> {
        self.row_from(i, at, run, None)
    }

    fn row_from(
        &mut self,
        i: &Instance,
        at: usize,
        run: Run,
        state: Option<f64>,
    ) -> Result<ShapeTiming, JobError> {
        let (params, kind) = &i.points[at];
        let stats = self.bench.stats(&kind.symbol).unwrap_or_default();
        let needs = KernelDemand {
            registers: stats.registers.unwrap_or(1),
            shared: stats.shared_bytes.unwrap_or(0),
        };
        let look = space::look(
            self.bench.workload,
            self.bench.module,
            self.bench.kernels,
            std::slice::from_ref(&kind.symbol),
            params,
            &|_| needs,
            self.machine,
        )
        .map_err(|e| JobError::Input(e.to_string()))?;
        let look = look.into_iter().next();
        let resident = self.bench.resident(kind)?;
        let time = match state {
            None => self.bench.time(kind, run)?,
            Some(written) => self.bench.time_from(kind, run, written)?,
        };
        let (name, first, count) = match run {
            Run::Whole => ("whole", 0, kind.blocks()),
            Run::Fixed(_) => ("fixed", 0, kind.blocks()),
            Run::Part { first, count } => ("part", first, u64::from(count)),
        };
        Ok(ShapeTiming {
            workload: self.name.clone(),
            sizes: self.job.overrides.clone(),
            kernel: i.name.clone(),
            params: params.clone(),
            own: at == 0,
            block: kind.launch.block,
            grid: kind.launch.grid,
            dynamic: kind.launch.shared,
            registers: needs.registers,
            shared: needs.shared,
            local: stats.local_bytes.unwrap_or(0),
            resident,
            sms: self.bench.sms,
            sectors: look.as_ref().map_or(0.0, |l| l.sectors),
            segments: look.as_ref().map_or(0.0, |l| l.segments),
            told: look.as_ref().map_or(0.0, |l| l.told),
            run: name.into(),
            first,
            count,
            time,
            state,
            differ: None,
        })
    }

    /// Parts of the launch at one shape, in waves of so many blocks.
    fn parts(
        &mut self,
        i: &Instance,
        o: &TableOptions,
        at: usize,
        wave: u32,
    ) -> Result<(), JobError> {
        let kind = i.points[at].1.clone();
        let more: &[u32] = if at == 0 { &o.more } else { &[] };
        for n in o.samples.iter().chain(more) {
            let count = n.saturating_mul(wave);
            if u64::from(count) < kind.blocks() {
                let r = self.row(i, at, Run::Part { first: 0, count })?;
                (self.sink)(&r);
            }
        }
        for (n, written) in more
            .iter()
            .flat_map(|n| o.states.iter().map(move |s| (n, *s)))
        {
            let count = n.saturating_mul(wave);
            if u64::from(count) < kind.blocks() {
                let run = Run::Part { first: 0, count };
                let r = self.row_from(i, at, run, Some(written))?;
                (self.sink)(&r);
            }
        }
        if o.own
            && let Some(cut) = sample::cut(kind.blocks() as f64 / f64::from(wave.max(1)))
        {
            sample::take(kind.blocks(), u64::from(wave), cut, |first, count| {
                let (first, blocks) = (first as u32, count as u32);
                let run = Run::Part {
                    first,
                    count: blocks,
                };
                let r = self.row(i, at, run)?;
                (self.sink)(&r);
                Ok::<_, JobError>(BlockSample {
                    blocks: count,
                    seconds: r.time.median_s,
                })
            })?;
        }
        for part in [1u64, 2, 3] {
            let count = 2 * wave;
            let blocks = kind.blocks();
            if at == 0 && !more.is_empty() && u64::from(count) * 4 < blocks {
                let first = (blocks - u64::from(count)) * part / 3;
                let first = first as u32;
                let r = self.row(i, at, Run::Part { first, count })?;
                (self.sink)(&r);
            }
        }
        Ok(())
    }

    /// All shapes of a launch.
    fn instance(
        &mut self,
        i: &Instance,
        o: &TableOptions,
        fixed: &[(String, [u32; 3])],
    ) -> Result<(), JobError> {
        let mut own: Vec<(usize, Vec<u8>)> = Vec::new();
        let shapes = if o.own { 1 } else { i.points.len() };
        for at in 0..shapes {
            let kind = i.points[at].1.clone();
            let mut row = match self.row(i, at, Run::Whole) {
                Ok(r) => r,
                // A shape that does not fit is no row.
                Err(JobError::Input(_) | JobError::Exec(_)) if at > 0 => continue,
                Err(e) => return Err(e),
            };
            if o.check {
                let got = self.bench.outputs()?;
                let bytes = |v: &[(usize, Vec<u8>)]| v.iter().map(|x| x.1.len() as u64).sum();
                if at == 0 {
                    own = got;
                } else {
                    let pairs = own.iter().zip(&got);
                    let differ = pairs
                        .map(|(a, b)| a.1.iter().zip(&b.1).filter(|(x, y)| x != y).count() as u64);
                    row.differ = Some((differ.sum(), bytes(&own)));
                }
            }
            (self.sink)(&row);
            self.parts(i, o, at, row.resident * row.sms)?;
            let mine = fixed
                .iter()
                .position(|(s, b)| *s == kind.symbol && *b == kind.launch.block);
            if let Some(n) = mine {
                let r = self.row(i, at, Run::Fixed(n))?;
                (self.sink)(&r);
            }
        }
        Ok(())
    }
}

/// Blocks that kernels are also compiled for: the file's own, and its launches at some other shapes of
/// usual sizes.
fn fixed_blocks(
    w: &Workload,
    infos: &[kernels::KernelInfo],
    most: usize,
) -> Vec<(String, [u32; 3])> {
    let mut out: Vec<(String, [u32; 3])> = Vec::new();
    for c in space::components(w) {
        let Some(points) = space::points(w, &c) else {
            continue;
        };
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for p in points {
            let Ok(all) = kerf_run::job::kinds(w, infos, &p) else {
                continue;
            };
            for k in all {
                let n = count.entry(k.symbol.clone()).or_insert(0);
                let one = (k.symbol.clone(), k.launch.block);
                let usual =
                    *n == 0 || [128, 256, 512].contains(&k.threads()) && k.launch.block[0] >= 16;
                if *n < most && usual && !out.contains(&one) {
                    *n += 1;
                    out.push(one);
                }
            }
        }
    }
    out
}

/// Times the shapes of a workload.
pub fn table(
    job: &Job,
    o: &TableOptions,
    machine: &Multiprocessor,
    sink: &mut dyn FnMut(&ShapeTiming),
) -> Result<(), JobError> {
    let stem = job.workload.file_stem().unwrap_or_default();
    let name = o.name.clone();
    let name = name.unwrap_or_else(|| stem.to_string_lossy().into_owned());
    let blocks = std::cell::RefCell::new(Vec::new());
    bench(
        job,
        |w, infos, _| {
            let all = match o.fixed {
                0 => Vec::new(),
                n => fixed_blocks(w, infos, n),
            };
            blocks.replace(all.clone());
            all
        },
        |b| {
            let _turn = MachineShare::alone(job.lock.as_deref())?;
            let all = instances(b.workload, b, o.rich)?;
            let mut t = Table {
                job,
                bench: b,
                machine,
                name,
                sink,
            };
            let fixed = blocks.borrow().clone();
            for i in &all {
                t.instance(i, o, &fixed)?;
            }
            Ok(())
        },
    )
}
