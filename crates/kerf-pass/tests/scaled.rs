//! Scaled formats on the CPU executor: loads and stores have the bits of `kerf_num::scaled`, and losses are counted.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use kerf_num::random::SplitMix64;
use kerf_num::scaled::{ElementCode, ScaledFormat, StorageLoss};
use kerf_num::{Format, StorageFormat};
use kerf_pass::storage::LOSSES;
use kerf_pass::{KernelPlan, Plan, PlanError};

/// `out[i] = in[i]` in numbers, or vectors of them, of a format.
fn copying(element: &str) -> Module {
    let text = format!(
        "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"
target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = shl i32 %c, 7
  %n = or i32 %b, %t
  %i = zext i32 %n to i64
  %p = getelementptr inbounds {element}, ptr addrspace(1) %in, i64 %i
  %x = load {element}, ptr addrspace(1) %p
  %q = getelementptr inbounds {element}, ptr addrspace(1) %out, i64 %i
  store {element} %x, ptr addrspace(1) %q
  ret void
}}"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn plan(name: &str, format: ScaledFormat) -> Plan {
    let k = KernelPlan {
        storage: [(name.to_owned(), format.into())].into(),
        ..KernelPlan::default()
    };
    let mut plan = Plan::default();
    plan.kernels.insert("k".into(), k);
    plan
}

fn pack(bits: &[u64], bytes: usize) -> Vec<u8> {
    let all = bits.iter().flat_map(|b| b.to_le_bytes()[..bytes].to_vec());
    all.collect()
}

fn unpack(bytes: &[u8], size: usize) -> Vec<u64> {
    let word = |c: &[u8]| c.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b));
    bytes.chunks_exact(size).map(word).collect()
}

/// Runs a module on elements of one size, and gives those of another; and the counters, where there are some.
fn run(
    m: &Module,
    bits: &[u64],
    (from, to, lanes): (usize, usize, usize),
    counted: bool,
) -> (Vec<u64>, [u64; 2]) {
    finish(m, &[], "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
    let count = bits.len().next_multiple_of(128 * lanes);
    let source = exec.alloc("in", count * from, from).expect("room");
    let target = exec.alloc("out", count * to, to).expect("room");
    exec.write(source, &pack(bits, from)).expect("writes");
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [(count / 128 / lanes) as u32, 1, 1],
        block: [128, 1, 1],
        dynamic_shared: 0,
        args: &[source, target].map(|id| Arg::Buffer { id, offset: 0 }),
    })
    .expect("runs");
    let mut all = unpack(&exec.read(target).expect("reads"), to);
    all.truncate(bits.len());
    let lost = match counted {
        false => [0; 2],
        true => {
            let id = exec.symbol(LOSSES, 16, 8).expect("counters");
            let words = unpack(&exec.read(id).expect("reads"), 8);
            [words[0], words[1]]
        }
    };
    (all, lost)
}

/// Numbers of a format around everything where a scaled one changes its mind: codes, points between them, the ends, and
/// bits at random.
fn numbers(own: Format, f: ScaledFormat) -> Vec<u64> {
    let codes = 1u64 << (8 * f.bytes());
    let step = if f.bytes() == 2 { 37 } else { 1 };
    let mut values = Vec::new();
    for code in (0..codes).step_by(step).chain(codes / 2 - 3..codes / 2 + 3) {
        let x = f.decode(code % codes);
        let next = f.decode((code + 1) % codes);
        let middle = (x + next) / 2.0;
        let beside = |y: f64| [own.next_down(y), own.round(y), own.next_up(y)];
        values.extend([beside(x), beside(middle)].concat());
    }
    for end in [
        f.largest(),
        1.03 * f.largest(),
        1.1 * f.largest(),
        f.least() / 2.0,
    ] {
        for x in [own.next_down(end), own.round(end), own.next_up(end)] {
            values.extend([x, -x]);
        }
    }
    values.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    values.extend([own.max_finite(), own.min_subnormal(), -own.min_normal()]);
    let mut bits: Vec<u64> = values.iter().map(|x| own.encode(*x)).collect();
    let mut random = SplitMix64::new(7);
    let mask = u64::MAX >> (64 - 8 * own.bytes());
    bits.extend((0..20_000).map(|_| random.bits() & mask));
    bits
}

const FORMATS: [(ElementCode, i16, Format); 14] = [
    (ElementCode::I16, -15, Format::F64),
    (ElementCode::I16, -15, Format::F32),
    (ElementCode::I16, 0, Format::F32),
    (ElementCode::I16, -125, Format::F32),
    (ElementCode::I16, 112, Format::F32),
    (ElementCode::I16, -600, Format::F64),
    (ElementCode::I8, 3, Format::F64),
    (ElementCode::I8, -9, Format::F16),
    (ElementCode::I8, -9, Format::Bf16),
    (ElementCode::E4m3, 0, Format::F32),
    (ElementCode::E4m3, -116, Format::F32),
    (ElementCode::E4m3, 500, Format::F64),
    (ElementCode::E5m2, -7, Format::F64),
    (ElementCode::E5m2, 0, Format::Bf16),
];

fn element(own: Format, lanes: usize) -> String {
    let name = match own {
        Format::F64 => "double",
        Format::F32 => "float",
        Format::F16 => "half",
        Format::Bf16 => "bfloat",
    };
    match lanes {
        1 => name.into(),
        n => format!("<{n} x {name}>"),
    }
}

