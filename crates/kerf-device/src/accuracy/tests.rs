//! The whole measurement on the CPU executor, against evaluations of its own.
use super::bounds::{Domain, Headline};
use super::number::hexadecimal;
use super::records::Segment;
use super::*;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_num::Format;
use rug::Float;

fn libdevice() -> Vec<u8> {
    let path = std::env::var_os("KERF_LIBDEVICE").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../.kerf/cuda/nvvm/libdevice/libdevice.10.bc")
        },
        Into::into,
    );
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e} (make setup)", path.display()))
}

fn on_cpu(m: &Module, _: &str) -> Result<Box<dyn Executor>, ExecError> {
    Ok(Box::new(CpuExecutor::new(m, CpuOptions::default())?))
}

fn measured(s: &AccuracySubject, effort: &ArgumentEffort) -> Accuracy {
    let bytes = libdevice();
    let mut bench = AccuracyBench {
        libdevice: &bytes,
        arch: "sm_90",
        load: &mut on_cpu,
        hard: &[],
    };
    measure_subject(s, &mut bench, effort, &mut |_| {}).expect("measured")
}

fn subject(key: &str) -> AccuracySubject {
    AccuracySubject::for_operation(&find(key).expect("in the catalogue")).expect("has an accuracy")
}

fn executor(s: &AccuracySubject) -> (String, Box<dyn Executor>) {
    let name = program::kernel("accuracy", &s.key);
    let m = program::build(&name, &libdevice(), "sm_90")
        .expect("builds")
        .expect("has a kernel");
    let exec = on_cpu(&m, &name).expect("compiles");
    (name, exec)
}

fn segment(start: u64, count: u32) -> Stratum {
    Stratum {
        segment: Segment {
            start,
            count,
            ..Segment::default()
        },
        binade: None,
        headline: true,
    }
}

/// The selfcheck kernel's square root is wrong by three units at the float nearest to pi.
fn selfcheck() -> AccuracySubject {
    AccuracySubject {
        key: "selfcheck.f32".into(),
        function: "selfcheck",
        arity: 1,
        argument: NumberKind::Float(Format::F32),
        result: NumberKind::Float(Format::F32),
        flushes: false,
        like_signs: false,
        documented: bounds::documented("sqrt.f32"),
        headline: Headline {
            domain: Domain::All,
            argument: 0,
            words: None,
        },
        way: ArgumentOrigin::Patterns,
        since: 0,
    }
}

#[test]
fn a_wrong_result_is_found() {
    let s = selfcheck();
    let (name, mut exec) = executor(&s);
    let mut tally = AccuracyTally::new(1);
    let mut strata = [segment(0x4049_0000, 0x1000), segment(0x3f80_0000, 0x1000)];
    strata[0].segment.bounds = 1;
    let mut runner = KernelRunner::new(exec.as_mut(), &name, 1, 8, &s.documented).expect("room");
    let doubts = runner.run(&strata, &mut tally, &mut |_| {}).expect("runs");
    assert!(doubts.is_empty());
    assert_eq!((tally.misrounded, tally.steps), (1, 3.0));
    let mut look = |place: &ErrorPlace| Ok(runner.look(place).expect("looks"));
    let a = report::report(&s, tally, Coverage::Stratified, vec![], &mut look).expect("reports");
    let pi = hexadecimal(f64::from(std::f32::consts::PI));
    assert_eq!(a.worst.expect("is there").arguments[0], pi);
    assert_eq!((a.bounds[0].holds, a.bounds[0].violations), (false, 1));
    let worst = a.bounds[0].worst.as_ref().expect("is there");
    assert_eq!(worst.arguments, [pi]);
    assert_eq!(a.bounds[0].seen, 3.0);
}

