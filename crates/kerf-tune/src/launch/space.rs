//! The shapes of a workload's launches: which there are, what belongs together, which cannot run and why.
use kerf_device::occupancy::{Demand, Multiprocessor, Occupancy, OccupancyError};
use kerf_ir::address::block::{self, BlockShape, KernelAccess};
use kerf_ir::kernels::{self, KernelInfo, block_bounds};
use kerf_llvm::Module;
use kerf_run::job::{JobError, LaunchKind, kinds};
use kerf_workload::ArgSpec;
use kerf_workload::ArgValue;
use kerf_workload::Expr;
use kerf_workload::Workload;
use kerf_workload::WorkloadStep;
use kerf_workload::macros::Macros;
use std::collections::{BTreeMap, BTreeSet};

/// Values of the launch parameters.
pub type LaunchParams = BTreeMap<String, i64>;

/// Launch parameters that are decided together, since some launch mentions several of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The parameters, in the order of the file.
    pub params: Vec<String>,
    /// The kernels whose launches mention them, as the file names them.
    pub kernels: Vec<String>,
}

fn names_of(a: &ArgSpec, out: &mut BTreeSet<String>) {
    let mut note = |e: &Expr| out.extend(e.names().iter().map(|n| n.name.clone()));
    match a {
        ArgSpec::Buffer { offset, .. } => offset.iter().for_each(note),
        ArgSpec::Number(e) | ArgSpec::Typed(_, e) | ArgSpec::Local(e) => note(e),
        ArgSpec::Struct(all) => all.iter().for_each(|a| names_of(a, out)),
    }
}

fn launches<'w>(
    steps: &'w [WorkloadStep],
    around: &BTreeSet<String>,
    out: &mut Vec<(&'w str, BTreeSet<String>)>,
) {
    for s in steps {
        match s {
            WorkloadStep::Launch(l) => {
                let mut names = around.clone();
                for e in l.grid.iter().chain(&l.block).chain(&l.shared) {
                    names.extend(e.names().iter().map(|n| n.name.clone()));
                }
                l.args.iter().for_each(|a| names_of(a, &mut names));
                out.push((&l.kernel, names));
            }
            WorkloadStep::Loop {
                from,
                to,
                step,
                body,
                ..
            } => {
                let mut around = around.clone();
                for e in [Some(from), Some(to), step.as_ref()].into_iter().flatten() {
                    around.extend(e.names().iter().map(|n| n.name.clone()));
                }
                launches(body, &around, out);
            }
            _ => {}
        }
    }
}

/// Which parameters are decided together. Those that no launch mentions are left out.
pub fn components(w: &Workload) -> Vec<Component> {
    let mut all = Vec::new();
    launches(&w.steps, &BTreeSet::new(), &mut all);
    let params: Vec<&String> = w.launch_space.params.iter().map(|p| &p.0).collect();
    // A constraint ties parameters together as a launch does.
    let tied = w.launch_space.constraints.iter();
    let tied = tied.map(|c| c.names().iter().map(|n| n.name.clone()).collect());
    let sets: Vec<BTreeSet<String>> = all.iter().map(|l| l.1.clone()).chain(tied).collect();
    let mut of: Vec<usize> = (0..params.len()).collect();
    for s in &sets {
        let mine: Vec<usize> = (0..params.len())
            .filter(|i| s.contains(params[*i]))
            .collect();
        if let Some(first) = mine.first().map(|i| of[*i]) {
            let old: Vec<usize> = mine.iter().map(|i| of[*i]).collect();
            of.iter_mut()
                .filter(|o| old.contains(o))
                .for_each(|o| *o = first);
        }
    }
    let mut out = Vec::new();
    for root in of.iter().copied().collect::<BTreeSet<_>>() {
        let mine = params.iter().zip(&of).filter(|(_, o)| **o == root);
        let mine: Vec<String> = mine.map(|(p, _)| (*p).clone()).collect();
        let mut kernels: Vec<String> = Vec::new();
        for (k, names) in &all {
            if mine.iter().any(|p| names.contains(p)) && !kernels.iter().any(|x| x == k) {
                kernels.push((*k).to_owned());
            }
        }
        if !kernels.is_empty() {
            out.push(Component {
                params: mine,
                kernels,
            });
        }
    }
    out
}

