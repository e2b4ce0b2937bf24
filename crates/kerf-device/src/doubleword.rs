//! The bounds campaign: double-word operations against their proven bounds, on any executor.
//!
//! Kernels draw random and adversarial operands from a counter (exponent gaps, cancellation, low words
//! near half a unit, powers of two), compute the error of each exactly enough, and keep the largest. The
//! worst pairs are settled here with MPFR, and that figure is the one reported. See `device/bounds.cu`.
mod settle;

use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::{Linkage, LlvmError, Module};
use serde::{Deserialize, Serialize};

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bounds.bc"));

/// Worst pairs that are settled with MPFR, in case the kernel's order of them is not exact.
const SETTLED: usize = 16;
/// Threads of a block, and blocks.
const BLOCK: u32 = 256;
const BLOCKS: u32 = 1056;

/// What is measured: one operation in one variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoubleWordCase {
    /// Key in the manner of [`crate::operation`]: `add.dw32`, `mul.dw64.cmp`, `convert.f64.dw32`;
    /// `add_fp.dw32` is a pair plus a word.
    pub key: &'static str,
    /// Bound that is proven, in `unit`; none for the published composite formulas.
    pub proven: Option<f64>,
    /// What errors are counted in, with u the unit roundoff of the pair's word.
    pub unit: &'static str,
    operation: settle::Operation,
    /// Bits of the word: errors are multiplied by 2^(2 bits), or by 2^bits for a word as the result.
    scale: i32,
}

/// What was found about one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BoundReport {
    /// Key of the case.
    pub key: String,
    /// Device that computed.
    pub device: String,
    /// Operands tried.
    pub pairs: u64,
    /// Seed that they were drawn by.
    pub seed: u64,
    /// The largest error, settled with MPFR.
    pub max: f64,
    /// The bound that is proven.
    pub proven: Option<f64>,
    /// Unit of both.
    pub unit: String,
    /// Whether the bound holds on all operands.
    pub holds: Option<bool>,
    /// Number of the worst pair.
    pub worst: u64,
    /// Its operands, words of each as hexadecimal floats, exact.
    pub operands: Vec<[String; 2]>,
    /// What the device computed from them.
    pub result: [String; 2],
    /// Seconds on the device.
    pub time_s: f64,
}