#[test]
fn slices_agree_with_mpfr() {
    type Exact = fn(Float) -> Float;
    let functions: [(&str, Exact); 4] = [
        ("exp.f32", |x| x.exp()),
        ("rsqrt.f32", |x| x.recip_sqrt()),
        ("tan.f32", |x| x.tan()),
        ("log2.f32.sfu", |x| x.log2()),
    ];
    for (key, exact) in functions {
        let s = subject(key);
        let (name, mut exec) = executor(&s);
        let mut runner =
            KernelRunner::new(exec.as_mut(), &name, 1, 2, &s.documented).expect("room");
        // From 0.5, from 8.25, from 2^-100; the last of them in a launch of its own.
        let strata: Vec<Stratum> = [0x3f00_0000, 0x4104_0000, 0x0d80_0000]
            .iter()
            .map(|at| segment(*at, 700))
            .collect();
        let mut tally = AccuracyTally::new(s.documented.len());
        let doubts = runner.run(&strata, &mut tally, &mut |_| {}).expect("runs");
        settle(&s, &strata, doubts, &mut tally);

        let (mut n, mut wrong, mut steps, mut ulp, mut sum, mut relative) =
            (0, 0, 0i64, 0f64, 0f64, 0f64);
        for stratum in &strata {
            for (index, case) in runner.cases(stratum.segment).expect("runs") {
                let x = f32::from_bits(index as u32);
                assert_eq!(case.arguments, [index]);
                let got = f32::from_bits(case.got[0] as u32);
                let right = exact(Float::with_val(200, x));
                let rounded = right.to_f32();
                n += 1;
                wrong += u64::from(got != rounded);
                let place = |v: f32| {
                    let b = i64::from(v.abs().to_bits());
                    if v < 0.0 { -b } else { b }
                };
                steps = steps.max((place(got) - place(rounded)).abs());
                // Results are normal numbers here: their unit comes from the exponent.
                let unit = right.get_exp().expect("not zero") - 24;
                let off = Float::with_val(200, &right - got).abs();
                let units = Float::with_val(64, &off >> unit).to_f64();
                ulp = ulp.max(units);
                sum += units;
                relative = relative.max((off / right.abs()).to_f64());
            }
        }
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-7 * b.abs();
        assert_eq!((tally.arguments, tally.compared), (2100, n), "{key}");
        assert_eq!(tally.misrounded, wrong, "{key}");
        assert_eq!(tally.steps, steps as f64, "{key}");
        assert!(
            near(tally.ulp.value, ulp),
            "{key}: {} {ulp}",
            tally.ulp.value
        );
        assert!(near(tally.sum_ulp, sum), "{key}: {} {sum}", tally.sum_ulp);
        assert!(near(tally.relative, relative), "{key}");
    }
}

#[test]
fn device_and_host_judge_alike_and_ties_are_settled() {
    // Small powers of numbers of few bits: many lie exactly between two floats.
    let s = subject("pow.f32");
    let (name, mut exec) = executor(&s);
    let mut runner = KernelRunner::new(exec.as_mut(), &name, 2, 64, &s.documented).expect("room");
    let whole = |s: &&Stratum| s.segment.mode == 7;
    let all = tuples::tuples(&s, Format::F32, 1 << 17);
    let strata: Vec<Stratum> = all.iter().filter(whole).copied().collect();
    let mut tally = AccuracyTally::new(s.documented.len());
    let doubts = runner.run(&strata, &mut tally, &mut |_| {}).expect("runs");
    let mut ties = 0;
    for (_, _, case) in &doubts {
        let [x, y] = [0, 1].map(|k| f32::from_bits(case.arguments[k] as u32));
        let power = rug::ops::Pow::pow(Float::with_val(400, x), Float::with_val(400, y));
        let as_25_bits = Float::with_val(25, &power);
        ties += u32::from(as_25_bits == power && Float::with_val(24, &power) != power);
    }
    assert!(ties > 9, "{ties} of {}", doubts.len());
    let settled = doubts.len() as u64;
    settle(&s, &strata, doubts, &mut tally);
    assert_eq!((tally.settled, tally.unsettled), (settled, 0));

    let mut host = AccuracyTally::new(s.documented.len());
    let mut reference = ExactFunction::new(s.function, s.argument).expect("known");
    for stratum in &strata {
        for (index, case) in runner.cases(stratum.segment).expect("runs") {
            let sample = JudgedCase {
                index,
                arguments: &case.arguments,
                got: &case.got,
            };
            host.count(stratum);
            let first = s.value(&case.arguments, 0);
            host.judge(
                stratum,
                sample,
                first,
                reference.at(&case.arguments),
                &s.rules(),
            );
        }
    }
    let counts = |t: &AccuracyTally| {
        (
            t.arguments,
            t.compared,
            t.misrounded,
            t.mismatched,
            t.normal,
            t.steps,
        )
    };
    assert_eq!(counts(&tally), counts(&host));
    assert!((tally.sum_ulp - host.sum_ulp).abs() < 1e-6 * host.sum_ulp);
    assert!((tally.ulp.value - host.ulp.value).abs() < 1e-6);
    assert_eq!(tally.bounds[0].1, host.bounds[0].1);
}