/// Parameters with several values that change nothing: no launch or constraint mentions them, and they are no macros.
pub fn idle(w: &Workload, macros: &Macros) -> Vec<String> {
    let mut all = Vec::new();
    launches(&w.steps, &BTreeSet::new(), &mut all);
    let tied = w.launch_space.constraints.iter().flat_map(|c| c.names());
    let tied: BTreeSet<&str> = tied.map(|n| n.name.as_str()).collect();
    let idle = |n: &&String| {
        !tied.contains(n.as_str())
            && !all.iter().any(|l| l.1.contains(*n))
            && !macros.free.contains(n)
            && !macros.fixed.contains(n)
    };
    let several = w.launch_space.params.iter().filter(|p| p.1.len() > 1);
    several.map(|p| &p.0).filter(idle).cloned().collect()
}

/// Points of the launch space, at most; larger ones are for strategies over general spaces.
pub const MOST_POINTS: usize = 100_000;

/// Why there is nothing to choose.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ChoiceError {
    /// No parameters.
    #[error("{0}")]
    NoSpace(String),
    /// None of the shapes can run.
    #[error("no shape of the launch space can run: {0}")]
    Nothing(String),
    /// The file's own cannot.
    #[error(
        "the workload's own shape cannot run: {0}\nhelp: the own shape is `default` of [launch_space], without one the middle value of each parameter, or the launch's `block`; choose one that can run"
    )]
    Own(String),
    /// Too many.
    #[error(
        "{0} has {1} shapes, and a search over launch shapes takes at most {most} of one set of parameters; help: list fewer values in [launch_space], or add constraints",
        most = MOST_POINTS
    )]
    TooMany(String, usize),
}

/// The combinations of one component's parameters that the constraints allow, all others at their default.
/// None if there are more than [`MOST_POINTS`].
pub fn points(w: &Workload, c: &Component) -> Option<Vec<LaunchParams>> {
    let space = &w.launch_space;
    let default = space.default_params();
    let mut out = vec![default.clone()];
    for p in &c.params {
        let values = space.params.iter().find(|(n, _)| n == p).map(|(_, v)| v)?;
        if out.len().saturating_mul(values.len()) > MOST_POINTS {
            return None;
        }
        let with = |o: &LaunchParams, v: &i64| {
            let mut o = o.clone();
            o.insert(p.clone(), *v);
            o
        };
        out = out
            .iter()
            .flat_map(|o| values.iter().map(move |v| with(o, v)))
            .collect();
    }
    out.retain(|p| space.broken_constraint(p).is_none());
    // The program's own shape comes first.
    out.sort_by_key(|p| *p != default);
    Some(out)
}

/// A workload whose parameters of these names keep their own value.
pub fn pinned(w: &Workload, names: &[String]) -> Workload {
    let own = w.launch_space.default_params();
    let mut out = w.clone();
    for (name, values) in &mut out.launch_space.params {
        if names.contains(name) {
            values.retain(|v| own.get(name) == Some(v));
        }
    }
    // A default that is left to the middle of the values would move with them.
    out.launch_space.default = Some(own);
    out
}

/// What a kernel takes of a multiprocessor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelDemand {
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory.
    pub shared: u32,
}

/// One kernel's launch in a shape, looked at without running it.
#[derive(Debug, Clone)]
pub struct Look {
    /// Symbol.
    pub symbol: String,
    /// Name.
    pub name: String,
    /// The launch.
    pub kind: LaunchKind,
    /// Warps on a multiprocessor, and what keeps more away.
    pub occupancy: Occupancy,
    /// Sectors of 32 bytes that the warps of a block touch in global memory, a thread, with accesses in loops
    /// counted as [`LOOP`] turns.
    pub sectors: f64,
    /// Segments of 128 bytes likewise: the non-coalescing factor.
    pub segments: f64,
    /// Part of the global accesses whose addresses could be told.
    pub told: f64,
}

/// Turns that a loop counts for where nobody counted.
pub const LOOP: f64 = 16.0;

/// Integer arguments of a launch, by parameter.
pub fn scalars(k: &LaunchKind) -> Vec<Option<i64>> {
    let one = |a: &ArgValue| match a {
        ArgValue::Int(v) => i64::try_from(*v).ok(),
        ArgValue::Typed(_, n) => n.as_int().and_then(|v| i64::try_from(v).ok()),
        _ => None,
    };
    k.launch.args.iter().map(one).collect()
}

