//! Running probes on a GPU: latency as the slope between two lengths of a chain, throughput as the
//! best of a sweep over streams and warps.
use super::recipe::ProbeNumbers;
use super::text::{ProbeKernel, STREAMS};
use super::{Probe, values};
use crate::profile::Figure;
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};

/// Threads of the largest block.
const THREADS: usize = 1024;
/// A pattern that no result has: results of probes are small numbers.
const NEVER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes between the words of a wandering load: no two in one line of a cache.
const STEP: u64 = 256;
/// Figures whose repeats lie further apart than this share are called unstable.
pub const UNSTABLE: f64 = 0.03;

/// Clocks of one warp.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    start: u64,
    stop: u64,
    sm: u64,
}

/// A probe on a device, ready to run.
pub struct ProbeBench {
    exec: CudaExecutor,
    probe: Probe,
    seeds: BufferId,
    operands: BufferId,
    clocks: BufferId,
    sms: u32,
    /// Where a wandering load begins next.
    wander: Option<Wander>,
}

/// A cycle through memory, of which each run takes another part.
#[derive(Debug, Clone, Copy)]
struct Wander {
    base: u64,
    slots: u64,
    at: u64,
}

/// A launch shape with its result.
#[derive(Debug, Clone, Copy)]
pub struct Best {
    /// The kernel.
    pub shape: ProbeKernel,
    /// Warps of the one block on each multiprocessor.
    pub warps: u32,
    /// Iterations used.
    pub iterations: u32,
    /// Results per clock per multiprocessor.
    pub rate: f64,
}

fn median(v: &mut [f64]) -> f64 {
    v.sort_by(f64::total_cmp);
    match v.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => v[n / 2],
        n => (v[n / 2 - 1] + v[n / 2]) / 2.0,
    }
}

/// Median with the range of repeats; unstable ones say so.
pub fn summary(mut v: Vec<f64>, digits: f64) -> Figure {
    let m = median(&mut v);
    let (low, high) = (v[0], v[v.len() - 1]);
    let f = Figure::measured_in(m, low, high);
    if high - low > digits {
        f.with_note(format!("unstable: repeats differ by {:.3}", high - low))
    } else {
        f
    }
}

impl ProbeBench {
    /// Loads a probe's binary. `ring` is the size in bytes of the memory that loads wander through.
    pub fn new(
        probe: Probe,
        binary: &[u8],
        ordinal: i32,
        sms: u32,
        ring: Ring,
    ) -> Result<ProbeBench, ExecError> {
        let names: Vec<String> = probe.shapes.iter().map(|s| s.name()).collect();
        let mut exec = CudaExecutor::from_binary(binary, &names, ordinal)?;
        let mut wander = None;
        let seeds = if probe.recipe().numbers == ProbeNumbers::Address {
            let (start, bytes) = ring.build(&mut exec)?;
            wander = start;
            bytes
        } else {
            values::seeds(&probe.borrowed(), THREADS)
        };
        let s = exec.alloc("seeds", seeds.len(), 16)?;
        exec.write(s, &seeds)?;
        let operands = values::operands(&probe.borrowed());
        let o = exec.alloc("operands", operands.len(), 16)?;
        exec.write(o, &operands)?;
        let clocks = exec.alloc("clocks", 24 * sms as usize * (THREADS / 32), 8)?;
        Ok(ProbeBench {
            exec,
            probe,
            seeds: s,
            operands: o,
            clocks,
            sms,
            wander,
        })
    }

    /// Starts a kernel without waiting for it.
    pub fn start(
        &mut self,
        shape: ProbeKernel,
        blocks: u32,
        warps: u32,
        iterations: u32,
    ) -> Result<(), ExecError> {
        let name = shape.name();
        let buffer = |id| Arg::Buffer { id, offset: 0 };
        self.exec.launch(&Launch {
            symbol: &name,
            name: &name,
            grid: [blocks, 1, 1],
            block: [32 * warps, 1, 1],
            dynamic_shared: 0,
            args: &[
                buffer(self.seeds),
                buffer(self.operands),
                buffer(self.clocks),
                Arg::Bytes(iterations.to_le_bytes().to_vec()),
                Arg::Bytes(0u64.to_le_bytes().to_vec()),
                Arg::Bytes(NEVER.to_le_bytes().to_vec()),
            ],
        })
    }

