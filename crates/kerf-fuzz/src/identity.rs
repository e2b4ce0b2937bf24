//! Random kernels on an executor: the evidence for "same bits on CPU and GPU".
//!
//! Kernels come from [`crate::random_kernel`], which never lets a NaN's payload or the sign of a
//! minimum of zeros decide anything; outputs are compared after all NaNs became one pattern.
use crate::random_dimensions::whole_plan;
use crate::random_kernel::{self, RandomKernel, RandomModule};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use kerf_pass::records::Records;
use kerf_pass::{Coarsening, KernelPlan, Plan, RecordPlan};
use std::collections::BTreeMap;

/// Outputs of one kernel: f64, f32, f16 and i32 buffers.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs {
    /// Raw content of the four buffers, NaNs made canonical.
    pub buffers: [Vec<u8>; 4],
}

/// Sizes of the four buffers' elements.
const ELEMENT: [usize; 4] = [8, 4, 2, 4];

fn canonical(kind: usize, bytes: &mut [u8]) {
    match kind {
        0 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|c| {
            let b = u64::from_le_bytes(*c);
            if f64::from_bits(b).is_nan() {
                *c = f64::NAN.to_bits().to_le_bytes();
            }
        }),
        1 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|c| {
            if f32::from_bits(u32::from_le_bytes(*c)).is_nan() {
                *c = f32::NAN.to_bits().to_le_bytes();
            }
        }),
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|c| {
            if half::f16::from_bits(u16::from_le_bytes(*c)).is_nan() {
                *c = half::f16::NAN.to_bits().to_le_bytes();
            }
        }),
        _ => {}
    }
}

