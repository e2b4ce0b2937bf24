//! `kerf function`: emitted code on the CPU executor and by a C compiler has the bits of the library's own evaluation.
#[allow(dead_code)]
use crate::simt::harness;

use harness::{kerf, run_file};
use kerf_function::core_fit::EvaluationScheme;
use kerf_function::target::TargetFunction;
use kerf_function::working_format::WorkingFormat;
use kerf_function::{ErrorMeasure, FunctionImplementation, FunctionSpecification, implement};
use std::io::Write;
use std::process::{Command, Stdio};

const COUNT: usize = 1024;

/// Name, range, error, measure, format.
type Case = [&'static str; 6];

/// Each kind of reduction.
const CASES: [Case; 9] = [
    ["exp", "-7", "0", "1e-9", "--relative", "f64"],
    ["exp", "-740", "700", "1e-12", "--relative", "f64"],
    ["exp2", "-30", "30", "1e-6", "--relative", "f32"],
    ["log", "0.001", "1000", "1e-10", "--relative", "f64"],
    ["log2", "0.5", "64", "1e-5", "--relative", "f32"],
    ["sin", "-100", "100", "1e-12", "--absolute", "f64"],
    ["cbrt", "-1000", "1000", "1e-9", "--relative", "f64"],
    ["erfc", "0", "4", "1e-9", "--relative", "f64"],
    ["cos", "-20", "20", "1e-5", "--absolute", "f32"],
];

fn made(case: &Case) -> FunctionImplementation {
    let number = |s: &str| s.parse::<f64>().expect("a number");
    let spec = FunctionSpecification {
        function: TargetFunction::find(case[0]).expect("a function"),
        from: number(case[1]),
        to: number(case[2]),
        error: number(case[3]),
        measure: match case[4] {
            "--absolute" => ErrorMeasure::Absolute,
            _ => ErrorMeasure::Relative,
        },
        format: WorkingFormat::find(case[5]).expect("a format"),
    };
    implement(&spec, EvaluationScheme::Horner).expect("an implementation")
}

fn emitted(case: &Case, name: &str, language: &str) -> String {
    let [function, from, to, error, measure, format] = *case;
    let said = kerf(&[
        "function", function, "--from", from, "--to", to, "--error", error, measure, "--format",
        format, "--emit", language, "--name", name,
    ]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    said.out
}

/// From bytes of the format.
fn numbers(bytes: &[u8], format: WorkingFormat) -> Vec<f64> {
    match format {
        WorkingFormat::F64 => bytes
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")))
            .collect(),
        WorkingFormat::F32 => bytes
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_le_bytes(b.try_into().expect("4 bytes"))))
            .collect(),
    }
}

fn compare(case: &str, made: &FunctionImplementation, x: &[f64], y: &[f64]) {
    assert_eq!((x.len(), y.len()), (COUNT, COUNT));
    let mut inside = 0;
    for (x, y) in x.iter().zip(y) {
        if let Some(own) = made.evaluate(*x) {
            inside += 1;
            assert_eq!(
                own.to_bits(),
                y.to_bits(),
                "{case} at {x:e}: {own:e} and {y:e}"
            );
        }
    }
    assert!(
        inside > COUNT / 2,
        "{case}: {inside} arguments in the range"
    );
}

#[test]
fn the_cpu_executor_has_the_bits_of_the_evaluation() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut source = String::new();
    let mut workload = String::from("source = \"made.cu\"\n");
    let mut launches = String::new();
    for (k, case) in CASES.iter().enumerate() {
        source.push_str(&emitted(case, &format!("made{k}"), "cuda"));
        let c = if case[5] == "f64" { "double" } else { "float" };
        source.push_str(&format!(
            "extern \"C\" __global__ void apply{k}(const {c}* x, {c}* y, {c}* copy) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    y[i] = made{k}(x[i]);\n    copy[i] = x[i];\n}}\n"
        ));
        // Somewhat more than the range, so that some arguments take the library's function.
        let (from, to): (f64, f64) = (
            case[1].parse().expect("a number"),
            case[2].parse().expect("a number"),
        );
        let more = (to - from) / 16.0;
        let from = if case[0].starts_with("log") {
            from
        } else {
            from - more
        };
        for (name, init) in [
            (
                "x",
                format!("init = {{ uniform = [{from:?}, {:?}] }}", to + more),
            ),
            ("y", "output = true".into()),
            ("copy", "output = true".into()),
        ] {
            workload.push_str(&format!(
                "[[buffer]]\nname = \"{name}{k}\"\ntype = \"{}\"\nlen = {COUNT}\n{init}\n",
                case[5]
            ));
        }
        launches.push_str(&format!("[[launch]]\nkernel = \"apply{k}\"\ngrid = [{}]\nblock = [128]\nargs = [\"x{k}\", \"y{k}\", \"copy{k}\"]\n", COUNT / 128));
    }
    std::fs::write(dir.path().join("made.cu"), source).expect("a file");
    let path = dir.path().join("made.toml");
    std::fs::write(&path, workload + &launches).expect("a file");
    let outputs = run_file(&path, &["--device", "cpu"]);
    for (k, case) in CASES.iter().enumerate() {
        let made = made(case);
        let format = made.specification.format;
        let read = |name: String| -> Vec<f64> {
            match format {
                WorkingFormat::F64 => outputs.get::<f64>(&name),
                WorkingFormat::F32 => {
                    let all = outputs.get::<f32>(&name).into_iter();
                    all.map(f64::from).collect()
                }
            }
        };
        compare(
            case[0],
            &made,
            &read(format!("copy{k}")),
            &read(format!("y{k}")),
        );
    }
}