/// The accesses of a launch's kernel.
pub fn references(m: &Module, infos: &[KernelInfo], k: &LaunchKind) -> Vec<KernelAccess> {
    let shape = BlockShape {
        block: k.launch.block,
        grid: k.launch.grid,
        args: scalars(k),
    };
    match (m.function(&k.symbol), kernels::find(infos, &k.symbol)) {
        (Some(f), Ok(info)) => block::references(m, f, info, &shape),
        _ => Vec::new(),
    }
}

/// Transactions a thread of a launch's global accesses at a granule, and the part of them that could be told.
pub fn transactions(all: &[KernelAccess], threads: u32, granule: u64) -> (f64, f64) {
    let (mut sum, mut told, mut whole) = (0.0, 0.0, 0.0);
    for r in all.iter().filter(|r| !r.shared) {
        let weight = LOOP.powi(r.depth.min(4) as i32);
        whole += weight;
        if let Some(t) = r.transactions(granule) {
            told += weight;
            sum += weight * t as f64 / f64::from(threads.max(1));
        }
    }
    (sum, if whole > 0.0 { told / whole } else { 1.0 })
}

/// Bytes of shared arrays of fixed size that NVIDIA's assembler takes, whatever the device has.
const STATIC: u32 = 48 << 10;

fn extents(block: &[u32; 3]) -> String {
    format!("{} x {} x {}", block[0], block[1], block[2])
}

/// Why the launches at a point of the space cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotRun {
    /// The source names another block as the only one.
    #[error(
        "{kernel}: the source requires blocks of {} (reqd_work_group_size), not {} threads",
        extents(required),
        extents(block)
    )]
    Required {
        /// The kernel.
        kernel: String,
        /// The source's block.
        required: [u32; 3],
        /// The launch's.
        block: [u32; 3],
    },
    /// The source allows fewer threads.
    #[error(
        "{kernel}: {} threads; the source allows {most} (__launch_bounds__)",
        extents(block)
    )]
    Bounds {
        /// The kernel.
        kernel: String,
        /// The launch's block.
        block: [u32; 3],
        /// Threads that the source allows.
        most: u32,
    },
    /// A shared array is too small for so many threads.
    #[error(
        "{kernel}: with {} threads the shared array `{array}` of {size} bytes is used up to byte {reach}{}",
        extents(block), line.map_or_else(String::new, |l| format!(" (line {l})"))
    )]
    SharedArray {
        /// The kernel.
        kernel: String,
        /// The launch's block.
        block: [u32; 3],
        /// The array.
        array: String,
        /// Its bytes.
        size: u64,
        /// One past the last byte that a thread touches.
        reach: i64,
        /// Source line of the access, where known.
        line: Option<u32>,
    },
    /// More shared arrays of fixed size than an assembler takes.
    #[error(
        "{kernel}: {bytes} bytes of shared arrays of fixed size, and an assembler takes {STATIC} (more is to be had as extern __shared__)"
    )]
    StaticShared {
        /// The kernel.
        kernel: String,
        /// Their bytes.
        bytes: u32,
    },
    /// The device has too little of something.
    #[error("{kernel}: {why}")]
    Device {
        /// The kernel.
        kernel: String,
        /// Which resource.
        why: OccupancyError,
    },
    /// The workload's launches cannot be worked out, in the first of the words that say why.
    #[error("{0}")]
    Launches(String),
}

/// Why a launch cannot run in its shape, with the resource that is too small.
fn obstacle(
    m: &Module,
    k: &LaunchKind,
    needs: KernelDemand,
    machine: &Multiprocessor,
    all: &[KernelAccess],
) -> Result<Occupancy, CannotRun> {
    let block = k.launch.block;
    let kernel = || k.name.clone();
    if let Some(f) = m.function(&k.symbol) {
        let bounds = block_bounds(m, f);
        if let Some(r) = bounds.required.filter(|r| *r != block) {
            return Err(CannotRun::Required {
                kernel: kernel(),
                required: r,
                block,
            });
        }
        if let Some(most) = bounds.most.filter(|most| k.threads() > *most) {
            return Err(CannotRun::Bounds {
                kernel: kernel(),
                block,
                most,
            });
        }
    }
    for r in all.iter().filter(|r| r.shared) {
        if let (Some(size), Some(reach)) = (r.size, r.reach)
            && reach > size as i64
        {
            return Err(CannotRun::SharedArray {
                kernel: kernel(),
                block,
                array: r.object.clone(),
                size,
                reach,
                line: r.line,
            });
        }
    }
    if needs.shared > STATIC {
        return Err(CannotRun::StaticShared {
            kernel: kernel(),
            bytes: needs.shared,
        });
    }
    let demand = Demand {
        registers: needs.registers.max(1),
        shared: u64::from(needs.shared) + u64::from(k.launch.shared),
        carveout: None,
    };
    occupancy(machine, demand, k)
}

