//! The special-function unit's f32 operations: read off a device whole, and compared between two.
//!
//! A dump is a list of ranges of arguments, each with the results' differences in a form that compresses
//! well; `bench/probes/sfu/fit.py` makes the CPU executor's table of it. A comparison runs every argument
//! that there is on two executors.
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_llvm::{LlvmError, Module};

/// Arguments of one launch.
const CHUNK: u32 = 1 << 24;
const BLOCK: u32 = 256;

/// An operation: its key and LLVM's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SfuOperation {
    /// Key: `ex2.ftz`.
    pub key: &'static str,
    intrinsic: &'static str,
    /// Does it take a second argument? That is then a hash of the first.
    pub binary: bool,
}

const fn op(key: &'static str, intrinsic: &'static str, binary: bool) -> SfuOperation {
    SfuOperation {
        key,
        intrinsic,
        binary,
    }
}

/// All operations; those with one instruction of the unit and nothing else come first.
pub const OPERATIONS: [SfuOperation; 18] = [
    op("rcp.ftz", "nvvm.rcp.approx.ftz.f", false),
    op("rsqrt.ftz", "nvvm.rsqrt.approx.ftz.f", false),
    op("sqrt.ftz", "nvvm.sqrt.approx.ftz.f", false),
    op("ex2.ftz", "nvvm.ex2.approx.ftz.f32", false),
    op("lg2.ftz", "nvvm.lg2.approx.ftz.f", false),
    op("sin.ftz", "nvvm.sin.approx.ftz.f", false),
    op("cos.ftz", "nvvm.cos.approx.ftz.f", false),
    op("tanh", "tanh.f32", false),
    op("rsqrt", "nvvm.rsqrt.approx.f", false),
    op("sqrt", "nvvm.sqrt.approx.f", false),
    op("ex2", "nvvm.ex2.approx.f32", false),
    op("lg2", "nvvm.lg2.approx.f", false),
    op("sin", "nvvm.sin.approx.f", false),
    op("cos", "nvvm.cos.approx.f", false),
    op("div.ftz", "nvvm.div.approx.ftz.f", true),
    op("div", "nvvm.div.approx.f", true),
    op("div.full.ftz", "nvvm.div.full.ftz", true),
    op("div.full", "nvvm.div.full", true),
];

impl SfuOperation {
    /// Name of its kernel.
    fn kernel(self) -> String {
        format!("sfu_{}", self.key.replace('.', "_"))
    }
}

/// Names of all kernels.
pub fn kernels() -> Vec<String> {
    OPERATIONS.iter().map(|o| o.kernel()).collect()
}

/// A module with a kernel for each operation.
pub fn module() -> Result<Module, LlvmError> {
    let mut text = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n",
    );
    for o in OPERATIONS {
        let (types, args) = match o.binary {
            true => ("float, float", "float %x, float %y"),
            false => ("float", "float %x"),
        };
        let (name, kernel) = (o.intrinsic, o.kernel());
        text += &format!(
            "declare float @llvm.{name}({types})
define ptx_kernel void @{kernel}(ptr %out, i32 %start, i32 %step) {{
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s = mul i32 %b, {BLOCK}
  %i = add i32 %s, %t
  %d = mul i32 %i, %step
  %w = add i32 %start, %d
  %x = bitcast i32 %w to float
  %h = mul i32 %w, -1640531535
  %h1 = lshr i32 %h, 15
  %h2 = xor i32 %h, %h1
  %h3 = mul i32 %h2, -2048144789
  %y = bitcast i32 %h3 to float
  %r = call float @llvm.{name}({args})
  %j = zext i32 %i to i64
  %p = getelementptr float, ptr %out, i64 %j
  store float %r, ptr %p
  ret void
}}\n"
        );
    }
    Module::parse(text.as_bytes(), "sfu.ll")
}

/// An executor with room for the results of one launch.
pub struct SfuRunner<'a> {
    exec: &'a mut dyn Executor,
    out: BufferId,
}

impl<'a> SfuRunner<'a> {
    /// On an executor that has [`module`] loaded.
    pub fn new(exec: &'a mut dyn Executor) -> Result<SfuRunner<'a>, ExecError> {
        let out = exec.alloc("results", CHUNK as usize * 4, 4)?;
        Ok(SfuRunner { exec, out })
    }

    /// Results for `start + i * step`, `count` of them and at most [`CHUNK`].
    fn results(
        &mut self,
        o: SfuOperation,
        start: u32,
        step: u32,
        count: u32,
    ) -> Result<Vec<u8>, ExecError> {
        let word = |v: u32| Arg::Bytes(v.to_le_bytes().to_vec());
        let kernel = o.kernel();
        self.exec.launch(&Launch {
            symbol: &kernel,
            name: &kernel,
            grid: [count.div_ceil(BLOCK), 1, 1],
            block: [BLOCK, 1, 1],
            dynamic_shared: 0,
            args: &[
                Arg::Buffer {
                    id: self.out,
                    offset: 0,
                },
                word(start),
                word(step),
            ],
        })?;
        let mut bytes = self.exec.read(self.out)?;
        bytes.truncate(count as usize * 4);
        Ok(bytes)
    }
}

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// Key of the operation.
    pub key: String,
    /// Arguments tried.
    pub tried: u64,
    /// Those for which the results differ; NaNs are equal.
    pub different: u64,
    /// The first of them: argument, and both results.
    pub examples: Vec<[u32; 3]>,
}