#[test]
fn a_c_compiler_gives_the_bits_of_the_evaluation() {
    let dir = tempfile::tempdir().expect("a folder");
    for (k, case) in CASES
        .iter()
        .enumerate()
        .filter(|(k, _)| [0, 4, 5, 7].contains(k))
    {
        let made = made(case);
        let s = &made.specification;
        let c = if case[5] == "f64" { "double" } else { "float" };
        let mut text = emitted(case, "made", "c");
        text.push_str(&format!("#include <stdio.h>\nint main(void) {{\n    {c} x;\n    while (fread(&x, sizeof x, 1, stdin) == 1) {{\n        {c} y = made(x);\n        fwrite(&y, sizeof y, 1, stdout);\n    }}\n    return 0;\n}}\n"));
        let source = dir.path().join(format!("made{k}.c"));
        std::fs::write(&source, text).expect("a file");
        let program = dir.path().join(format!("made{k}"));
        let built = Command::new("cc")
            .args(["-O2", "-ffp-contract=off", "-o"])
            .args([&program, &source])
            .arg("-lm")
            .status()
            .expect("a C compiler, which building GMP needs too");
        assert!(built.success());
        let at = |i: usize| s.from + (s.to - s.from) * (i as f64) / (COUNT - 1) as f64;
        let x: Vec<f64> = (0..COUNT)
            .map(at)
            .map(|x| {
                if case[5] == "f32" {
                    f64::from(x as f32)
                } else {
                    x
                }
            })
            .collect();
        let bytes: Vec<u8> = x
            .iter()
            .flat_map(|x| match s.format {
                WorkingFormat::F64 => x.to_le_bytes().to_vec(),
                WorkingFormat::F32 => (*x as f32).to_le_bytes().to_vec(),
            })
            .collect();
        let mut run = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        run.stdin
            .take()
            .expect("a pipe")
            .write_all(&bytes)
            .expect("is read");
        let out = run.wait_with_output().expect("ends").stdout;
        compare(case[0], &made, &x, &numbers(&out, s.format));
    }
}

#[test]
fn what_cannot_be_made_is_refused_with_a_remedy() {
    for (args, says) in [
        (
            &["sinn", "--from", "0", "--to", "1", "--error", "1e-3"][..],
            "did you mean",
        ),
        (
            &["exp", "--from", "1", "--to", "0", "--error", "1e-3"],
            "--from has to be below",
        ),
        (
            &["log", "--from", "-1", "--to", "1", "--error", "1e-3"],
            "x > 0",
        ),
        (
            &["exp", "--from", "0", "--to", "1", "--error", "1e-17"],
            "library's function",
        ),
        (
            &["sin", "--from", "3", "--to", "3.5", "--error", "1e-6"],
            "--absolute",
        ),
        (
            &[
                "exp", "--from", "0", "--to", "1", "--error", "1e-3", "--format", "f16",
            ],
            "f16",
        ),
        (
            &[
                "exp", "--from", "0", "--to", "1", "--error", "1e-3", "--name", "a b",
            ],
            "name that C has",
        ),
    ] {
        let said = kerf(&[&["function"], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.out);
        assert!(said.err.contains(says), "{args:?}: {}", said.err);
    }
}

#[test]
fn json_has_the_steps() {
    let said = kerf(&[
        "function", "exp", "--from", "-1", "--to", "0", "--error", "1e-9", "--emit", "json",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let v: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(v["schema"], "kerf.function/1");
    assert!(v["proven"].as_f64().is_some_and(|p| p > 0.0 && p <= 1e-9));
    assert!(v["steps"].as_array().is_some_and(|s| s.len() > 3));
    assert!(
        v["cuda"]
            .as_str()
            .is_some_and(|c| c.contains("__device__ double exp_made(double x)"))
    );
}