#[test]
fn stores_have_the_codes_of_the_definition_and_count_what_they_lose() {
    for (code, exponent, own) in FORMATS {
        let f = ScaledFormat { code, exponent };
        let bits = numbers(own, f);
        let encoded = bits.iter().map(|b| f.encode_with_loss(own.decode(*b)));
        let (want, losses): (Vec<u64>, Vec<StorageLoss>) = encoded.unzip();
        let sizes = (own.bytes(), f.bytes(), 1);
        let m = copying(&element(own, 1));
        plan("out", f).apply(&m).expect("applies");
        let (got, _) = run(&m, &bits, sizes, false);
        for ((b, g), w) in bits.iter().zip(&got).zip(&want) {
            assert_eq!(g, w, "{f} of {own} {b:#x}, {:e}", own.decode(*b));
        }
        let m = copying(&element(own, 1));
        let counted = plan("out", f).apply_with_losses(&m).expect("applies");
        assert_eq!((counted.len(), counted[0].object.as_str()), (1, "out"));
        let (again, lost) = run(&m, &bits, sizes, true);
        assert_eq!(again, want);
        let of = |kind| losses.iter().filter(|l| **l == kind).count() as u64;
        let all = [of(StorageLoss::Saturated), of(StorageLoss::NotHeld)];
        assert_eq!(lost, all, "{f} of {own}");
        assert!(lost[0] > 0);
    }
}

#[test]
fn loads_have_the_number_of_every_code() {
    for (code, exponent, own) in FORMATS {
        let f = ScaledFormat { code, exponent };
        let codes: Vec<u64> = (0..1 << (8 * f.bytes())).collect();
        let m = copying(&element(own, 1));
        plan("in", f).apply(&m).expect("applies");
        let (got, _) = run(&m, &codes, (f.bytes(), own.bytes(), 1), false);
        for (c, g) in codes.iter().zip(&got) {
            let (x, y) = (own.decode(*g), f.decode(*c));
            let same = x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
            assert!(same, "{f} of {own}, code {c:#x}: {x:e} {y:e}");
        }
    }
}

#[test]
fn vectors_are_encoded_lane_by_lane() {
    for (own, lanes) in [(Format::F32, 4), (Format::F64, 2), (Format::F32, 2)] {
        for code in ElementCode::ALL {
            let f = ScaledFormat { code, exponent: -5 };
            let mut bits = numbers(own, f);
            bits.truncate(bits.len() / 128 / lanes * 128 * lanes);
            let m = copying(&element(own, lanes));
            plan("out", f).apply(&m).expect("applies");
            let k = m.function("k").expect("a kernel").print();
            let store = format!("store <{lanes} x i{}>", 8 * f.bytes());
            assert!(k.contains(&store), "{k}");
            let (got, _) = run(&m, &bits, (own.bytes(), f.bytes(), lanes), false);
            let want: Vec<u64> = bits.iter().map(|b| f.encode(own.decode(*b))).collect();
            assert_eq!(got, want, "{f} of {own}, {lanes} lanes");
        }
    }
}

#[test]
fn variables_are_filled_with_codes() {
    let variable = |last: &str| {
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
@t = addrspace(4) constant [4 x float] [float 0.0, float 1.0, float -2.5, float {last}]
define ptx_kernel void @k(ptr addrspace(1) %y, i64 %i) {{
  %p = getelementptr [4 x float], ptr addrspace(4) @t, i64 0, i64 %i
  %x = load float, ptr addrspace(4) %p
  store float %x, ptr addrspace(1) %y
  ret void
}}"
        );
        Module::parse(text.as_bytes(), "k.ll").expect("parses")
    };
    let f = "i8*2^-4".parse().expect("a format");
    let m = variable("7.9375");
    plan("constant t", f).apply(&m).expect("applies");
    let codes = "[4 x i8] [i8 0, i8 16, i8 -40, i8 127]";
    let text = m.print();
    assert!(
        text.contains(codes) || text.contains("c\"\\00\\10\\D8\\7F\""),
        "{text}"
    );
    let e = plan("constant t", f).apply(&variable("100.0"));
    let e = e.expect_err("saturates");
    assert!(
        e.to_string()
            .contains("1e2, which the format does not hold"),
        "{e}"
    );
}

#[test]
fn refusals() {
    let refused = |module: &Module, name: &str, format: &str, words: &str| {
        let f: StorageFormat = format.parse().expect("a format");
        let e = plan(name, f.scaled().expect("scaled")).apply(module);
        let e = e.expect_err("is refused");
        assert!(matches!(e, PlanError::Storage { .. }), "{e}");
        assert!(e.to_string().contains(words), "{e}");
    };
    refused(&copying("half"), "in", "i16*2^-4", "no wider");
    refused(&copying("float"), "in", "i16*2^-126", "does not hold");
    refused(&copying("float"), "out", "i16*2^113", "does not hold");
    refused(&copying("half"), "in", "e5m2", "does not hold");
    let text = "target triple = \"nvptx64-nvidia-cuda\"
define ptx_kernel void @k(ptr addrspace(1) %in) {
  %x = atomicrmw fadd ptr addrspace(1) %in, float 1.0 seq_cst
  ret void
}";
    let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
    refused(&m, "in", "i16*2^-8", "is not available in i16*2^-8");
}
