//! Made functions of two arguments and of two results: bits on the CPU executor, formats, and what is refused.
use crate::libdevice::libdevice;
use crate::made::{bytes, numbers, plan, same, with};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, Executor, Launch};
use kerf_function::core_fit::EvaluationScheme;
use kerf_function::{MadeRequest, MadeTarget, make};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use kerf_num::made::ErrorMeasure::{self, Absolute, Relative};
use kerf_num::made::WorkingFormat::{self, F32, F64};
use kerf_num::made::{CallForm, MadeFunction};
use kerf_pass::{Plan, SiteFormat};

/// The site of the call in [`module`].
const CALL: usize = 2;

fn names(format: WorkingFormat) -> (&'static str, &'static str) {
    match format {
        F64 => ("double", ""),
        F32 => ("float", "f"),
    }
}

/// `out[2i] = function(a[i], b[i])`; of sincos the sine of a[i], and the cosine after it.
fn module(function: &str, format: WorkingFormat) -> Module {
    let (t, f) = names(format);
    let (declared, call) = match function {
        "sincos" => (
            format!("declare void @__nv_sincos{f}({t}, ptr, ptr)"),
            format!(
                "call void @__nv_sincos{f}({t} %x, ptr %sine, ptr %cosine)
  %r = load {t}, ptr %sine
  %r2 = load {t}, ptr %cosine
  store {t} %r2, ptr %second"
            ),
        ),
        _ => (
            format!("declare {t} @__nv_{function}{f}({t}, {t})"),
            format!("%r = call {t} @__nv_{function}{f}({t} %x, {t} %y)"),
        ),
    };
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
{declared}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %a, ptr %b, ptr %out) {{
  %sine = alloca {t}
  %cosine = alloca {t}
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr {t}, ptr %a, i64 %i
  %x = load {t}, ptr %p
  %q = getelementptr {t}, ptr %b, i64 %i
  %y = load {t}, ptr %q
  %twice = shl i64 %i, 1
  %first = getelementptr {t}, ptr %out, i64 %twice
  %second = getelementptr {t}, ptr %first, i64 1
  {call}
  store {t} %r, ptr %first
  ret void
}}"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn run(m: &Module, format: WorkingFormat, values: &[[f64; 2]]) -> Vec<[f64; 2]> {
    finish(m, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    let mut exec = CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
    let column = |k: usize| values.iter().map(|v| v[k]).collect::<Vec<f64>>();
    let zeros = vec![0.0; 2 * values.len()];
    let contents = [column(0), column(1), zeros].map(|v| bytes(format, &v));
    let ids = contents.each_ref().map(|c| {
        let id = exec.alloc("b", c.len(), 8).expect("room");
        exec.write(id, c).expect("writes");
        id
    });
    exec.launch(&Launch {
        symbol: "k",
        name: "k",
        grid: [1, 1, 1],
        block: [values.len() as u32, 1, 1],
        dynamic_shared: 0,
        args: &ids.map(|id| Arg::Buffer { id, offset: 0 }),
    })
    .expect("runs");
    let results = numbers(format, &exec.read(ids[2]).expect("reads"));
    results.as_chunks::<2>().0.to_vec()
}

type Range = [f64; 2];

fn made(
    function: &str,
    (x, y): (Range, Option<Range>),
    error: f64,
    measure: ErrorMeasure,
    format: WorkingFormat,
) -> MadeFunction {
    let request = MadeRequest {
        target: MadeTarget::find(function).expect("a function"),
        x,
        y,
        error,
        measure,
        format,
    };
    let made = make(&request, EvaluationScheme::Horner).expect("can be made");
    made.in_plans().expect("reads back")
}

/// Pairs of numbers inside, at the corners and just outside, and special ones.
fn arguments(made: &MadeFunction) -> Vec<[f64; 2]> {
    let y = made.second.unwrap_or([0.0, 1.0]);
    let between = |[from, to]: Range, part: f64| from + (to - from) * part;
    let mut all = Vec::new();
    for i in 0..20 {
        for k in 0..20 {
            let at = |n: u32| f64::from(n) / 19.0;
            all.push([between([made.from, made.to], at(i)), between(y, at(k))]);
        }
    }
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        1e-30,
        -1e30,
        1e300,
        1e-310,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        made.from.next_down(),
        made.to.next_up(),
    ];
    for a in special {
        all.extend(special.map(|b| [a, b]));
    }
    match made.format() {
        F64 => all,
        F32 => all
            .into_iter()
            .map(|p| p.map(|x| f64::from(x as f32)))
            .collect(),
    }
}

fn at_call(made: &MadeFunction) -> Plan {
    let mut k = with(made);
    k.made[0].sites = vec![CALL];
    plan(k)
}

