//! The deployments of Fortin, Gouicem and Graillat ("Towards solving the Table Maker's Dilemma on GPU", 2011) on an
//! executor, for the study of them.
use crate::batch::{GpuError, word};
use kerf_exec::{Arg, BufferId, Executor, Launch};
use kerf_hardround::plan::{BlockPlan, LEVELS, fraction, signed};
use kerf_hardround::poly::{DEGREE, Poly};
use kerf_hardround::tables::{RUN, RUNS, STARTS, Tables};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dilemma.bc"));

/// Bits of an interval's length, as published.
pub const BITS: u32 = 15;
/// Parts of an interval that fails, as published.
const PARTS: u64 = 8;
/// The level of [`BlockPlan`] whose intervals have an eighth of the first's arguments.
const EIGHTH: usize = 2;
const THREADS: u32 = 128;
const BLOCKS: u32 = 2112;
/// Lines that may fail, over all intervals: ten times as many as do.
const ROOM: f64 = 0.04;
/// Candidates, at most.
const CANDIDATES: usize = 1 << 20;
/// Kernels of the forms of the test.
pub const FORMS: [&str; 3] = ["branch", "swap", "regular"];

/// Arguments of a sub-block.
pub const SUB_BLOCK: u64 = ((RUNS * RUN) as u64) << BITS;

/// The words of a sub-block, as `device/dilemma.cu` reads them.
pub fn record(poly: &Poly, start: u64, eps: f64) -> Option<Vec<u64>> {
    let plan = BlockPlan::with(poly, eps, BITS, RUNS)?;
    let tables = Tables::new(&poly.around(start), BITS, RUNS);
    let second = poly.second(start + SUB_BLOCK / 2).0;
    let levels = [plan.levels[0], plan.levels[EIGHTH]];
    let mut w = Vec::new();
    for d in tables.d.iter().flatten() {
        w.extend([*d as u64, (*d >> 64) as u64]);
    }
    w.push(tables.degree as u64);
    w.extend(levels.map(|l| (l.n as f64).to_bits()));
    w.extend(levels.map(|l| l.offset));
    w.extend(levels.map(|l| l.d.to_bits()));
    // In one step to the eighths: the plan's bounds, which take two, hold for it.
    let (n, m) = (levels[0].n as f64, levels[1].n as f64);
    for part in 0..PARTS {
        let delta = part as f64 * m + m / 2.0 - n / 2.0;
        w.push(signed(second / 2.0 * (delta * delta - m * delta)));
        w.push(signed(second * delta));
    }
    w.extend(levels.map(|l| fraction(l.d) + 1));
    // The error of a value by the curve grows with the cube of the length at most.
    for l in levels {
        let longer = l.n as f64 / plan.levels[LEVELS - 1].n as f64;
        w.push(fraction((eps + plan.settled[1] * longer.powi(3)).min(0.25)) + 1);
    }
    w.push((second / 2.0).to_bits());
    debug_assert_eq!(
        w.len(),
        STARTS * (DEGREE + 1) * 2 + 7 + 2 * PARTS as usize + 5
    );
    Some(w)
}

/// Every argument of the first `runs` runs of a sub-block on this processor, in the way of the kernel: those whose
/// line is near an integer.
pub fn exhaustive_here(poly: &Poly, start: u64, eps: f64, runs: usize) -> Option<u64> {
    let plan = BlockPlan::with(poly, eps, BITS, RUNS)?;
    let level = plan.levels[0];
    let limit = fraction(level.d) + 1;
    let mut starts: [Vec<u64>; STARTS] = Default::default();
    Tables::new(&poly.around(start), BITS, RUNS).starts(&mut starts, runs);
    let mut near = 0;
    let column = |run: usize| -> [u64; STARTS] { std::array::from_fn(|i| starts[i][run]) };
    for mut v in (0..runs).map(column) {
        for _ in 0..RUN {
            let mut z = v[0].wrapping_add(level.offset);
            for _ in 0..level.n {
                near += u64::from(z < limit);
                z = z.wrapping_add(v[4]);
            }
            for i in [0, 1, 2, 4, 5] {
                v[i] = v[i].wrapping_add(v[i + 1]);
            }
        }
    }
    Some(near)
}

/// The finished module, for an executor of architecture `arch`.
pub fn program(arch: &str) -> Result<Module, GpuError> {
    let m = Module::parse(BITCODE, "dilemma")?;
    kerf_ir::prepare::prepare(&m, arch)?;
    finish(&m, &[], arch, Reflect::default())?;
    Ok(m)
}

/// Names of all kernels.
pub fn kernels() -> Vec<String> {
    let of = |form: &&str| ["one", "phase1", "phase2", "rounds"].map(|k| format!("{k}_{form}"));
    let mut all: Vec<String> = FORMS.iter().flat_map(of).collect();
    all.extend(["exhaustive", "phase3"].map(str::to_owned));
    all
}

/// What a deployment gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeploymentOutcome {
    /// Seconds of each kernel, as the device's clock says.
    pub seconds: Vec<f64>,
    /// Intervals that failed, and eighths of those that failed.
    pub failed: [u64; 2],
    /// Candidates as places: sub-block << 40 | distance from its start; sorted.
    pub places: Vec<u64>,
}

/// Rounds of the test over the intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    /// Of an interval in the mean.
    pub mean: f64,
    /// Of a warp in the mean: its slowest thread's.
    pub warp: f64,
    /// Normalised mean deviation to the maximum: the share of rounds that a thread waits for others.
    pub deviation: f64,
}

/// Sub-blocks on an executor that has [`program`] loaded.
pub struct Dilemma<'a> {
    exec: &'a mut dyn Executor,
    blocks: u32,
    capacity: u32,
    records: BufferId,
    lines: [[BufferId; 3]; 2],
    found: BufferId,
    counts: BufferId,
    sums: BufferId,
}

