//! Math calls by made functions: bits on the CPU executor, what goes with formats and other variants, and what is refused.
use crate::libdevice::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_function::core_fit::EvaluationScheme;
use kerf_function::target::TargetFunction;
use kerf_function::{FunctionSpecification, implement};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use kerf_num::made::{ErrorMeasure, MadeFunction, WorkingFormat};
use kerf_pass::{KernelPlan, MadeCalls, MathVariant, Partition, Plan, SiteFormat};

/// `out[i] = function(in[i])`, one thread a number; the call is site 1.
fn module(function: &str, format: WorkingFormat) -> Module {
    let (t, f) = match format {
        WorkingFormat::F64 => ("double", ""),
        WorkingFormat::F32 => ("float", "f"),
    };
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
declare {t} @__nv_{function}{f}({t})
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr {t}, ptr %in, i64 %i
  %x = load {t}, ptr %p
  %r = call {t} @__nv_{function}{f}({t} %x)
  %q = getelementptr {t}, ptr %out, i64 %i
  store {t} %r, ptr %q
  ret void
}}"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

pub(super) fn plan(k: KernelPlan) -> Plan {
    let mut plan = Plan::default();
    plan.kernels.insert("k".into(), k);
    plan
}

pub(super) fn with(made: &MadeFunction) -> KernelPlan {
    KernelPlan {
        made: vec![MadeCalls {
            sites: vec![1],
            function: made.clone(),
        }],
        ..KernelPlan::default()
    }
}

pub(super) fn bytes(format: WorkingFormat, values: &[f64]) -> Vec<u8> {
    match format {
        WorkingFormat::F64 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        WorkingFormat::F32 => values
            .iter()
            .flat_map(|v| (*v as f32).to_le_bytes())
            .collect(),
    }
}

pub(super) fn numbers(format: WorkingFormat, bytes: &[u8]) -> Vec<f64> {
    match format {
        WorkingFormat::F64 => {
            let words = bytes.as_chunks::<8>().0.iter();
            words.map(|w| f64::from_le_bytes(*w)).collect()
        }
        WorkingFormat::F32 => {
            let words = bytes.as_chunks::<4>().0.iter();
            words.map(|w| f32::from_le_bytes(*w).into()).collect()
        }
    }
}

