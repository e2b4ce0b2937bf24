//! References of random kernels by two routes: device code, and the functions of the CPU executor.
//!
//! Where device code has a shadow for everything in a kernel, both routes give the same bits.
use crate::identity::random_buffers;
use crate::random_kernel::{self, RandomModule};
use kerf_exec::cpu::{CpuCode, CpuExecutor, CpuOptions};
use kerf_exec::shadow_space::{BufferScalars, LostShadows, ShadowExecutor, pairs};
use kerf_exec::{BufferId, ExecError, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::{LlvmError, Module};
use kerf_num::{Dd, Format};
use kerf_pass::shadow::{self, ShadowDevice, ShadowMap, ShadowRuntime};

/// Formats of the first three outputs of a random kernel.
const FORMATS: [Format; 3] = [Format::F64, Format::F32, Format::F16];

/// A random kernel whose module computes shadows, finished.
pub struct ShadowedRandom {
    random: RandomModule,
    seed: u64,
    /// The finished module.
    pub module: Module,
    /// What the pass put in.
    pub map: ShadowMap,
}

/// Makes the random kernel of a seed, with shadows as device code or for the functions of the CPU executor. The module is
/// not finished where device code has no shadow for something in it.
pub fn shadowed(
    seed: u64,
    libdevice: &[u8],
    arch: &str,
    device: Option<ShadowDevice>,
) -> Result<ShadowedRandom, ExecError> {
    let random = random_kernel::module(seed, 1);
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
        finish(&module, libdevice, arch, Reflect::default()).map_err(bad)?;
    }
    Ok(ShadowedRandom {
        random,
        seed,
        module,
        map,
    })
}

/// Shadows of the outputs of a random kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomShadows {
    /// Bits of high and low words, NaNs made equal, by format.
    pub values: Vec<Vec<(u64, u64)>>,
    /// Comparisons that went the other way.
    pub flips: u64,
}

impl RandomShadows {
    fn new(values: Vec<Vec<Dd>>, flips: u64) -> RandomShadows {
        let bits = |d: &Dd| match d.hi.is_nan() {
            true => (f64::NAN.to_bits(), 0),
            false => (d.hi.to_bits(), d.lo.to_bits()),
        };
        let values = values.iter().map(|v| v.iter().map(bits).collect());
        RandomShadows {
            values: values.collect(),
            flips,
        }
    }
}

impl ShadowedRandom {
    /// Symbol of its kernel.
    pub fn symbol(&self) -> &str {
        &self.random.kernels[0].name
    }

    /// Bytes of all its buffers in one allocation.
    pub fn arena_bytes(&self) -> usize {
        let n = self.random.kernels[0].threads();
        2 * [8, 4, 2, 4]
            .iter()
            .map(|size| (n * size).next_multiple_of(256) + 256)
            .sum::<usize>()
    }

    fn launch(&self, exec: &mut dyn Executor) -> Result<Vec<BufferId>, ExecError> {
        let k = &self.random.kernels[0];
        let (args, outs) = random_buffers(self.seed, 0, k.threads(), exec)?;
        exec.launch(&Launch {
            symbol: &k.name,
            name: &k.name,
            grid: k.grid,
            block: k.block,
            dynamic_shared: 0,
            args: &args,
        })?;
        Ok(outs)
    }

    /// Runs it on an executor that has it loaded as device code. None where shadows were lost.
    pub fn run<E: ShadowExecutor>(&self, exec: &mut E) -> Result<Option<RandomShadows>, ExecError> {
        let n = self.random.kernels[0].threads();
        let outs = self.launch(exec)?;
        let mut values = Vec::new();
        for (format, id) in FORMATS.into_iter().zip(outs) {
            let scalars = BufferScalars {
                offset: 0,
                format,
                elements: n,
                element_bytes: format.bytes(),
                values_of_element: 1,
                number: 0,
            };
            let out = exec.alloc("shadows", 16 * n, 16)?;
            exec.write_shadows(id, &[scalars], out)?;
            values.push(pairs(&exec.read(out)?));
        }
        let flips = exec.flip_counts()?.iter().sum();
        let lost = exec.lost_shadows()?;
        Ok((lost == LostShadows::default()).then(|| RandomShadows::new(values, flips)))
    }

    /// Runs it with the functions of the CPU executor.
    pub fn run_with_tables(&self, options: CpuOptions) -> Result<RandomShadows, ExecError> {
        let code = CpuCode::new(&self.module, options)?;
        let mut exec = CpuExecutor::with_shadow(&code, options, self.map.clone())?;
        let n = self.random.kernels[0].threads();
        let outs = self.launch(&mut exec)?;
        let mut values = Vec::new();
        for (format, id) in FORMATS.into_iter().zip(outs) {
            let places = (0..n).map(|i| (i * format.bytes(), format));
            values.push(exec.shadow_values(id, places)?);
        }
        let flips = exec
            .shadow()
            .map_or(0, |s| s.flips().iter().map(|f| f.0).sum());
        Ok(RandomShadows::new(values, flips))
    }
}