#[test]
fn a_tie_goes_to_even() {
    let s = subject("pow.f32");
    let mut reference = ExactFunction::new("pow", s.argument).expect("known");
    // 4097^2 = 2^24 + 2^13 + 1 lies between two floats; the even one is the lower.
    let arguments = [4097f32, 2.0].map(|v| u64::from(v.to_bits()));
    let lower = u64::from(16785408f32.to_bits());
    for (got, wrong) in [(lower, 0), (lower + 1, 1)] {
        let mut t = AccuracyTally::new(s.documented.len());
        let sample = JudgedCase {
            index: 0,
            arguments: &arguments,
            got: &[got],
        };
        let stratum = segment(0, 1);
        t.judge(
            &stratum,
            sample,
            4097.0,
            reference.at(&arguments),
            &s.rules(),
        );
        assert_eq!((t.misrounded, t.steps), (wrong, wrong as f64));
        assert_eq!(t.ulp.value, 0.5);
    }
}

#[test]
fn chunks_add_up_to_one_run() {
    let s = subject("exp.f32.sfu");
    let (name, mut exec) = executor(&s);
    let (strata, _) = strata_of(
        &s,
        &ArgumentEffort {
            patterns: Some(8),
            ..ArgumentEffort::TRIAL
        },
    );
    let mut tallies = Vec::new();
    for blocks in [7, 100, 4096] {
        let mut t = AccuracyTally::new(s.documented.len());
        let mut runner =
            KernelRunner::new(exec.as_mut(), &name, 1, blocks, &s.documented).expect("room");
        let doubts = runner.run(&strata, &mut t, &mut |_| {}).expect("runs");
        settle(&s, &strata, doubts, &mut t);
        tallies.push(t);
    }
    assert_eq!(tallies[0], tallies[1]);
    assert_eq!(tallies[0], tallies[2]);
    // The same out of two halves.
    let (a, b) = strata.split_at(strata.len() / 2);
    let mut both = Vec::new();
    for part in [a, b] {
        let mut t = AccuracyTally::new(s.documented.len());
        let mut runner =
            KernelRunner::new(exec.as_mut(), &name, 1, 64, &s.documented).expect("room");
        let doubts = runner.run(part, &mut t, &mut |_| {}).expect("runs");
        settle(&s, part, doubts, &mut t);
        both.push(t);
    }
    let second = both.pop().expect("two");
    let mut first = both.pop().expect("two");
    first.merge(second);
    let whole = &tallies[0];
    assert_eq!(first.binades, whole.binades);
    assert_eq!(first.ulp.value, whole.ulp.value);
    assert_eq!(first.bounds[0].1, whole.bounds[0].1);
    let counts = |t: &AccuracyTally| (t.arguments, t.compared, t.misrounded, t.flushed, t.steps);
    assert_eq!(counts(&first), counts(whole));
}

#[test]
fn special_values() {
    // All patterns that are special, and few others.
    let effort = ArgumentEffort {
        patterns: Some(8),
        tuples: 1 << 12,
        doubles: 1 << 12,
        ..ArgumentEffort::TRIAL
    };
    for key in [
        "rcp.f32", "log.f32", "div.f16", "pow.f32", "pow.f64", "fma.f64",
    ] {
        let a = measured(&subject(key), &effort);
        assert_eq!(a.special_mismatches, 0, "{key}: {:?}", a.note);
        assert!(a.bounds.iter().all(|b| b.holds), "{key}");
    }
    // 0^0 by way of a logarithm is no number.
    let a = measured(&subject("pow.f32.sfu"), &effort);
    assert!(a.special_mismatches > 0);
    assert!(a.note.expect("says so").contains("special values"));
}