    fn run(
        &mut self,
        shape: ProbeKernel,
        blocks: u32,
        warps: u32,
        iterations: u32,
    ) -> Result<Vec<Vec<Clocks>>, ExecError> {
        if let Some(w) = &mut self.wander {
            // Where no run has been: its lines would still lie in a cache.
            w.at = (w.at + w.slots / 61) % w.slots;
            let start = w.base + w.at * STEP;
            self.exec
                .write(self.seeds, &values::addresses(32, |_, _| start))?;
        }
        self.start(shape, blocks, warps, iterations)?;
        let bytes = self.exec.read(self.clocks)?;
        let word = |i: usize| {
            let mut w = [0u8; 8];
            w.copy_from_slice(&bytes[8 * i..8 * i + 8]);
            u64::from_le_bytes(w)
        };
        let warps = warps as usize;
        Ok((0..blocks as usize)
            .map(|b| {
                (0..warps)
                    .map(|w| b * warps + w)
                    .map(|i| Clocks {
                        start: word(3 * i),
                        stop: word(3 * i + 1),
                        sm: word(3 * i + 2),
                    })
                    .collect()
            })
            .collect())
    }

    /// Cycles from one operation to the next, through the mask or not; one figure per repeat.
    pub fn latency(&mut self, masked: bool, repeats: usize) -> Result<Option<Vec<f64>>, ExecError> {
        let mut chains: Vec<ProbeKernel> = super::latency_shapes(self.probe.recipe())
            .into_iter()
            .filter(|s| s.masked == masked)
            .collect();
        chains.sort_by_key(|s| s.unroll);
        let [short, long] = chains[..] else {
            return Ok(None);
        };
        let iterations = (512 / long.unroll).max(4) as u32;
        let mut cycles = |s: ProbeKernel| -> Result<f64, ExecError> {
            // The first run fills the instruction cache.
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let c = self.run(s, 1, 1, iterations)?;
                best = best.min(c[0][0].stop.wrapping_sub(c[0][0].start) as f64);
            }
            Ok(best)
        };
        (0..repeats)
            .map(|_| {
                let (a, b) = (cycles(short)?, cycles(long)?);
                Ok((b - a) / (f64::from(iterations) * (long.unroll - short.unroll) as f64))
            })
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }

    /// Results per clock per multiprocessor of one configuration.
    fn rate(
        &mut self,
        shape: ProbeKernel,
        blocks: u32,
        warps: u32,
        iterations: u32,
    ) -> Result<f64, ExecError> {
        let all = self.run(shape, blocks, warps, iterations)?;
        let operations =
            (shape.streams * shape.unroll) as f64 * f64::from(iterations) * f64::from(32 * warps);
        let mut rates: Vec<f64> = all
            .iter()
            .map(|b| {
                let first = b.iter().map(|c| c.start).min().unwrap_or(0);
                let last = b.iter().map(|c| c.stop).max().unwrap_or(0);
                let here = all.iter().filter(|o| o[0].sm == b[0].sm).count() as f64;
                here * operations * self.probe.results() / (last.wrapping_sub(first) as f64)
            })
            .collect();
        Ok(median(&mut rates))
    }

    /// Blocks for a throughput run: atomics to global memory on one multiprocessor alone, since all
    /// would share the same addresses.
    fn blocks(&self) -> u32 {
        if self.probe.key.starts_with("atomic_add.global") {
            1
        } else {
            self.sms
        }
    }

    /// Iterations so that a run takes about `cycles`.
    fn calibrate(&mut self, s: ProbeKernel, warps: u32, cycles: f64) -> Result<u32, ExecError> {
        let blocks = self.blocks();
        self.run(s, blocks, warps, 2)?;
        let all = self.run(s, blocks, warps, 4)?;
        let each = all[0]
            .iter()
            .map(|c| c.stop.wrapping_sub(c.start))
            .max()
            .unwrap_or(1) as f64
            / 4.0;
        Ok((cycles / each.max(1.0)).clamp(4.0, 1e6) as u32)
    }

    /// The best of a sweep over streams and warps, and the rates of its repeats.
    pub fn throughput(
        &mut self,
        warps: &[u32],
        repeats: usize,
    ) -> Result<(Best, Vec<f64>), ExecError> {
        let blocks = self.blocks();
        let stats = self.exec.kernel_stats();
        let mut best: Option<Best> = None;
        for shape in self.probe.throughput() {
            let name = shape.name();
            let most = stats
                .iter()
                .find(|k| k.symbol == name)
                .and_then(|k| k.max_threads)
                .unwrap_or(1024);
            for &warps in warps.iter().filter(|w| **w * 32 <= most) {
                let iterations = self.calibrate(shape, warps, 6e4)?;
                let rate = self.rate(shape, blocks, warps, iterations)?;
                if best.is_none_or(|b| rate > b.rate) {
                    best = Some(Best {
                        shape,
                        warps,
                        iterations,
                        rate,
                    });
                }
            }
        }
        let best = best.ok_or_else(|| ExecError::Compile("no shape fits the device".into()))?;
        let iterations = best.iterations.saturating_mul(3);
        let rates = (0..repeats)
            .map(|_| self.rate(best.shape, blocks, best.warps, iterations))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((best, rates))
    }

    /// Clock in MHz while a shape runs, from its cycles and the events around it.
    pub fn clock(&mut self, b: Best, seconds: f64) -> Result<f64, ExecError> {
        let iterations = self.calibrate(b.shape, b.warps, seconds * 1.5e9)?;
        self.exec.start_clock()?;
        let all = {
            self.start(b.shape, self.sms, b.warps, iterations)?;
            let time = self.exec.stop_clock()?;
            let bytes = self.exec.read(self.clocks)?;
            let word = |i: usize| {
                let mut w = [0u8; 8];
                w.copy_from_slice(&bytes[8 * i..8 * i + 8]);
                u64::from_le_bytes(w)
            };
            (word(1).wrapping_sub(word(0)) as f64, time)
        };
        Ok(all.0 / all.1 * 1e-6)
    }

    /// Registers of the smallest kernel.
    pub fn registers(&self) -> Option<u32> {
        self.exec
            .kernel_stats()
            .iter()
            .filter_map(|k| k.registers)
            .min()
    }

    /// Registers, static shared memory, threads of a block and the driver's blocks for each kernel:
    /// evidence for the occupancy formula.
    pub fn occupancy(&self) -> Result<Vec<(u32, u32, u32, u32)>, ExecError> {
        let mut all = Vec::new();
        for k in self.exec.kernel_stats() {
            let (Some(registers), Some(shared)) = (k.registers, k.shared_bytes) else {
                continue;
            };
            for threads in [32, 96, 128, 256, 384, 512, 1024] {
                if k.max_threads.is_some_and(|m| threads <= m) {
                    let blocks = self.exec.blocks_per_sm(&k.symbol, threads, 0)?;
                    all.push((registers, shared, threads, blocks));
                }
            }
        }
        Ok(all)
    }

    /// The executor, for events around many launches.
    pub fn executor(&mut self) -> &mut CudaExecutor {
        &mut self.exec
    }

    /// Multiprocessors that a throughput run uses.
    pub fn busy(&self) -> u32 {
        self.blocks()
    }
}