/// Compares two executors on every `step`-th argument (an odd number: 1 for all).
pub fn compare(
    a: &mut SfuRunner,
    b: &mut SfuRunner,
    o: SfuOperation,
    step: u32,
) -> Result<Comparison, ExecError> {
    let mut out = Comparison {
        key: o.key.into(),
        ..Comparison::default()
    };
    let total = (1u64 << 32) / u64::from(step);
    let mut at = 0u64;
    while at < total {
        let count = (total - at).min(CHUNK.into()) as u32;
        let start = (at * u64::from(step)) as u32;
        let (x, y) = (
            a.results(o, start, step, count)?,
            b.results(o, start, step, count)?,
        );
        if x != y {
            let words = x.as_chunks::<4>().0.iter().zip(y.as_chunks::<4>().0);
            for (i, (p, q)) in (0u32..).zip(words) {
                let (p, q) = (u32::from_le_bytes(*p), u32::from_le_bytes(*q));
                let nan = |w: u32| f32::from_bits(w).is_nan();
                if p != q && !(nan(p) && nan(q)) {
                    out.different += 1;
                    if out.examples.len() < 8 {
                        let argument = start.wrapping_add(i.wrapping_mul(step));
                        out.examples.push([argument, p, q]);
                    }
                }
            }
        }
        out.tried += u64::from(count);
        at += u64::from(count);
    }
    Ok(out)
}

/// A range of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentRange {
    /// First argument, as bits.
    pub start: u32,
    /// Distance.
    pub step: u32,
    /// How many.
    pub count: u32,
}

/// The ranges from which an operation can be fitted: whole binades, and a sample of everything.
pub fn ranges(o: SfuOperation) -> Vec<ArgumentRange> {
    let binade = |e: i32, sign: u32| ArgumentRange {
        start: ((127 + e) as u32) << 23 | sign << 31,
        step: 1,
        count: 1 << 23,
    };
    let positive = |all: std::ops::RangeInclusive<i32>| all.map(|e| binade(e, 0)).collect();
    let mut out: Vec<ArgumentRange> = match o.key.split('.').next().unwrap_or_default() {
        "rcp" | "div" => positive(0..=0),
        "rsqrt" | "sqrt" => positive(0..=1),
        "lg2" => positive(-2..=2),
        "ex2" => vec![
            binade(0, 0),
            binade(-1, 0),
            binade(1, 0),
            binade(0, 1),
            binade(-1, 1),
        ],
        "tanh" => positive(-9..=3),
        _ => positive(-3..=3),
    };
    out.push(ArgumentRange {
        start: 0,
        step: 16381,
        count: 262_192,
    });
    out
}

/// An operation's dump: of each range start, step and count, then the differences of consecutive results
/// as four planes of bytes, the lowest first; a difference's sign is its lowest bit.
pub fn dump(r: &mut SfuRunner, o: SfuOperation) -> Result<Vec<u8>, ExecError> {
    let mut out = Vec::new();
    for range in ranges(o) {
        for w in [range.start, range.step, range.count] {
            out.extend(w.to_le_bytes());
        }
        let bytes = r.results(o, range.start, range.step, range.count)?;
        let words = bytes.as_chunks::<4>().0.iter();
        let mut before = 0;
        let differences: Vec<u32> = words
            .map(|w| {
                let w = u32::from_le_bytes(*w);
                let d = w.wrapping_sub(std::mem::replace(&mut before, w)) as i32;
                (d << 1 ^ d >> 31) as u32
            })
            .collect();
        for plane in 0..4 {
            out.extend(differences.iter().map(|d| (d >> (8 * plane)) as u8));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_exec::cpu::{CpuExecutor, CpuOptions};

    fn cpu() -> CpuExecutor {
        let m = module().expect("parses");
        CpuExecutor::new(&m, CpuOptions::default()).expect("compiles")
    }

    #[test]
    fn an_executor_agrees_with_itself_and_its_dump_with_it() {
        let (mut a, mut b) = (cpu(), cpu());
        let (mut a, mut b) = (
            SfuRunner::new(&mut a).expect("a"),
            SfuRunner::new(&mut b).expect("b"),
        );
        for o in OPERATIONS {
            let c = compare(&mut a, &mut b, o, 65_537).expect("compares");
            assert_eq!((c.tried, c.different), ((1 << 32) / 65_537, 0), "{}", c.key);
        }
        let d = dump(&mut a, OPERATIONS[0]).expect("dumps");
        let n = 1 << 23;
        assert_eq!(d.len(), 24 + 4 * n + 4 * 262_192);
        // 1/1 = 1, and the next result is one or two less.
        let z = |i: usize| {
            let at = |plane: usize| u32::from(d[12 + plane * n + i]);
            at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24
        };
        assert_eq!(z(0), 0x3f80_0000 << 1);
        assert!(matches!(z(1), 1 | 3), "{}", z(1));
    }

    #[test]
    fn differences_are_found() {
        let (mut a, mut b) = (cpu(), cpu());
        let (mut a, mut b) = (
            SfuRunner::new(&mut a).expect("a"),
            SfuRunner::new(&mut b).expect("b"),
        );
        let sine = OPERATIONS[5];
        let x = a.results(sine, 0x3f80_0000, 1, 256).expect("runs");
        let y = b.results(OPERATIONS[6], 0x3f80_0000, 1, 256).expect("runs");
        assert_ne!(x, y);
    }
}