impl<'a> Dilemma<'a> {
    /// Of records.
    pub fn new(exec: &'a mut dyn Executor, records: &[Vec<u64>]) -> Result<Dilemma<'a>, GpuError> {
        let bytes: Vec<u8> = records
            .iter()
            .flatten()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        let intervals = (records.len() * RUNS * RUN) as f64;
        let capacity = (intervals * ROOM) as usize + 1024;
        let mut line = || -> Result<[BufferId; 3], GpuError> {
            Ok([
                exec.alloc("starts", capacity * 8, 8)?,
                exec.alloc("slopes", capacity * 8, 8)?,
                exec.alloc("places", capacity * 8, 8)?,
            ])
        };
        let lines = [line()?, line()?];
        let d = Dilemma {
            blocks: (records.len() * RUNS) as u32 / THREADS,
            capacity: capacity as u32,
            records: exec.alloc("records", bytes.len().max(8), 8)?,
            lines,
            found: exec.alloc("candidates", CANDIDATES * 8, 8)?,
            counts: exec.alloc("counts", 12, 4)?,
            sums: exec.alloc("sums", 24, 8)?,
            exec,
        };
        d.exec.write(d.records, &bytes)?;
        Ok(d)
    }

    fn launch(&mut self, name: &str, blocks: u32, args: &[Arg]) -> Result<f64, GpuError> {
        self.exec.start_clock()?;
        self.exec.launch(&Launch {
            symbol: name,
            name,
            grid: [blocks, 1, 1],
            block: [THREADS, 1, 1],
            dynamic_shared: 0,
            args,
        })?;
        Ok(self.exec.stop_clock()?)
    }

    fn outcome(&mut self, seconds: Vec<f64>) -> Result<DeploymentOutcome, GpuError> {
        let counts = self.exec.read(self.counts)?;
        let [a, b, many] = [0, 1, 2].map(|i| word(&counts, i));
        if a > self.capacity || b > self.capacity || many as usize > CANDIDATES {
            return Err(GpuError::Full);
        }
        let found = self.exec.read(self.found)?;
        let mut places: Vec<u64> = found
            .chunks_exact(8)
            .take(many as usize)
            .map(|p| u64::from(word(p, 0)) | u64::from(word(p, 1)) << 32)
            .collect();
        places.sort_unstable();
        Ok(DeploymentOutcome {
            seconds,
            failed: [a.into(), b.into()],
            places,
        })
    }

    fn buffer(id: BufferId) -> Arg {
        Arg::Buffer { id, offset: 0 }
    }

    fn tail(&self) -> Vec<Arg> {
        vec![
            Self::buffer(self.found),
            Self::buffer(self.counts),
            Arg::Bytes((CANDIDATES as u32).to_le_bytes().to_vec()),
        ]
    }

    /// Every argument.
    pub fn exhaustive(&mut self) -> Result<DeploymentOutcome, GpuError> {
        self.single("exhaustive".to_owned())
    }

    /// All phases in one kernel.
    pub fn one(&mut self, form: &str) -> Result<DeploymentOutcome, GpuError> {
        self.single(format!("one_{form}"))
    }

    fn single(&mut self, name: String) -> Result<DeploymentOutcome, GpuError> {
        self.exec.write(self.counts, &[0; 12])?;
        let args = [vec![Self::buffer(self.records)], self.tail()].concat();
        let t = self.launch(&name, self.blocks, &args)?;
        self.outcome(vec![t])
    }

    /// A kernel for each phase.
    pub fn three(&mut self, form: &str) -> Result<DeploymentOutcome, GpuError> {
        self.exec.write(self.counts, &[0; 12])?;
        let number = |n: u32| Arg::Bytes(n.to_le_bytes().to_vec());
        let [first, second] = self.lines.map(|l| l.map(Self::buffer).to_vec());
        let records = vec![Self::buffer(self.records)];
        let counts = || vec![Self::buffer(self.counts), number(self.capacity)];
        let one = [records.clone(), first.clone(), counts()].concat();
        let two = [records.clone(), first, second.clone(), counts()].concat();
        let three = [
            records,
            second,
            vec![
                Self::buffer(self.found),
                Self::buffer(self.counts),
                number(self.capacity),
                number(CANDIDATES as u32),
            ],
        ]
        .concat();
        let few = BLOCKS.min(self.blocks.max(1));
        let seconds = vec![
            self.launch(&format!("phase1_{form}"), self.blocks, &one)?,
            self.launch(&format!("phase2_{form}"), few, &two)?,
            self.launch("phase3", few, &three)?,
        ];
        self.outcome(seconds)
    }

    /// Rounds of the test.
    pub fn rounds(&mut self, form: &str) -> Result<Rounds, GpuError> {
        self.exec.write(self.sums, &[0; 24])?;
        let args = [Self::buffer(self.records), Self::buffer(self.sums)];
        self.launch(&format!("rounds_{form}"), self.blocks, &args)?;
        let b = self.exec.read(self.sums)?;
        let at =
            |i: usize| (u64::from(word(&b, 2 * i)) | u64::from(word(&b, 2 * i + 1)) << 32) as f64;
        let tests = f64::from(self.blocks) * f64::from(THREADS) * RUN as f64;
        Ok(Rounds {
            mean: at(0) / tests,
            warp: at(1) / tests,
            deviation: at(2) / (tests / 32.0) / 2f64.powi(32),
        })
    }

    /// What is known of the kernels.
    pub fn registers(&self, name: &str) -> Option<u32> {
        let stats = self.exec.kernel_stats();
        stats.into_iter().find(|s| s.symbol == name)?.registers
    }
}