fn run(m: &Module, format: WorkingFormat, values: &[f64]) -> Vec<f64> {
    finish(m, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
    let bytes = bytes(format, values);
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
    numbers(format, &exec.read(to).expect("reads"))
}

/// A function for arguments between two numbers and an error, relative or absolute.
fn make(
    function: &str,
    (from, to): (f64, f64),
    error: f64,
    measure: ErrorMeasure,
    format: WorkingFormat,
) -> MadeFunction {
    let spec = FunctionSpecification {
        function: TargetFunction::find(function).expect("a function"),
        from,
        to,
        error,
        measure,
        format,
    };
    let made = implement(&spec, EvaluationScheme::Horner).expect("can be made");
    made.made_function().in_plans().expect("reads back")
}

fn exp(format: WorkingFormat) -> MadeFunction {
    make("exp", (-7.0, 0.0), 1e-6, ErrorMeasure::Relative, format)
}

/// Numbers inside, at the ends and just outside, far outside, and special ones.
fn arguments(made: &MadeFunction) -> Vec<f64> {
    let (from, to) = (made.from, made.to);
    let step = |k: u32| from + (to - from) * f64::from(k) / 250.0;
    let mut all: Vec<f64> = (0..=250).map(step).collect();
    let near = |x: f64| match made.format() {
        WorkingFormat::F64 => [x.next_down(), x.next_up()],
        WorkingFormat::F32 => [(x as f32).next_down(), (x as f32).next_up()].map(f64::from),
    };
    all.extend([from, to].into_iter().flat_map(near));
    all.extend([0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e30, -1e30, 0.3]);
    all.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    match made.format() {
        WorkingFormat::F64 => all,
        WorkingFormat::F32 => all.into_iter().map(|x| f64::from(x as f32)).collect(),
    }
}

pub(super) fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn arguments_inside_have_the_codes_bits_and_others_the_librarys() {
    use ErrorMeasure::{Absolute, Relative};
    use WorkingFormat::{F32, F64};
    let cases = [
        ("exp", (-7.0, 0.0), 1e-9, Relative, F64),
        ("exp", (-740.0, 700.0), 1e-12, Relative, F64),
        ("log", (0.0005, 120.0), 1e-11, Relative, F64),
        ("sin", (-100.0, 100.0), 1e-9, Absolute, F64),
        ("cos", (-100.0, 100.0), 1e-12, Absolute, F64),
        ("tanh", (-4.0, 4.0), 1e-9, Relative, F64),
        ("cbrt", (-8.0, 1000.0), 1e-10, Relative, F64),
        ("erf", (-2.0, 2.0), 1e-12, Relative, F64),
        ("exp", (-80.0, 80.0), 1e-6, Relative, F32),
        ("log", (0.0009765625, 1000.0), 1e-5, Relative, F32),
        ("sin", (-50.0, 50.0), 1e-5, Absolute, F32),
    ];
    for (function, range, error, measure, format) in cases {
        let made = make(function, range, error, measure, format);
        let values = arguments(&made);
        let library = run(&module(function, format), format, &values);
        let m = module(function, format);
        plan(with(&made)).apply(&m).expect("applies");
        let (mut inside, mut outside) = (0, 0);
        for ((x, got), own) in values.iter().zip(run(&m, format, &values)).zip(library) {
            let wanted = made.evaluate(*x).unwrap_or(own);
            assert!(
                same(got, wanted),
                "{made}: {x:e} gives {got:e}, not {wanted:e}"
            );
            match made.evaluate(*x) {
                Some(_) => inside += 1,
                None => outside += 1,
            }
        }
        assert!(inside > 200 && outside > 5, "{made}: {inside} {outside}");
    }
}

#[test]
fn a_plan_with_a_made_function_reads_back() {
    for format in [WorkingFormat::F64, WorkingFormat::F32] {
        let p = plan(with(&exp(format)));
        let text = serde_json::to_string(&p).expect("serialises");
        assert_eq!(Plan::parse(&text).expect("parses"), p, "{text}");
        assert!(!p.is_identity() && text.contains("\"fma "), "{text}");
        let wrong = text.replace("sub $0", "sub $99");
        let e = Plan::parse(&wrong).expect_err("refused").to_string();
        assert!(e.contains("`$99` is no line before it"), "{e}");
        let e = Plan::parse(&text.replace("\"exp\"", "\"exp(\"")).expect_err("refused");
        assert!(e.to_string().contains("no name of a math function"), "{e}");
    }
}

#[test]
fn a_site_in_another_format_takes_a_function_of_that_format() {
    let single = exp(WorkingFormat::F32);
    for format in [SiteFormat::F32, SiteFormat::F16] {
        let m = module("exp", WorkingFormat::F64);
        let mut k = with(&single);
        k.sites.insert(1, format);
        plan(k).apply(&m).expect("applies");
        let text = m.print();
        assert!(
            text.contains("call float @__nv_kerf_made.0.expf(float"),
            "{text}"
        );
        assert!(
            !text.contains("call double @__nv_exp(") && !text.contains("__nv_kerf.made"),
            "{text}"
        );
    }
}

#[track_caller]
fn refused(m: &Module, k: KernelPlan, part: &str) {
    let e = plan(k).apply(m).expect_err("refused").to_string();
    assert!(e.contains(part), "{e}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let double = exp(WorkingFormat::F64);
    let single = exp(WorkingFormat::F32);
    let log = make(
        "log",
        (1.0, 2.0),
        1e-6,
        ErrorMeasure::Relative,
        WorkingFormat::F64,
    );
    let m = module("exp", WorkingFormat::F64);
    refused(
        &m,
        with(&log),
        "it is exp, and the function was made for log",
    );
    refused(
        &m,
        with(&single),
        "in f64 it is computed in f64, and the function was made in f32",
    );
    let mut lowered = with(&double);
    lowered.sites.insert(1, SiteFormat::F32);
    refused(
        &m,
        lowered,
        "in f32 it is computed in f32, and the function was made in f64",
    );
    let mut pair = with(&double);
    pair.sites.insert(1, SiteFormat::Dw64);
    refused(&m, pair, "made function");
    let mut load = with(&double);
    load.made[0].sites = vec![0];
    refused(
        &m,
        load,
        "site 0 of kernel k (load) cannot be computed by a function made for exp",
    );
    let mut twice = with(&double);
    twice.made.push(twice.made[0].clone());
    refused(&m, twice, "the plan names another way to compute it");
    let mut unknown = with(&double);
    unknown.made[0].sites = vec![9];
    refused(&m, unknown, "site 9");
    let f = module("exp", WorkingFormat::F32);
    let mut approximate = with(&single);
    approximate.math.insert(1, MathVariant::Approx);
    refused(&f, approximate, "the plan names another way to compute it");
}

#[test]
fn versions_of_a_kernel_have_functions_of_their_own() {
    let coarse = make(
        "exp",
        (-7.0, 0.0),
        1e-3,
        ErrorMeasure::Relative,
        WorkingFormat::F64,
    );
    let fine = exp(WorkingFormat::F64);
    let m = module("exp", WorkingFormat::F64);
    let mut k = with(&fine);
    k.partition = Some(Partition {
        lambda: 0.5,
        made: with(&coarse).made,
        ..Partition::default()
    });
    let p = plan(k);
    assert_eq!(p.functions().len(), 2);
    p.apply(&m).expect("applies");
    let text = m.print();
    for name in ["@__nv_kerf_made.0.exp(", "@__nv_kerf_made.1.exp("] {
        assert!(text.contains(&format!("call double {name}")), "{text}");
    }
}

#[test]
fn functions_stand_in_the_plan_once_for_all_their_sites() {
    let mut k = KernelPlan::default();
    let (fine, single) = (exp(WorkingFormat::F64), exp(WorkingFormat::F32));
    k.put_made(7, &fine);
    k.put_made(3, &fine);
    k.put_made(5, &single);
    let sites: Vec<&[usize]> = k.made.iter().map(|c| c.sites.as_slice()).collect();
    assert_eq!(sites, [&[3, 7][..], &[5]]);
    k.put_made(7, &single);
    assert_eq!(k.made_function(7), Some(&single));
    k.remove_made(|s| s != 3);
    assert_eq!((k.made.len(), k.made_function(3)), (1, Some(&fine)));
}
