//! Calls of library functions on many arguments at once.
use crate::libdevice::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use kerf_num::doubleword::{Dw, Elementary, fast_two_sum};

/// A word, and what its types are called.
pub trait Word: Elementary {
    const P: i32;
    const PREFIX: &'static str;
    const TYPE: &'static str;
    fn from_f64(x: f64) -> Self;
    fn bytes(self) -> Vec<u8>;
    fn read(b: &[u8]) -> Self;
    fn bits(self) -> u64;
}

impl Word for f32 {
    const P: i32 = 24;
    const PREFIX: &'static str = "kerf_dw32";
    const TYPE: &'static str = "float";
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }
    fn read(b: &[u8]) -> f32 {
        f32::from_le_bytes(b.try_into().expect("four bytes"))
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Word for f64 {
    const P: i32 = 53;
    const PREFIX: &'static str = "kerf_dw64";
    const TYPE: &'static str = "double";
    fn from_f64(x: f64) -> f64 {
        x
    }
    fn bytes(self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }
    fn read(b: &[u8]) -> f64 {
        f64::from_le_bytes(b.try_into().expect("eight bytes"))
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// A kernel that calls `function` once a thread on elements of up to three arrays.
fn ir(function: &str, of: &[&str], to: &str) -> String {
    let mut body = String::new();
    let mut args = Vec::new();
    for (k, t) in of.iter().enumerate() {
        body += &format!(
            "  %p{k} = getelementptr {t}, ptr %a{k}, i64 %w\n  %x{k} = load {t}, ptr %p{k}\n"
        );
        args.push(format!("{t} %x{k}"));
    }
    let params: Vec<String> = (0..of.len()).map(|k| format!("ptr %a{k}")).collect();
    format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k({params}, ptr %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %c, %d
  %i = add i32 %m, %t
  %w = zext i32 %i to i64
{body}
  %r = call {to} @{function}({args})
  %po = getelementptr {to}, ptr %out, i64 %w
  store {to} %r, ptr %po
  ret void
}}
declare {to} @{function}({of})
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
"#,
        params = params.join(", "),
        args = args.join(", "),
        of = of.join(", "),
    )
}

/// Results of a function, as bytes; the number of arguments is a multiple of 64.
pub fn call(
    function: &str,
    of: &[&str],
    to: (&str, usize),
    inputs: &[Vec<u8>],
    n: usize,
) -> Vec<u8> {
    assert!(n.is_multiple_of(64));
    let m = Module::parse(ir(function, of, to.0).as_bytes(), function).expect("parses");
    kerf_pass::doubleword::link(&m).expect("links");
    let f = m
        .function(function)
        .unwrap_or_else(|| panic!("{function} is gone"));
    assert!(!f.is_declaration(), "the library has no {function}");
    finish(&m, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let mut args = Vec::new();
    for bytes in inputs {
        let id = exec.alloc("in", bytes.len(), 1).expect("memory");
        exec.write(id, bytes).expect("fits");
        args.push(Arg::Buffer { id, offset: 0 });
    }
    let out = exec.alloc("out", n * to.1, to.1).expect("memory");
    args.push(Arg::Buffer { id: out, offset: 0 });
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [(n / 64) as u32, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        args: &args,
    })
    .expect("runs");
    exec.read(out).expect("reads")
}

fn vector<T: Word>() -> String {
    format!("<2 x {}>", T::TYPE)
}

fn flat<T: Word>(x: &[Dw<T>]) -> Vec<u8> {
    x.iter()
        .flat_map(|d| [d.hi.bytes(), d.lo.bytes()].concat())
        .collect()
}

/// `PREFIX_name` of double words and of words, which are the high ones of their columns.
pub fn mixed<T: Word>(name: &str, columns: &[&[Dw<T>]], is_word: &[bool]) -> Vec<Dw<T>> {
    let n = columns[0].len();
    assert!(n.is_multiple_of(64));
    let v = vector::<T>();
    let of: Vec<&str> = is_word
        .iter()
        .map(|w| if *w { T::TYPE } else { v.as_str() })
        .collect();
    let inputs: Vec<Vec<u8>> = columns
        .iter()
        .zip(is_word)
        .map(|(c, w)| match w {
            true => c.iter().flat_map(|d| d.hi.bytes()).collect(),
            false => flat(c),
        })
        .collect();
    let size = 2 * size_of::<T>();
    let bytes = call(
        &format!("{}_{name}", T::PREFIX),
        &of,
        (&v, size),
        &inputs,
        n,
    );
    bytes.chunks_exact(size).map(read_pair).collect()
}

fn read_pair<T: Word>(b: &[u8]) -> Dw<T> {
    let (hi, lo) = b.split_at(size_of::<T>());
    Dw {
        hi: T::read(hi),
        lo: T::read(lo),
    }
}

/// `PREFIX_name` of double words, on arguments as columns.
pub fn pairs<T: Word>(name: &str, columns: &[&[Dw<T>]]) -> Vec<Dw<T>> {
    let n = columns[0].len();
    let padded: Vec<Vec<Dw<T>>> = columns
        .iter()
        .map(|c| {
            let mut c = c.to_vec();
            c.resize(n.next_multiple_of(64), Dw::from_word(T::ONE));
            c
        })
        .collect();
    let columns: Vec<&[Dw<T>]> = padded.iter().map(Vec::as_slice).collect();
    let mut out = mixed(name, &columns, &vec![false; columns.len()]);
    out.truncate(n);
    out
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
    /// A double word with `x` rounded as its high word.
    pub fn pair<T: Word>(&mut self, x: f64) -> Dw<T> {
        let hi = T::from_f64(x);
        if hi == T::ZERO {
            return Dw::from_word(hi);
        }
        let lo = self.between(-1.0, 1.0) * 2f64.powi(hi.exponent() - T::P);
        let gap = if self.next().is_multiple_of(4) {
            2f64.powi(-((self.next() % 40) as i32))
        } else {
            1.0
        };
        fast_two_sum(hi, T::from_f64(lo * gap))
    }
    /// A double word of any sign, with a magnitude from 2^-range to 2^range.
    pub fn wide<T: Word>(&mut self, range: f64) -> Dw<T> {
        let x = self.between(-range, range).exp2();
        let x = if self.next().is_multiple_of(2) { x } else { -x };
        self.pair(x)
    }
}