impl Outputs {
    /// Outputs from the content of the four buffers.
    pub fn canonical(mut buffers: [Vec<u8>; 4]) -> Outputs {
        for (kind, bytes) in buffers.iter_mut().enumerate() {
            canonical(kind, bytes);
        }
        Outputs { buffers }
    }
    /// FNV-1a over all buffers: a compact record of the bits.
    pub fn digest(&self) -> u64 {
        self.buffers
            .iter()
            .flatten()
            .fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
                (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
            })
    }
    /// Where two runs differ, in words; none if they are equal.
    pub fn differences(&self, other: &Outputs) -> Option<String> {
        let value = |c: &[u8]| c.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
        let mut parts = Vec::new();
        for (k, size) in ELEMENT.iter().enumerate() {
            let pairs = self.buffers[k]
                .chunks(*size)
                .zip(other.buffers[k].chunks(*size));
            let all: Vec<(usize, u64, u64)> = pairs
                .enumerate()
                .filter(|(_, (a, b))| a != b)
                .map(|(i, (a, b))| (i, value(a), value(b)))
                .collect();
            if let Some((i, a, b)) = all.first() {
                let name = ["f64", "f32", "f16", "i32"][k];
                parts.push(format!(
                    "{} of {} {name} differ, first [{i}] {a:#x} and {b:#x}",
                    all.len(),
                    self.buffers[k].len() / size
                ));
            }
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// A random module, finished and ready to load.
pub struct PreparedRandom {
    /// Text and kernels.
    pub random: RandomModule,
    /// Its seed.
    pub seed: u64,
    /// The finished module.
    pub module: Module,
    /// Last argument of each kernel that a plan runs in two versions.
    pub lambda: Vec<Option<f32>>,
    /// How a plan coarsens each kernel.
    pub coarsen: Vec<Option<Coarsening>>,
    /// Records of buffers that a plan stores otherwise, by kernel and parameter.
    pub records: Vec<StoredParameters>,
}

/// Records by number of a parameter.
pub type StoredParameters = BTreeMap<usize, Records>;

/// Makes and finishes a random module; with `plans`, its kernels are changed by the plan of the seed.
pub fn prepare(
    seed: u64,
    kernels: usize,
    libdevice: &[u8],
    arch: &str,
    plans: bool,
) -> Result<PreparedRandom, ExecError> {
    prepare_with(seed, kernels, libdevice, arch, |m| match plans {
        true => whole_plan(m, seed),
        false => Plan::default(),
    })
}

/// The records that a plan stores otherwise in a kernel's parameters, which it names by number.
fn stored_parameters(k: &KernelPlan) -> Result<StoredParameters, ExecError> {
    let refused = |e: &dyn std::fmt::Display| ExecError::Compile(e.to_string());
    let one = |(number, r): (&String, &RecordPlan)| {
        let records = Records::new(r, None).map_err(|e| refused(&e))?;
        Ok((number.parse::<usize>().map_err(|e| refused(&e))?, records))
    };
    k.records.iter().map(one).collect()
}

/// Makes and finishes a random module, changed by a plan that is made for it.
pub fn prepare_with(
    seed: u64,
    kernels: usize,
    libdevice: &[u8],
    arch: &str,
    plan: impl FnOnce(&Module) -> Plan,
) -> Result<PreparedRandom, ExecError> {
    let random = random_kernel::module(seed, kernels);
    let bad = |e: kerf_llvm::LlvmError| ExecError::Compile(format!("random module {seed}: {e}"));
    let module = Module::parse(random.ir.as_bytes(), "random").map_err(bad)?;
    kerf_ir::prepare::prepare(&module, arch).map_err(bad)?;
    let plan = plan(&module);
    let of = |k: &RandomKernel| plan.kernels.get(&k.name)?.partition.as_ref();
    let lambda = random.kernels.iter();
    let lambda = lambda.map(|k| of(k).map(|p| p.lambda as f32)).collect();
    let coarse = |k: &RandomKernel| plan.kernels.get(&k.name)?.coarsen;
    let coarsen = random.kernels.iter().map(coarse).collect();
    let stored = |k: &RandomKernel| {
        let mine = plan.kernels.get(&k.name);
        mine.map_or_else(|| Ok(StoredParameters::new()), stored_parameters)
    };
    let records = random.kernels.iter().map(stored);
    let records = records.collect::<Result<_, _>>()?;
    plan.apply(&module)
        .map_err(|e| ExecError::Compile(format!("random module {seed}: {e}")))?;
    finish(&module, libdevice, arch, Reflect::default()).map_err(bad)?;
    Ok(PreparedRandom {
        random,
        seed,
        module,
        lambda,
        coarsen,
        records,
    })
}

/// Runs kernel `index` of a prepared module on an executor that has it loaded.
pub fn run(
    p: &PreparedRandom,
    index: usize,
    exec: &mut dyn Executor,
) -> Result<Outputs, ExecError> {
    let lambda = p.lambda.get(index).copied().flatten();
    let mut kernel = p.random.kernels[index].clone();
    let threads = kernel.threads();
    if let Some(c) = p.coarsen.get(index).copied().flatten() {
        kernel.block = c
            .launch(kernel.block)
            .map_err(|e| ExecError::Compile(e.to_string()))?;
    }
    let own = StoredParameters::new();
    let records = p.records.get(index).unwrap_or(&own);
    let (mut args, outs) = random_buffers((p.seed, index), threads, records, exec)?;
    args.extend(lambda.map(|l| Arg::Bytes(l.to_le_bytes().to_vec())));
    start(&kernel, &args, exec)?;
    let mut buffers: [Vec<u8>; 4] = Default::default();
    for (k, (buffer, id)) in buffers.iter_mut().zip(outs).enumerate() {
        let stored = exec.read(id)?;
        let bytes = threads * ELEMENT[k];
        *buffer = match records.get(&(k + INPUTS)) {
            Some(r) => r.load(&stored, bytes.next_multiple_of(r.bytes())),
            None => stored,
        };
        buffer.truncate(bytes);
    }
    Ok(Outputs::canonical(buffers))
}

fn start(k: &RandomKernel, args: &[Arg], exec: &mut dyn Executor) -> Result<(), ExecError> {
    exec.launch(&Launch {
        symbol: &k.name,
        name: &k.name,
        grid: k.grid,
        block: k.block,
        dynamic_shared: 0,
        args,
    })
}

/// Launches kernel `index` of a seed, with buffers for so many threads, on an executor that has it loaded, with a further argument where a plan runs it in
/// two versions; gives its four outputs.
pub(crate) fn launch(
    (k, threads): (&RandomKernel, usize),
    (seed, index): (u64, usize),
    lambda: Option<f32>,
    exec: &mut dyn Executor,
) -> Result<Vec<BufferId>, ExecError> {
    let own = StoredParameters::new();
    let (mut args, outs) = random_buffers((seed, index), threads, &own, exec)?;
    args.extend(lambda.map(|l| Arg::Bytes(l.to_le_bytes().to_vec())));
    start(k, &args, exec)?;
    Ok(outs)
}

/// What a random kernel wrote to its four outputs.
pub(crate) fn read_outputs(
    outs: &[BufferId],
    exec: &mut dyn Executor,
) -> Result<Outputs, ExecError> {
    let mut buffers: [Vec<u8>; 4] = Default::default();
    for (buffer, id) in buffers.iter_mut().zip(outs) {
        *buffer = exec.read(*id)?;
    }
    Ok(Outputs::canonical(buffers))
}

/// Parameters that are inputs; outputs follow.
const INPUTS: usize = 4;

/// Content of a parameter as a plan stores it; the last record may end behind the content.
fn stored(mut data: Vec<u8>, records: Option<&Records>) -> Vec<u8> {
    let Some(r) = records else { return data };
    data.resize(data.len().next_multiple_of(r.bytes()), 0);
    r.store(&data)
}

/// Inputs and outputs of a random kernel for `n` threads, on an executor: the arguments, and the four outputs.
fn random_buffers(
    (seed, index): (u64, usize),
    n: usize,
    records: &StoredParameters,
    exec: &mut dyn Executor,
) -> Result<(Vec<Arg>, Vec<BufferId>), ExecError> {
    let inputs = random_kernel::inputs(seed, index, n);
    let bytes: [Vec<u8>; 4] = [
        inputs.f64.iter().flat_map(|v| v.to_le_bytes()).collect(),
        inputs.f32.iter().flat_map(|v| v.to_le_bytes()).collect(),
        inputs.f16.iter().flat_map(|v| v.to_le_bytes()).collect(),
        inputs.i32.iter().flat_map(|v| v.to_le_bytes()).collect(),
    ];
    let mut args = Vec::new();
    let mut outs = Vec::new();
    for (number, data) in bytes.into_iter().enumerate() {
        let data = stored(data, records.get(&number));
        let id = exec.alloc("in", data.len(), 1)?;
        exec.write(id, &data)?;
        args.push(Arg::Buffer { id, offset: 0 });
    }
    for (k, size) in ELEMENT.into_iter().enumerate() {
        let data = stored(vec![0xa5; n * size], records.get(&(k + INPUTS)));
        let id = exec.alloc("out", data.len(), size)?;
        exec.write(id, &data)?;
        outs.push(id);
        args.push(Arg::Buffer { id, offset: 0 });
    }
    Ok((args, outs))
}