#[test]
fn arguments_inside_have_the_codes_bits_and_others_the_librarys() {
    let unit = [-2.0, 2.0];
    let cases = [
        (
            "pow",
            ([0.125, 8.0], Some([-3.0, 3.0])),
            1e-9,
            Relative,
            F64,
        ),
        (
            "pow",
            ([0.5, 1.0], Some([0.0, 1060.0])),
            1e-6,
            Relative,
            F64,
        ),
        (
            "pow",
            ([0.125, 8.0], Some([2.0, 2.0])),
            1e-12,
            Relative,
            F64,
        ),
        (
            "pow",
            ([0.125, 8.0], Some([-0.5, -0.5])),
            1e-12,
            Relative,
            F64,
        ),
        ("pow", ([0.125, 8.0], Some([0.3, 0.3])), 1e-9, Relative, F64),
        (
            "pow",
            ([0.125, 8.0], Some([-3.0, 3.0])),
            1e-6,
            Relative,
            F32,
        ),
        ("hypot", (unit, Some(unit)), 1e-15, Relative, F64),
        ("hypot", (unit, Some(unit)), 1e-6, Relative, F32),
        ("rhypot", (unit, Some(unit)), 1e-15, Relative, F64),
        ("atan2", (unit, Some(unit)), 1e-12, Relative, F64),
        ("atan2", (unit, Some([-5.0, -3.0])), 1e-6, Relative, F64),
        ("atan2", (unit, Some(unit)), 1e-5, Relative, F32),
        ("sincos", ([-50.0, 50.0], None), 1e-9, Absolute, F64),
        ("sincos", ([-0.5, 0.75], None), 1e-12, Relative, F64),
        ("sincos", ([-50.0, 50.0], None), 1e-5, Absolute, F32),
    ];
    for (function, ranges, error, measure, format) in cases {
        let made = made(function, ranges, error, measure, format);
        let values = arguments(&made);
        let library = run(&module(function, format), format, &values);
        let m = module(function, format);
        at_call(&made).apply(&m).expect("applies");
        let numbers = if made.form() == CallForm::TwoArguments {
            2
        } else {
            1
        };
        let (mut inside, mut outside) = (0, 0);
        for ((x, got), own) in values.iter().zip(run(&m, format, &values)).zip(library) {
            let code = made.results(&x[..numbers]);
            inside += usize::from(code.is_some());
            outside += usize::from(code.is_none());
            let wanted = code.unwrap_or(own.to_vec());
            for (got, wanted) in got.iter().zip(&wanted) {
                assert!(
                    same(*got, *wanted),
                    "{made}: {x:?} gives {got:e}, not {wanted:e}"
                );
            }
        }
        let few = made.second.is_some_and(|y| y[0] == y[1]) || function == "sincos";
        assert!(
            inside > if few { 15 } else { 300 } && outside > 50,
            "{made}: {inside} {outside}"
        );
    }
}

#[test]
fn plans_with_two_arguments_or_results_read_back() {
    let unit = [-2.0, 2.0];
    for (function, y, part) in [
        ("atan2", Some(unit), "\"rectangle\""),
        ("sincos", None, "\"second_result\":\"$"),
    ] {
        let made = made(function, (unit, y), 1e-6, Absolute, F64);
        let p = at_call(&made);
        let text = serde_json::to_string(&p).expect("serialises");
        assert!(text.contains(part), "{text}");
        assert_eq!(Plan::parse(&text).expect("parses"), p);
    }
    let text = serde_json::to_string(&at_call(&made(
        "atan2",
        (unit, Some(unit)),
        1e-3,
        Absolute,
        F64,
    )));
    let text = text.expect("serialises");
    let without = text.replace("\"second\":[-2.0,2.0],", "");
    assert_ne!(without, text);
    let e = Plan::parse(&without).expect_err("refused").to_string();
    assert!(e.contains("`second` and a guard of two arguments"), "{e}");
    let backwards = text.replace("\"y\":[-2.0,2.0]", "\"y\":[2.0,-2.0]");
    let e = Plan::parse(&backwards).expect_err("refused").to_string();
    assert!(e.contains("arguments from 2e0 to -2e0"), "{e}");
}

#[test]
fn sites_in_another_format_take_functions_of_that_format() {
    let unit = [-2.0, 2.0];
    for (function, y, part) in [
        ("pow", Some(unit), "call float @__nv_kerf_made.0.powf(float"),
        ("sincos", None, "call void @__nv_kerf_made.0.sincosf(float"),
    ] {
        let x = if function == "pow" { [0.5, 2.0] } else { unit };
        let single = made(function, (x, y), 1e-4, Absolute, F32);
        for format in [SiteFormat::F32, SiteFormat::F16] {
            let m = module(function, F64);
            let mut p = at_call(&single);
            let k = p.kernels.get_mut("k").expect("the kernel");
            k.sites.insert(CALL, format);
            p.apply(&m).expect("applies");
            let text = m.print();
            assert!(
                text.contains(part) && !text.contains("__nv_kerf."),
                "{text}"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let unit = [0.5, 2.0];
    let pow = made("pow", (unit, Some(unit)), 1e-6, Relative, F64);
    let both = made("sincos", (unit, None), 1e-6, Absolute, F64);
    let refused = |m: &Module, made: &MadeFunction, part: &str| {
        let e = at_call(made).apply(m).expect_err("refused").to_string();
        assert!(e.contains(part), "{e}");
    };
    refused(
        &module("hypot", F64),
        &pow,
        "it is hypot, and the function was made for pow",
    );
    refused(
        &module("pow", F64),
        &both,
        "it is pow, and the function was made for sincos",
    );
    refused(
        &module("pow", F32),
        &pow,
        "computed in f32, and the function was made in f64",
    );
    refused(
        &module("fmod", F64),
        &pow,
        "pow, hypot, rhypot, atan2 and sincos",
    );
    // A function that says another form than its name's.
    let one = MadeFunction {
        function: "pow".into(),
        ..made("exp", (unit, None), 1e-6, Relative, F64)
    };
    refused(
        &module("pow", F64),
        &one,
        "the code for pow has not the arguments and results of the call",
    );
}
