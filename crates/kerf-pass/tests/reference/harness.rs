//! Calls of reference functions on many arguments at once, and arguments.
use crate::libdevice::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use kerf_num::Dd;
use std::fmt::Write;

const PAIR: &str = "<2 x double>";

/// The types of a function's parameters and of its result.
fn signature(name: &str) -> (Vec<&'static str>, &'static str) {
    match name {
        "compare" => (vec![PAIR, PAIR], "i32"),
        "from_i64" | "from_u64" => (vec!["i64"], PAIR),
        "ldexp" | "powi" => (vec![PAIR, "i32"], PAIR),
        "fma" | "norm3d" | "rnorm3d" => (vec![PAIR; 3], PAIR),
        "add" | "sub" | "mul" | "div" | "fmin" | "fmax" | "copysign" | "fdim" | "hypot"
        | "rhypot" | "pow" | "atan2" | "fmod" | "remainder" => (vec![PAIR; 2], PAIR),
        _ => (vec![PAIR], PAIR),
    }
}

/// A kernel that calls a function once a thread.
fn kernel(name: &str) -> String {
    let (of, to) = signature(name);
    let mut body = String::new();
    let mut args = Vec::new();
    for (k, t) in of.iter().enumerate() {
        let _ = write!(
            body,
            "  %p{k} = getelementptr {t}, ptr %a{k}, i64 %w\n  %x{k} = load {t}, ptr %p{k}\n"
        );
        args.push(format!("{t} %x{k}"));
    }
    let params: Vec<String> = (0..of.len()).map(|k| format!("ptr %a{k}")).collect();
    format!(
        r#"
define ptx_kernel void @{name}({params}, ptr %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %c, %d
  %i = add i32 %m, %t
  %w = zext i32 %i to i64
{body}
  %r = call {to} @kerf_dd_{name}({args})
  %po = getelementptr {to}, ptr %out, i64 %w
  store {to} %r, ptr %po
  ret void
}}
declare {to} @kerf_dd_{name}({of})
"#,
        params = params.join(", "),
        args = args.join(", "),
        of = of.join(", "),
    )
}

/// A module with a kernel for each function, linked and finished.
pub fn module(functions: &[&str]) -> Module {
    let mut text = "target triple = \"nvptx64-nvidia-cuda\"\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
        .to_owned();
    for f in functions {
        text += &kernel(f);
    }
    let m = Module::parse(text.as_bytes(), "reference").expect("parses");
    kerf_pass::reference_library::link(&m).expect("links");
    for f in functions {
        let g = m.function(&format!("kerf_dd_{f}")).expect("called");
        assert!(!g.is_declaration(), "the library has no {f}");
    }
    finish(&m, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    m
}

/// Functions of the library, ready to be called.
pub struct Library(CpuExecutor);

/// Arguments of one parameter.
pub enum Column<'a> {
    Pairs(&'a [Dd]),
    I32(&'a [i32]),
    I64(&'a [u64]),
}

impl Column<'_> {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Column::Pairs(x) => x
                .iter()
                .flat_map(|d| [d.hi.to_le_bytes(), d.lo.to_le_bytes()].concat())
                .collect(),
            Column::I32(x) => x.iter().flat_map(|n| n.to_le_bytes()).collect(),
            Column::I64(x) => x.iter().flat_map(|n| n.to_le_bytes()).collect(),
        }
    }
    fn len(&self) -> usize {
        match self {
            Column::Pairs(x) => x.len(),
            Column::I32(x) => x.len(),
            Column::I64(x) => x.len(),
        }
    }
    fn size(&self) -> usize {
        match self {
            Column::Pairs(_) => 16,
            Column::I32(_) => 4,
            Column::I64(_) => 8,
        }
    }
}

impl Library {
    pub fn new(functions: &[&str]) -> Library {
        let m = module(functions);
        Library(CpuExecutor::new(&m, CpuOptions::default()).expect("compiles"))
    }

    fn bytes(&mut self, name: &str, columns: &[Column], size: usize) -> Vec<u8> {
        let n = columns[0].len();
        let padded = n.next_multiple_of(64);
        let mut args = Vec::new();
        for c in columns {
            assert_eq!(c.len(), n);
            let mut bytes = c.bytes();
            bytes.resize(padded * c.size(), 0);
            let id = self.0.alloc("in", bytes.len(), 1).expect("memory");
            self.0.write(id, &bytes).expect("fits");
            args.push(Arg::Buffer { id, offset: 0 });
        }
        let out = self.0.alloc("out", padded * size, size).expect("memory");
        args.push(Arg::Buffer { id: out, offset: 0 });
        self.0
            .launch(&Launch {
                symbol: name,
                name,
                grid: [(padded / 64) as u32, 1, 1],
                block: [64, 1, 1],
                dynamic_shared: 0,
                args: &args,
            })
            .expect("runs");
        let mut bytes = self.0.read(out).expect("reads");
        bytes.truncate(n * size);
        bytes
    }

    /// The results of a function whose result is a pair.
    pub fn call(&mut self, name: &str, columns: &[Column]) -> Vec<Dd> {
        let word = |b: &[u8]| f64::from_le_bytes(b.try_into().expect("eight bytes"));
        self.bytes(name, columns, 16)
            .chunks_exact(16)
            .map(|b| Dd {
                hi: word(&b[..8]),
                lo: word(&b[8..]),
            })
            .collect()
    }

    /// The results of `compare`.
    pub fn compare(&mut self, a: &[Dd], b: &[Dd]) -> Vec<i32> {
        self.bytes("compare", &[Column::Pairs(a), Column::Pairs(b)], 4)
            .chunks_exact(4)
            .map(|b| i32::from_le_bytes(b.try_into().expect("four bytes")))
            .collect()
    }
}

/// A fixed sequence.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Uniform in `[from, to)`.
    pub fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * (self.next() >> 11) as f64 / 2f64.powi(53)
    }
    /// A pair with the high word `x`: the low word is full, short, far below, or zero.
    pub fn pair(&mut self, x: f64) -> Dd {
        let half_ulp = (f64::from_bits(x.to_bits() + 1) - x) / 2.0;
        let gap = match self.next() % 8 {
            0 => return Dd::from_f64(x),
            1 | 2 => 2f64.powi(-((self.next() % 60) as i32)),
            3 => 2f64.powi(-((self.next() % 200) as i32)),
            _ => 1.0,
        };
        Dd::from_sum(x, self.between(-1.0, 1.0) * half_ulp * gap)
    }
    /// A pair in `[2^from, 2^to)`, all exponents alike.
    pub fn wide(&mut self, from: i32, to: i32) -> Dd {
        let n = from + (self.next() % (to - from) as u64) as i32;
        let x = self.between(1.0, 2.0);
        let x = Dd::from_f64(x).ldexp(n).hi;
        self.pair(x)
    }
    /// `x` or `-x`.
    pub fn signed(&mut self, x: Dd) -> Dd {
        if self.next().is_multiple_of(2) {
            x
        } else {
            x.neg()
        }
    }
    /// A pair close to `c`, from a tenth down to the last bit.
    pub fn near(&mut self, c: f64) -> Dd {
        let e = self.between(-0.2, 0.2) * 2f64.powi(-((self.next() % 106) as i32));
        Dd::from_sum(c, c * e)
    }
}

/// Zeros, subnormals, infinities, NaN, and the ends of the range.
pub const SPECIAL: [f64; 28] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -2.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    100.0,
    -100.0,
    1e5,
    -1e5,
    1e300,
    -1e300,
    5e-324,
    -5e-324,
    2.5e-308,
    1e-310,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_993.0,
];
