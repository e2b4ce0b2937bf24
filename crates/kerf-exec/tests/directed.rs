//! Directed rounding of f32 and f64, and `fma` of the small formats, against MPFR.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use kerf_num::Format;
use rug::Float;
use rug::float::Round;

const N: usize = 4096;

/// A kernel of one operation in the three modes, its three results one after the other.
fn ir(op: &str, ty: &str, letter: &str) -> String {
    let args = match op {
        "fma" => format!("{ty} %x, {ty} %y, {ty} %z"),
        _ => format!("{ty} %x, {ty} %y"),
    };
    let types = args
        .replace(" %x", "")
        .replace(" %y", "")
        .replace(" %z", "");
    let mut text = format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %a, ptr %b, ptr %c, ptr %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %m = mul i32 %d, 64
  %i = add i32 %m, %t
  %w = zext i32 %i to i64
  %pa = getelementptr {ty}, ptr %a, i64 %w
  %pb = getelementptr {ty}, ptr %b, i64 %w
  %pc = getelementptr {ty}, ptr %c, i64 %w
  %x = load {ty}, ptr %pa
  %y = load {ty}, ptr %pb
  %z = load {ty}, ptr %pc
"#
    );
    let mut declared = String::new();
    for (k, mode) in ["rm", "rz", "rp"].into_iter().enumerate() {
        let name = format!("@llvm.nvvm.{op}.{mode}.{letter}");
        declared += &format!("declare {ty} {name}({types})\n");
        text += &format!(
            "  %r{k} = call {ty} {name}({args})
  %q{k} = getelementptr {ty}, ptr %out, i64 {}
  %o{k} = getelementptr {ty}, ptr %q{k}, i64 %w
  store {ty} %r{k}, ptr %o{k}\n",
            k * N
        );
    }
    text + "  ret void\n}\n"
        + &declared
        + "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
}

/// The exact value rounded once; none where it is not a number.
fn want(op: &str, x: f64, y: f64, z: f64, mode: Round, digits: u32) -> Option<f64> {
    let (min, max) = match digits {
        53 => (-1074, f64::MAX),
        _ => (-149, f64::from(f32::MAX)),
    };
    let z = if op == "fma" { z } else { -0.0 };
    let (p, q) = match op {
        "add" => (x, y),
        "sub" => (x, -y),
        "mul" => (x * y, -0.0),
        _ => (x * y, z),
    };
    if !x.is_finite() || !y.is_finite() || !z.is_finite() {
        let r = if op == "fma" { x.mul_add(y, z) } else { p + q };
        return (!r.is_nan()).then_some(r);
    }
    let wide = |v: f64| Float::with_val(4400, v);
    let exact = match op {
        "add" => wide(x) + y,
        "sub" => wide(x) - y,
        "mul" => wide(x) * y,
        _ => wide(x) * y + z,
    };
    if exact.is_zero() {
        let minus = match (op, p.is_sign_negative(), q.is_sign_negative()) {
            ("mul", s, _) => s,
            (_, a, b) if a == b => a,
            _ => mode == Round::Down,
        };
        return Some(if minus { -0.0 } else { 0.0 });
    }
    // On the grid of the format at this exponent.
    let e = exact.get_exp().expect("not zero");
    let last = (e - digits as i32).max(min);
    let steps = exact.clone() >> last;
    let whole = match mode {
        Round::Down => steps.floor(),
        Round::Up => steps.ceil(),
        _ => steps.trunc(),
    };
    let negative = exact.is_sign_negative();
    let r = whole << last;
    let size = r.to_f64().abs();
    let over = Float::with_val(4400, r.clone().abs()) > max;
    let away = matches!((mode, negative), (Round::Down, true) | (Round::Up, false));
    let size = match (over, away) {
        (true, true) => f64::INFINITY,
        (true, false) => max,
        _ => size,
    };
    Some(if negative { -size } else { size })
}

fn inputs(digits: u32, mut seed: u64) -> Vec<f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        -1.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let mut next = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        seed >> 20
    };
    (0..N)
        .map(|_| match (next() % 8, digits) {
            (0, _) => special[next() as usize % 8],
            // Few digits near one: exact results, halves and cancellation.
            (1..4, _) => (next() % 32) as f64 / 16.0 - 1.0,
            (4, 24) => f64::from(f32::from_bits((next() % (1 << 24)) as u32)),
            (4, _) => f64::from_bits(next() % (1 << 44)),
            (5, 24) => f64::from(f32::MAX) * (next() % 3) as f64 / 2.0,
            (5, _) => f64::MAX * ((next() % 3) as f64 / 2.0),
            (_, 24) => f64::from(f32::from_bits(0x3f00_0000 + (next() % (1 << 25)) as u32)),
            _ => f64::from_bits((1023 << 52) + (next() << 8) % (1 << 53)),
        })
        .map(|v| if digits == 24 { f64::from(v as f32) } else { v })
        .collect()
}

