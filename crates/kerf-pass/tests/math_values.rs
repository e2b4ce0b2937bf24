//! Math variants on the CPU executor: how far off they are, and special values.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_llvm::Module;
use kerf_pass::math::MathVariant::{self, *};
use kerf_pass::{KernelPlan, Plan};

/// `out[i] = f(in[i])` in f64, one thread a number.
fn run(call: &str, variant: MathVariant, values: &[f64]) -> Vec<f64> {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
declare double @llvm.sqrt.f64(double)
declare double @__nv_rsqrt(double)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr double, ptr %in, i64 %i
  %x = load double, ptr %p
  %r = {call}
  %q = getelementptr double, ptr %out, i64 %i
  store double %r, ptr %q
  ret void
}}"
    );
    let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
    let k = KernelPlan {
        math: [(1, variant)].into(),
        ..KernelPlan::default()
    };
    let mut plan = Plan::default();
    plan.kernels.insert("k".into(), k);
    plan.apply(&m).expect("applies");
    let mut exec = CpuExecutor::new(&m, CpuOptions::default()).expect("compiles");
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let from = exec.alloc("in", bytes.len(), 8).expect("room");
    let to = exec.alloc("out", bytes.len(), 8).expect("room");
    exec.write(from, &bytes).expect("writes");
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [1, 1, 1],
        block: [values.len() as u32, 1, 1],
        dynamic_shared: 0,
        args: &[from, to].map(|id| Arg::Buffer { id, offset: 0 }),
    })
    .expect("runs");
    let bytes = exec.read(to).expect("reads");
    let words = bytes.as_chunks::<8>().0.iter();
    words.map(|w| f64::from_le_bytes(*w)).collect()
}

type Case = (&'static str, fn(f64) -> f64);

const CASES: [Case; 4] = [
    ("fdiv double 1.0, %x", |x| 1.0 / x),
    ("fdiv double 3.0, %x", |x| 3.0 / x),
    ("call double @llvm.sqrt.f64(double %x)", f64::sqrt),
    ("call double @__nv_rsqrt(double %x)", |x| 1.0 / x.sqrt()),
];

#[test]
fn newton_steps_double_the_digits() {
    let values: Vec<f64> = (0..500)
        .map(|k| (1.0 + f64::from(k) * 0.00713) * 2f64.powi(k * 4 - 1000))
        .collect();
    for (call, f) in CASES {
        for (variant, bits) in [(Newton0, 18), (Newton1, 37), (Newton2, 50)] {
            for (x, r) in values.iter().zip(run(call, variant, &values)) {
                let error = (r / f(*x) - 1.0).abs();
                assert!(
                    error < 2f64.powi(-bits),
                    "{call} {variant} {x:e}: {error:e}"
                );
            }
        }
    }
}

#[test]
fn special_values_in_f64() {
    let (inf, nan, small) = (f64::INFINITY, f64::NAN, 1e-310);
    let values = [0.0, -0.0, inf, -inf, nan, -1.0, small, f64::MAX];
    // 1/x, 3/x, sqrt, rsqrt: subnormal arguments are taken as zero, and 1/max is one.
    let wanted = [
        [inf, -inf, 0.0, -0.0, nan, -1.0, inf, 0.0],
        [inf, -inf, 0.0, -0.0, nan, -3.0, inf, 0.0],
        [0.0, -0.0, inf, nan, nan, nan, 0.0, f64::MAX.sqrt()],
        [inf, -inf, 0.0, nan, nan, nan, inf, 1.0 / f64::MAX.sqrt()],
    ];
    for ((call, _), wanted) in CASES.into_iter().zip(wanted) {
        for variant in [Newton0, Newton1, Newton2] {
            for ((x, r), want) in values.iter().zip(run(call, variant, &values)).zip(wanted) {
                let close = (r / want - 1.0).abs() < 2f64.powi(-18);
                let same = r == want && r.is_sign_negative() == want.is_sign_negative();
                let good = same || close || (r.is_nan() && want.is_nan());
                assert!(good, "{call} {variant} {x:e}: {r:e} for {want:e}");
            }
        }
    }
}