/// Memory that loads and atomics go to.
#[derive(Debug, Clone, Copy)]
pub enum Ring {
    /// Each thread and stream has a word that holds its own address.
    Own,
    /// One cycle in pseudo-random order through this many bytes, a word each 256 bytes.
    Wander(u64),
}

impl Ring {
    fn build(self, exec: &mut CudaExecutor) -> Result<(Option<Wander>, Vec<u8>), ExecError> {
        match self {
            Ring::Own => {
                let bytes = THREADS * STREAMS * 8;
                let id = exec.alloc("ring", bytes, 8)?;
                let base = exec.address(id)?;
                let content: Vec<u8> = (0..THREADS * STREAMS)
                    .flat_map(|i| (base + 8 * i as u64).to_le_bytes())
                    .collect();
                exec.write(id, &content)?;
                // Lanes are neighbours.
                let seeds = values::addresses(THREADS, |t, j| base + 8 * (j * THREADS + t) as u64);
                Ok((None, seeds))
            }
            Ring::Wander(bytes) => {
                let n = (bytes / STEP).next_power_of_two();
                let id = exec.alloc("ring", (n * STEP) as usize, 8)?;
                let base = exec.address(id)?;
                // A full-period congruential sequence modulo a power of two visits every slot once.
                let next =
                    |i: u64| (i.wrapping_mul(0x5851_f42d_4c95_7f2d) + 1_442_695_041) & (n - 1);
                let mut content = vec![0u8; (n * STEP) as usize];
                for i in 0..n {
                    let at = (i * STEP) as usize;
                    content[at..at + 8].copy_from_slice(&(base + next(i) * STEP).to_le_bytes());
                }
                exec.write(id, &content)?;
                let wander = Wander {
                    base,
                    slots: n,
                    at: 0,
                };
                Ok((Some(wander), values::addresses(THREADS, |_, _| base)))
            }
        }
    }
}
