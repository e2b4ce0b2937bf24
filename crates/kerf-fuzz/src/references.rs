//! References of random kernels by two routes, compared bit by bit.
//!
//! A reference is computed by device code, on a GPU or on the CPU executor, or by the functions of the CPU executor with
//! their tables. Where device code has a shadow for everything in a kernel, all three give the same bits: the arithmetic
//! is the same, and the tables keep low words as device code does. Where it has not, the reference comes from the tables
//! whatever the route, and there is nothing to compare.
pub mod campaign;
pub mod tally;

use crate::identity::{self, Outputs};
use crate::random_kernel::{self, RandomModule};
use kerf_exec::ExecError;
use kerf_exec::cpu::{CpuCode, CpuExecutor, CpuOptions};
use kerf_exec::cuda::{CudaExecutor, link};
use kerf_exec::shadow_space::{BufferScalars, LostShadows, ShadowExecutor, VALUES, pairs};
use kerf_ir::finish::{self, Reflect, finish};
use kerf_llvm::{LlvmError, Module};
use kerf_num::{Dd, Format};
use kerf_pass::shadow::{self, ShadowDevice, ShadowMap, ShadowRuntime};

/// Formats of the first three outputs of a random kernel.
const FORMATS: [Format; 3] = [Format::F64, Format::F32, Format::F16];

/// Names of their buffers.
const BUFFERS: [&str; 3] = ["f64", "f32", "f16"];

/// A random kernel whose module computes shadows, finished.
pub struct ShadowedRandom {
    random: RandomModule,
    seed: u64,
    /// The finished module.
    pub module: Module,
    /// What the pass put in.
    pub map: ShadowMap,
}

/// Makes the random kernel of a seed, with shadows as device code or for the functions of the CPU executor. Its functions
/// are inlined, since device code has no shadows for calls. The module is not finished where device code has no shadow for
/// something in it.
pub fn shadowed(
    seed: u64,
    libdevice: &[u8],
    arch: &str,
    device: Option<ShadowDevice>,
) -> Result<ShadowedRandom, ExecError> {
    let random = random_kernel::module(seed, 1).inlined();
    let bad = |e: LlvmError| ExecError::Compile(format!("random module {seed}: {e}"));
    let module = Module::parse(random.ir.as_bytes(), "random").map_err(bad)?;
    kerf_ir::prepare::prepare(&module, arch).map_err(bad)?;
    let runtime = match device {
        Some(_) => ShadowRuntime::Device,
        None => ShadowRuntime::Host,
    };
    let map = shadow::instrument(&module, runtime).map_err(bad)?;
    if map.needs_host.is_empty() {
        match device {
            Some(d) => shadow::link(&module, d),
            None => shadow::link_functions(&module),
        }
        .map_err(bad)?;
        if device == Some(ShadowDevice::Gpu) {
            bound_blocks(&random, &module);
        }
        finish(&module, libdevice, arch, Reflect::default()).map_err(bad)?;
    }
    Ok(ShadowedRandom {
        random,
        seed,
        module,
        map,
    })
}

/// Tells the assembler how many threads blocks have, as for references of workloads: it may give all registers to them.
fn bound_blocks(random: &RandomModule, module: &Module) {
    for k in &random.kernels {
        if let Some(kernel) = module.function(&k.name) {
            let threads: u32 = k.block.iter().product();
            kernel.add_fn_attr("nvvm.maxntid", &threads.to_string());
        }
    }
}

/// Shadows of the outputs of a random kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomShadows {
    /// What the kernel itself wrote.
    pub outputs: Outputs,
    /// Bits of high and low words, NaNs made equal, by format.
    pub values: Vec<Vec<(u64, u64)>>,
    /// How often each comparison went the other way.
    pub flips: Vec<u64>,
}

impl RandomShadows {
    fn new(outputs: Outputs, values: Vec<Vec<Dd>>, flips: Vec<u64>) -> RandomShadows {
        let bits = |d: &Dd| match d.hi.is_nan() {
            true => (f64::NAN.to_bits(), 0),
            false => (d.hi.to_bits(), d.lo.to_bits()),
        };
        let values = values.iter().map(|v| v.iter().map(bits).collect());
        RandomShadows {
            outputs,
            values: values.collect(),
            flips,
        }
    }

    /// Where shadows differ from those of another route, in words: for each buffer how many, and the first.
    pub fn shadow_differences(&self, other: &RandomShadows) -> Vec<String> {
        let mut found = Vec::new();
        for ((name, a), b) in BUFFERS.iter().zip(&self.values).zip(&other.values) {
            let differ = |i: &usize| a.get(*i) != b.get(*i);
            let all: Vec<usize> = (0..a.len().max(b.len())).filter(differ).collect();
            if let Some(i) = all.first() {
                let (n, of) = (all.len(), a.len());
                let (x, y) = (shadow_in_words(a.get(*i)), shadow_in_words(b.get(*i)));
                found.push(format!(
                    "{n} of {of} {name} shadows differ, first [{i}] {x} and {y}"
                ));
            }
        }
        found
    }