#[test]
fn conversions_are_judged_as_integers_and_floats() {
    let effort = ArgumentEffort {
        patterns: Some(64),
        doubles: 1 << 13,
        ..ArgumentEffort::TRIAL
    };
    for key in [
        "convert.f32.i32",
        "convert.i32.bf16",
        "convert.f64.i64",
        "convert.f64.bf16",
        "convert.i64.bf16",
    ] {
        let a = measured(&subject(key), &effort);
        assert_eq!(a.misrounded, Some(0), "{key}: {:?}", a.worst);
        assert_eq!(a.special_mismatches, 0, "{key}");
    }
}

#[test]
fn known_hard_arguments_are_the_worst() {
    let effort = ArgumentEffort {
        doubles: 1 << 11,
        ..ArgumentEffort::TRIAL
    };
    for (key, worst) in [
        ("exp.f64", "0x1.e7fe79396eb72p+1"),
        ("log.f64", "0x1.6a010f195ab29p-1"),
    ] {
        let a = measured(&subject(key), &effort);
        assert_eq!(a.worst.expect("is there").arguments, [worst]);
        assert!(a.bounds[0].holds);
        assert!(a.misrounded.is_some_and(|n| n > 0));
    }
}

#[test]
fn double_words_keep_their_proven_bounds() {
    let effort = ArgumentEffort {
        doubles: 1 << 12,
        ..ArgumentEffort::TRIAL
    };
    for key in ["add.dw32", "div.dw64", "sqrt.dw32"] {
        let a = measured(&subject(key), &effort);
        let b = &a.bounds[0];
        // Below the bound, and no further than errors of random arguments are.
        assert!(b.holds && b.seen > 0.1 * b.limit, "{key}: {b:?}");
        assert_eq!(a.max_ulp_real, None);
    }
    // Composite products keep no rounding error: as bad as plain ones.
    let a = measured(&subject("mul.dw32.cmp"), &effort);
    let relative = a.max_rel.expect("measured");
    assert!(relative > 2f64.powi(-26) && relative < 2f64.powi(-23));
}

#[test]
fn every_operation_with_an_accuracy_has_a_kernel() {
    let names = program::kernels().expect("parses");
    for op in crate::operation::catalogue() {
        let Some(s) = AccuracySubject::for_operation(&op) else {
            continue;
        };
        let prefix = match s.way {
            ArgumentOrigin::Values => "values",
            _ => "accuracy",
        };
        let name = program::kernel(prefix, &s.key);
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn what_has_no_accuracy_and_what_is_not_there() {
    let bytes = libdevice();
    let mut bench = AccuracyBench {
        libdevice: &bytes,
        arch: "sm_80",
        load: &mut on_cpu,
        hard: &[],
    };
    let mut quiet = |_| {};
    let none = measure("load.dram", &mut bench, &ArgumentEffort::TRIAL, &mut quiet);
    assert!(none.expect("no failure").is_none());
    let unknown = measure("exp.f8", &mut bench, &ArgumentEffort::TRIAL, &mut quiet);
    assert!(matches!(unknown, Err(AccuracyError::Unknown(_))));
    let old = measure(
        "exp2.bf16.sfu",
        &mut bench,
        &ArgumentEffort::TRIAL,
        &mut quiet,
    );
    assert!(matches!(old, Err(AccuracyError::TooOld { needs: 90, .. })));
}

/// A list of arguments is looked at besides the others, and said so.
#[test]
fn lists_of_hard_arguments() {
    assert_eq!(super::takes_lists("exp").as_deref(), Some("exp.f64"));
    assert_eq!(super::takes_lists("pow"), None);
    assert_eq!(super::takes_lists("cbrt"), None);
    let bytes = libdevice();
    let few = ArgumentEffort {
        doubles: 256,
        ..ArgumentEffort::TRIAL
    };
    let lists = [("exp.f64".to_owned(), vec![1.5; 100])];
    let mut seen = Vec::new();
    for hard in [&[][..], &lists] {
        let mut bench = AccuracyBench {
            libdevice: &bytes,
            arch: "sm_90",
            load: &mut on_cpu,
            hard,
        };
        let a = measure("exp.f64", &mut bench, &few, &mut |_| {}).expect("measured");
        seen.push(a.expect("exp has an accuracy"));
    }
    assert_eq!(seen[1].arguments, seen[0].arguments + 100);
    let note = seen[1].note.as_deref().unwrap_or_default();
    assert!(note.contains("100 hard-to-round"), "{note}");
}