/// Why a campaign failed.
#[derive(Debug, thiserror::Error)]
pub enum BoundError {
    /// The kernels could not be compiled.
    #[error("the kernels of the bounds campaign could not be compiled: {0}")]
    Compile(#[from] LlvmError),
    /// The executor failed.
    #[error("{0}")]
    Exec(#[from] ExecError),
    /// A buffer came back too short.
    #[error("{key}: the device gave {have} bytes for {want}")]
    Short {
        /// Case.
        key: &'static str,
        /// What came.
        have: usize,
        /// What was expected.
        want: usize,
    },
}

const U2: &str = "u^2";
const FMA: &str = "5u^2|xy| + 3u^2|xy + z|";

/// All cases, in the order of tables.
pub fn cases() -> Vec<DoubleWordCase> {
    use settle::Operation::*;
    let mut all = Vec::new();
    let mut case = |key, operation, proven, unit, scale| {
        all.push(DoubleWordCase {
            key,
            proven,
            unit,
            operation,
            scale,
        });
    };
    let u32 = 2f64.powi(-24);
    let u64 = 2f64.powi(-53);
    case("add.dw32", Add, Some(3.0 + 13.0 * u32), U2, 48);
    case("mul.dw32", Mul, Some(5.0), U2, 48);
    case("div.dw32", Div, Some(15.0 + 56.0 * u32), U2, 48);
    case("sqrt.dw32", Sqrt, Some(25.0 / 8.0), U2, 48);
    // The terms in u^3 that the unit leaves out: 13u of the sum, 15u of the product under it.
    case("fma.dw32", Fma, Some(1.0 + 28.0 * u32), FMA, 48);
    // With a word as the second operand.
    case("add_fp.dw32", Add, Some(2.0), U2, 48);
    case("mul_fp.dw32", Mul, Some(2.0), U2, 48);
    case("div_fp.dw32", Div, Some(3.0), U2, 48);
    case("add.dw64", Add, Some(3.0 + 13.0 * u64), U2, 106);
    case("mul.dw64", Mul, Some(5.0), U2, 106);
    case("div.dw64", Div, Some(15.0 + 56.0 * u64), U2, 106);
    case("sqrt.dw64", Sqrt, Some(25.0 / 8.0), U2, 106);
    case("fma.dw64", Fma, Some(1.0 + 28.0 * u64), FMA, 106);
    case("add_fp.dw64", Add, Some(2.0), U2, 106);
    case("mul_fp.dw64", Mul, Some(2.0), U2, 106);
    case("div_fp.dw64", Div, Some(3.0), U2, 106);
    case("add.dw32.cmp", Add, None, U2, 48);
    case("mul.dw32.cmp", Mul, None, U2, 48);
    case("div.dw32.cmp", Div, None, U2, 48);
    case("fma.dw32.cmp", Fma, None, FMA, 48);
    case("add.dw64.cmp", Add, None, U2, 106);
    case("mul.dw64.cmp", Mul, None, U2, 106);
    case("div.dw64.cmp", Div, None, U2, 106);
    case("fma.dw64.cmp", Fma, None, FMA, 106);
    // Two roundings of at most u each; one to 53 bits; the same two with the sum's of 2^-53 between; none.
    case("convert.f64.dw32", Convert, Some(1.0), U2, 48);
    case("convert.dw32.f64", Convert, Some(2f64.powi(-5)), U2, 48);
    case(
        "convert.dw64.dw32",
        Convert,
        Some(1.0 + 2f64.powi(-27)),
        U2,
        48,
    );
    case("convert.dw32.dw64", Convert, Some(0.0), U2, 106);
    case("convert.dw64.f32", Convert, Some(1.0), "u of f32", 24);
    all
}

impl DoubleWordCase {
    /// The case with a key.
    pub fn find(key: &str) -> Option<DoubleWordCase> {
        cases().into_iter().find(|c| c.key == key)
    }
    fn suffix(&self) -> String {
        self.key.replace('.', "_")
    }
    /// Kernels of the case: the search, and the one that shows a pair.
    pub fn symbols(&self) -> [String; 2] {
        [
            format!("bounds_{}", self.suffix()),
            format!("show_{}", self.suffix()),
        ]
    }
}

/// A finished module with the kernels of some cases, for an executor of architecture `arch`.
pub fn program(cases: &[DoubleWordCase], arch: &str) -> Result<Module, BoundError> {
    let m = Module::parse(BITCODE, "bounds")?;
    let wanted: Vec<String> = cases.iter().flat_map(DoubleWordCase::symbols).collect();
    for f in m.kernel_functions() {
        if !wanted.contains(&f.name()) {
            f.set_call_conv(0);
            f.set_linkage(Linkage::LLVMInternalLinkage);
        }
    }
    kerf_ir::prepare::prepare(&m, arch)?;
    finish(&m, &[], arch, Reflect::default())?;
    Ok(m)
}

fn words<const N: usize>(bytes: &[u8]) -> [f64; N] {
    let mut out = [0.0; N];
    for (o, b) in out.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut w = [0; 8];
        w.copy_from_slice(b);
        *o = f64::from_le_bytes(w);
    }
    out
}

fn launch(
    exec: &mut dyn Executor,
    symbol: &str,
    blocks: u32,
    threads: u32,
    seed: u64,
    number: u64,
    buffers: &[BufferId],
) -> Result<(), ExecError> {
    let mut args: Vec<Arg> = [seed, number]
        .map(|v| Arg::Bytes(v.to_le_bytes().to_vec()))
        .to_vec();
    args.extend(buffers.iter().map(|id| Arg::Buffer { id: *id, offset: 0 }));
    exec.launch(&Launch {
        symbol,
        name: symbol,
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        args: &args,
    })
}

/// Tries `pairs` operands of a case on an executor that has its [`program`] loaded.
pub fn run(
    exec: &mut dyn Executor,
    case: &DoubleWordCase,
    pairs: u64,
    seed: u64,
) -> Result<BoundReport, BoundError> {
    let [search, show] = case.symbols();
    // Small campaigns do with fewer threads, so that each has some pairs.
    let blocks = BLOCKS.min((pairs / u64::from(BLOCK)).clamp(1, u64::from(BLOCKS)) as u32);
    let threads = (blocks * BLOCK) as usize;
    let errors = exec.alloc("errors", threads * 8, 8)?;
    let indices = exec.alloc("indices", threads * 8, 8)?;
    let shown = exec.alloc("shown", 72, 8)?;
    exec.start_clock()?;
    launch(
        exec,
        &search,
        blocks,
        BLOCK,
        seed,
        pairs,
        &[errors, indices],
    )?;
    let time_s = exec.stop_clock()?;
    let (e, i) = (exec.read(errors)?, exec.read(indices)?);
    if e.len() < threads * 8 || i.len() < threads * 8 {
        return Err(BoundError::Short {
            key: case.key,
            have: e.len().min(i.len()),
            want: threads * 8,
        });
    }
    let mut found: Vec<(f64, u64)> = e
        .chunks_exact(8)
        .zip(i.chunks_exact(8))
        .map(|(e, i)| (words::<1>(e)[0], words::<1>(i)[0].to_bits()))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut worst = (-1.0, 0, [0.0; 9]);
    for (_, index) in found.into_iter().take(SETTLED).filter(|f| f.0 >= 0.0) {
        launch(exec, &show, 1, 1, seed, index, &[shown])?;
        let w = words::<9>(&exec.read(shown)?);
        let settled = settle::error(case.operation, &w, case.scale);
        if settled > worst.0 {
            worst = (settled, index, w);
        }
    }
    let (max, index, w) = worst;
    let used = case.operation.operands();
    let hex = |k: usize| [settle::hex(w[2 * k]), settle::hex(w[2 * k + 1])];
    Ok(BoundReport {
        key: case.key.into(),
        device: exec.device().name,
        pairs,
        seed,
        max,
        proven: case.proven,
        unit: case.unit.into(),
        holds: case.proven.map(|p| max <= p),
        worst: index,
        operands: (0..used).map(hex).collect(),
        result: hex(3),
        time_s,
    })
}