fn occupancy(
    machine: &Multiprocessor,
    demand: Demand,
    k: &LaunchKind,
) -> Result<Occupancy, CannotRun> {
    let o = machine.occupancy(demand, k.threads());
    o.map_err(|why| CannotRun::Device {
        kernel: k.name.clone(),
        why,
    })
}

/// What is known where [`fits`] looks.
#[derive(Clone, Copy)]
pub enum FitContext<'f> {
    /// The program: registers by symbol, and whether to look at what it does with shared arrays.
    Program(&'f BTreeMap<String, u32>, bool),
    /// Nothing but the launches' own extents: the program for them has not been compiled.
    Launch,
}

fn kinds_at(
    w: &Workload,
    infos: &[KernelInfo],
    point: &LaunchParams,
) -> Result<Vec<LaunchKind>, CannotRun> {
    kinds(w, infos, point).map_err(|e| {
        CannotRun::Launches(match e {
            // Extents beyond what can be launched: the file's own words.
            JobError::Input(text) => text.lines().next().unwrap_or_default().to_owned(),
            other => other.to_string(),
        })
    })
}

/// Whether the launches at a point can run; why not, as the error.
pub fn fits(
    w: &Workload,
    m: &Module,
    point: &LaunchParams,
    known: FitContext,
    machine: &Multiprocessor,
) -> Result<(), CannotRun> {
    let infos = kernels::kernels(m);
    for k in kinds_at(w, &infos, point)? {
        match known {
            FitContext::Program(registers, accesses) => {
                let info = infos.iter().find(|i| i.symbol == k.symbol);
                let needs = KernelDemand {
                    registers: registers.get(&k.symbol).copied().unwrap_or(32),
                    shared: info.map_or(0, |i| i.static_shared_bytes as u32),
                };
                let refs = match accesses {
                    true => references(m, &infos, &k),
                    false => Vec::new(),
                };
                obstacle(m, &k, needs, machine, &refs)?;
            }
            FitContext::Launch => {
                let demand = Demand {
                    registers: 1,
                    shared: u64::from(k.launch.shared),
                    carveout: None,
                };
                occupancy(machine, demand, &k)?;
            }
        }
    }
    Ok(())
}

/// What one point does to the launches of some kernels; why it cannot run, as the error.
pub fn look(
    w: &Workload,
    m: &Module,
    infos: &[KernelInfo],
    only: &[String],
    point: &LaunchParams,
    needs: &dyn Fn(&str) -> KernelDemand,
    machine: &Multiprocessor,
) -> Result<Vec<Look>, CannotRun> {
    let all = kinds_at(w, infos, point)?;
    let mut out: Vec<Look> = Vec::new();
    for kind in all {
        let mine = only
            .iter()
            .any(|k| kernels::find(infos, k).is_ok_and(|i| i.symbol == kind.symbol));
        // A loop changes arguments, not shapes; one of each kernel's shapes is enough.
        if !mine
            || out
                .iter()
                .any(|l| l.symbol == kind.symbol && l.kind.launch.block == kind.launch.block)
        {
            continue;
        }
        let refs = references(m, infos, &kind);
        let occupancy = obstacle(m, &kind, needs(&kind.symbol), machine, &refs)?;
        let (sectors, told) = transactions(&refs, kind.threads(), 32);
        let (segments, _) = transactions(&refs, kind.threads(), 128);
        out.push(Look {
            symbol: kind.symbol.clone(),
            name: kind.name.clone(),
            kind,
            occupancy,
            sectors,
            segments,
            told,
        });
    }
    Ok(out)
}