/// Runs a kernel `k` on three arrays of `N` elements, and gives the bytes of `results` arrays that it writes.
fn run(text: &str, given: [Vec<u8>; 3], results: usize) -> Vec<u8> {
    let m = Module::parse(text.as_bytes(), "k").expect("parses");
    kerf_ir::prepare::prepare(&m, "sm_90").expect("prepares");
    finish(&m, &[], "sm_90", Reflect::default()).expect("finishes");
    let mut e = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let size = given[0].len() / N;
    let mut args = Vec::new();
    for bytes in &given {
        let id = e.alloc("in", bytes.len(), size).expect("memory");
        e.write(id, bytes).expect("fits");
        args.push(Arg::Buffer { id, offset: 0 });
    }
    let id = e.alloc("out", results * N * size, size).expect("memory");
    args.push(Arg::Buffer { id, offset: 0 });
    let launch = Launch {
        symbol: "k",
        name: "k",
        grid: [N as u32 / 64, 1, 1],
        block: [64, 1, 1],
        dynamic_shared: 0,
        args: &args,
    };
    e.launch(&launch).expect("runs");
    e.read(id).expect("reads")
}

#[test]
fn one_rounding_in_every_mode() {
    for (ty, letter, format) in [("float", "f", Format::F32), ("double", "d", Format::F64)] {
        let (size, digits) = (format.bytes(), format.mantissa_bits());
        for op in ["add", "mul", "fma"] {
            let given = [1, 2, 3].map(|seed| inputs(digits, seed));
            let packed = given.clone().map(|v| {
                let bytes = |x: f64| format.encode(x).to_le_bytes()[..size].to_vec();
                v.into_iter().flat_map(bytes).collect()
            });
            let out = run(&ir(op, ty, letter), packed, 3);
            let mut numbers = 0;
            for (k, c) in out.chunks(size).enumerate() {
                let mut word = [0; 8];
                word[..size].copy_from_slice(c);
                let got = format.decode(u64::from_le_bytes(word));
                let mode = [Round::Down, Round::Zero, Round::Up][k / N];
                let [x, y, z] = [0, 1, 2].map(|i: usize| given[i][k % N]);
                match want(op, x, y, z, mode, digits) {
                    None => assert!(got.is_nan(), "{op} {ty} {mode:?}: {x:e} {y:e} {z:e}"),
                    Some(w) => {
                        numbers += 1;
                        assert_eq!(
                            got.to_bits(),
                            w.to_bits(),
                            "{op} {ty} {mode:?}: {x:e} {y:e} {z:e}: {got:e}, not {w:e}"
                        );
                    }
                }
            }
            assert!(numbers > N, "most results are numbers");
        }
    }
}

#[test]
fn small_formats_round_an_fma_once() {
    for (ty, suffix, format) in [
        ("half", "f16", Format::F16),
        ("bfloat", "bf16", Format::Bf16),
    ] {
        let text = ir("fma", ty, "f");
        // The one operation, to nearest, in the place of the first mode.
        let text = text.replace("@llvm.nvvm.fma.rm.f", &format!("@llvm.fma.{suffix}"));
        let text = text.replace("@llvm.nvvm.fma.rz.f", &format!("@llvm.fma.{suffix}"));
        let text = text.replace("@llvm.nvvm.fma.rp.f", &format!("@llvm.fma.{suffix}"));
        let declared = format!("declare {ty} @llvm.fma.{suffix}({ty}, {ty}, {ty})\n");
        let text = text.replace(&declared, "") + &declared;
        let mut seed = 7u64;
        let mut next = |near: bool| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let w = (seed >> 40) as u16;
            // All patterns, and numbers near one, whose products meet the sum's halves.
            let one = format.encode(1.0) as u16;
            if near { one ^ (w & 0x80ff) } else { w }
        };
        let given = [0, 1, 2].map(|_| (0..N).map(|k| next(k % 2 == 0)).collect::<Vec<u16>>());
        let bytes = |v: &Vec<u16>| v.iter().flat_map(|w| w.to_le_bytes()).collect();
        let out = run(&text, [0, 1, 2].map(|k: usize| bytes(&given[k])), 3);
        let mut numbers = 0;
        for (k, c) in out.chunks(2).enumerate() {
            let d = |w: u16| format.decode(u64::from(w));
            let [x, y, z] = [0, 1, 2].map(|i: usize| d(given[i][k % N]));
            let got = d(u16::from_le_bytes([c[0], c[1]]));
            let exact = Float::with_val(600, x) * y + z;
            if exact.is_nan() {
                assert!(got.is_nan(), "{ty}: {x:e} {y:e} {z:e}");
                continue;
            }
            numbers += 1;
            if exact.is_zero() || exact.is_infinite() {
                assert_eq!(got, exact.to_f64(), "{ty}: {x:e} {y:e} {z:e}");
                continue;
            }
            let hi = exact.to_f64();
            let lo = Float::with_val(600, &exact - hi).to_f64();
            let w = format.round_dd(kerf_num::Dd::from_sum(hi, lo));
            assert_eq!(
                got.to_bits(),
                w.to_bits(),
                "{ty}: {x:e} {y:e} {z:e}: {got:e}, not {w:e}"
            );
        }
        assert!(numbers > N, "most results are numbers");
    }
}