    /// Comparisons that went the other way more often than on another route, or less, in words.
    pub fn flip_differences(&self, other: &RandomShadows) -> Vec<String> {
        let (a, b) = (&self.flips, &other.flips);
        let count = |v: &[u64], i: usize| v.get(i).map_or("none".to_owned(), u64::to_string);
        (0..a.len().max(b.len()))
            .filter(|i| a.get(*i) != b.get(*i))
            .map(|i| {
                format!(
                    "comparison {i} flips {} and {} times",
                    count(a, i),
                    count(b, i)
                )
            })
            .collect()
    }
}

/// High and low word of a shadow, as numbers and as bits.
fn shadow_in_words(shadow: Option<&(u64, u64)>) -> String {
    shadow.map_or("none".to_owned(), |(hi, lo)| {
        let (h, l) = (f64::from_bits(*hi), f64::from_bits(*lo));
        format!("{h:e} + {l:e} ({hi:#018x}, {lo:#018x})")
    })
}

/// Shadows by device code, or which of them it lost: then the reference is taken by the tables.
pub type DeviceShadows = Result<RandomShadows, LostShadows>;

impl ShadowedRandom {
    /// Symbol of its kernel.
    pub fn symbol(&self) -> &str {
        &self.random.kernels[0].name
    }

    /// Threads of its launch: elements of each buffer.
    fn threads(&self) -> usize {
        self.random.kernels[0].threads()
    }

    /// Bytes of all its buffers in one allocation.
    fn arena_bytes(&self) -> usize {
        let n = self.threads();
        2 * [8, 4, 2, 4]
            .iter()
            .map(|size| (n * size).next_multiple_of(256) + 256)
            .sum::<usize>()
    }

    /// Runs it on an executor that has it loaded as device code.
    fn run<E: ShadowExecutor>(&self, exec: &mut E) -> Result<DeviceShadows, ExecError> {
        let n = self.threads();
        let k = &self.random.kernels[0];
        let outs = identity::launch((k, k.threads()), (self.seed, 0), None, exec)?;
        let mut values = Vec::new();
        for (format, id) in FORMATS.into_iter().zip(&outs) {
            let scalars = BufferScalars {
                offset: 0,
                format,
                elements: n,
                element_bytes: format.bytes(),
                values_of_element: 1,
                number: 0,
            };
            let out = exec.alloc("shadows", 16 * n, 16)?;
            exec.write_shadows(*id, &[scalars], out)?;
            values.push(pairs(&exec.read(out)?));
        }
        let flips = exec.flip_counts()?;
        let lost = exec.lost_shadows()?;
        if !lost.is_empty() {
            return Ok(Err(lost));
        }
        let outputs = identity::read_outputs(&outs, exec)?;
        Ok(Ok(RandomShadows::new(outputs, values, flips)))
    }

    /// Runs it as device code on the CPU executor.
    pub fn run_on_cpu(&self, options: CpuOptions) -> Result<DeviceShadows, ExecError> {
        let code = CpuCode::new(&self.module, options)?;
        self.run(&mut CpuExecutor::with_entries(
            &code,
            options,
            self.map.clone(),
        )?)
    }

    /// Runs it as device code on a GPU, made and loaded as references of workloads are.
    pub fn run_on_gpu(&self, arch: &str, ordinal: i32) -> Result<DeviceShadows, ExecError> {
        let ptx = finish::ptx(&self.module, arch).map_err(|e| ExecError::Compile(e.0))?;
        let symbols = [self.symbol().to_owned(), VALUES.to_owned()];
        let mut exec = CudaExecutor::from_binary(&link(&ptx, ordinal)?, &symbols, ordinal)?;
        exec.start_shadow(self.map.clone(), self.arena_bytes())?;
        self.run(&mut exec)
    }

    /// Runs it with the functions of the CPU executor.
    pub fn run_with_tables(&self, options: CpuOptions) -> Result<RandomShadows, ExecError> {
        let code = CpuCode::new(&self.module, options)?;
        let mut exec = CpuExecutor::with_shadow(&code, options, self.map.clone())?;
        let k = &self.random.kernels[0];
        let outs = identity::launch((k, k.threads()), (self.seed, 0), None, &mut exec)?;
        let mut values = Vec::new();
        for (format, id) in FORMATS.into_iter().zip(&outs) {
            let places = (0..self.threads()).map(|i| (i * format.bytes(), format));
            values.push(exec.shadow_values(*id, places)?);
        }
        let outputs = identity::read_outputs(&outs, &mut exec)?;
        let flips = exec.shadow().map_or_else(Vec::new, |s| s.flip_counts());
        Ok(RandomShadows::new(outputs, values, flips))
    }
}
