//! `kerf function` for two arguments and two results: emitted code on the CPU executor and by a C compiler has the bits of the
//! evaluation.
#[allow(dead_code)]
use crate::simt::harness;

use harness::{kerf, run_file};
use kerf_num::made::{CallForm, MadeFunction, WorkingFormat};
use std::io::Write;
use std::process::{Command, Stdio};

const COUNT: usize = 1024;

/// Arguments of `kerf function`, and the ranges from which arguments are taken: somewhat more than those of the function.
struct Case {
    words: &'static str,
    x: [f64; 2],
    y: [f64; 2],
}

const CASES: [Case; 6] = [
    Case {
        words: "pow --from 0.125 --to 8 --second-from -3 --second-to 3 --error 1e-9",
        x: [0.06, 8.5],
        y: [-3.5, 3.5],
    },
    Case {
        words: "pow --from 0.125 --to 8 --second-from 0.3 --second-to 0.3 --error 1e-9",
        x: [0.06, 8.5],
        y: [0.3, 0.3],
    },
    Case {
        words: "hypot --from -4 --to 4 --second-from 0 --second-to 4 --error 1e-6 --type f32",
        x: [-4.25, 4.25],
        y: [-0.25, 4.25],
    },
    Case {
        words: "rhypot --from -4 --to 4 --second-from 0 --second-to 4 --error 1e-9",
        x: [-4.25, 4.25],
        y: [-0.25, 4.25],
    },
    Case {
        words: "atan2 --from -4 --to 4 --second-from -4 --second-to 4 --error 1e-12",
        x: [-4.25, 4.25],
        y: [-4.25, 4.25],
    },
    Case {
        words: "sincos --from -50 --to 50 --error 1e-9 --absolute",
        x: [-55.0, 55.0],
        y: [0.0, 1.0],
    },
];

fn emitted(case: &Case, more: &[&str]) -> String {
    let words: Vec<&str> = case.words.split(' ').collect();
    let said = kerf(&[&["function"], &words[..], more].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    said.out
}

fn made(case: &Case) -> MadeFunction {
    let text = emitted(case, &["--emit", "plan"]);
    serde_json::from_str(&text).expect("a function of a plan")
}

fn float(made: &MadeFunction) -> &'static str {
    match made.format() {
        WorkingFormat::F64 => "double",
        WorkingFormat::F32 => "float",
    }
}

/// The statement that writes the results of a call into `out[0]` and `out[1]`.
fn call(made: &MadeFunction, name: &str) -> String {
    match made.form() {
        CallForm::TwoResults => format!("{name}(x, &out[0], &out[1]);"),
        _ => format!("out[0] = {name}(x, y);"),
    }
}

fn compare(case: &Case, made: &MadeFunction, columns: [&[f64]; 2], results: &[f64]) {
    let mut inside = 0;
    let numbers = if made.second.is_some() { 2 } else { 1 };
    for i in 0..COUNT {
        let arguments = [columns[0][i], columns[1][i]];
        let Some(wanted) = made.results(&arguments[..numbers]) else {
            continue;
        };
        inside += 1;
        for (k, wanted) in wanted.into_iter().enumerate() {
            let got = results[2 * i + k];
            let place = format!("{} at {arguments:?}: {got:e} and {wanted:e}", case.words);
            assert_eq!(got.to_bits(), wanted.to_bits(), "{place}");
        }
    }
    assert!((COUNT / 2..COUNT).contains(&inside) || case.y[0] == case.y[1]);
    assert!(
        inside > COUNT / 2,
        "{}: {inside} arguments inside",
        case.words
    );
}

#[test]
fn the_cpu_executor_has_the_bits_of_the_evaluation() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut source = String::new();
    let mut workload = String::from("source = \"made.cu\"\n");
    let mut launches = String::new();
    for (k, case) in CASES.iter().enumerate() {
        let made = made(case);
        let (c, call) = (float(&made), call(&made, &format!("made{k}")));
        source.push_str(&emitted(
            case,
            &["--emit", "cuda", "--name", &format!("made{k}")],
        ));
        source.push_str(&format!(
            "extern \"C\" __global__ void apply{k}(const {c}* xs, const {c}* ys, {c}* z, {c}* copy) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    {c} x = xs[i], y = ys[i];\n    {c} out[2] = {{0, 0}};\n    {call}\n    z[2 * i] = out[0];\n    z[2 * i + 1] = out[1];\n    copy[2 * i] = x;\n    copy[2 * i + 1] = y;\n}}\n"
        ));
        let t = made.format().name();
        for (name, range) in [("x", case.x), ("y", case.y)] {
            let init = match range[0] == range[1] {
                true => format!("expr = \"{:?}\"", range[0]),
                false => format!("uniform = {range:?}"),
            };
            workload.push_str(&format!(
                "[[buffer]]\nname = \"{name}{k}\"\ntype = \"{t}\"\nlen = {COUNT}\ninit = {{ {init} }}\n"
            ));
        }
        for name in ["z", "copy"] {
            workload.push_str(&format!(
                "[[buffer]]\nname = \"{name}{k}\"\ntype = \"{t}\"\nlen = {}\noutput = true\n",
                2 * COUNT
            ));
        }
        launches.push_str(&format!("[[launch]]\nkernel = \"apply{k}\"\ngrid = [{}]\nblock = [128]\nargs = [\"x{k}\", \"y{k}\", \"z{k}\", \"copy{k}\"]\n", COUNT / 128));
    }
    std::fs::write(dir.path().join("made.cu"), source).expect("a file");
    let path = dir.path().join("made.toml");
    std::fs::write(&path, workload + &launches).expect("a file");
    let outputs = run_file(&path, &["--device", "cpu"]);
    for (k, case) in CASES.iter().enumerate() {
        let made = made(case);
        let read = |name: &str| -> Vec<f64> {
            let name = format!("{name}{k}");
            match made.format() {
                WorkingFormat::F64 => outputs.get::<f64>(&name),
                WorkingFormat::F32 => {
                    let all = outputs.get::<f32>(&name).into_iter();
                    all.map(f64::from).collect()
                }
            }
        };
        let arguments = read("copy");
        let column = |k: usize| -> Vec<f64> { arguments[k..].iter().step_by(2).copied().collect() };
        compare(case, &made, [&column(0), &column(1)], &read("z"));
    }
}

#[test]
fn a_c_compiler_gives_the_bits_of_the_evaluation() {
    let dir = tempfile::tempdir().expect("a folder");
    for (k, case) in CASES.iter().enumerate() {
        let made = made(case);
        let (c, call) = (float(&made), call(&made, "made"));
        let mut text = emitted(case, &["--emit", "c", "--name", "made"]);
        text.push_str(&format!("#include <stdio.h>\nint main(void) {{\n    double in[2];\n    while (fread(in, sizeof in, 1, stdin) == 1) {{\n        {c} x = in[0], y = in[1], out[2] = {{0, 0}};\n        {call}\n        double wide[2] = {{out[0], out[1]}};\n        fwrite(wide, sizeof wide, 1, stdout);\n        (void)y;\n    }}\n    return 0;\n}}\n"));
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
        // Multiples of two different steps, so that all pairs differ.
        let column = |range: [f64; 2], step: usize| -> Vec<f64> {
            let part = |i: usize| (i * step % COUNT) as f64 / (COUNT - 1) as f64;
            let at = |i: usize| range[0] + (range[1] - range[0]) * part(i);
            (0..COUNT).map(|i| f64::from(at(i) as f32)).collect()
        };
        let x = column(case.x, 1);
        let y = match case.y[0] == case.y[1] {
            true => vec![case.y[0]; COUNT],
            false => column(case.y, 389),
        };
        let pairs = x.iter().zip(&y);
        let input: Vec<u8> = pairs
            .flat_map(|(x, y)| [x.to_le_bytes(), y.to_le_bytes()].concat())
            .collect();
        let mut run = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut stdin = run.stdin.take().expect("a pipe");
        let writer = std::thread::spawn(move || stdin.write_all(&input).expect("is read"));
        let out = run.wait_with_output().expect("ends").stdout;
        writer.join().expect("writes");
        let results = out.chunks_exact(8);
        let results: Vec<f64> = results
            .map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")))
            .collect();
        compare(case, &made, [&x, &y], &results);
    }
}

#[test]
fn what_cannot_be_made_is_refused_with_a_remedy() {
    for (words, says) in [
        (
            "pow --from 1 --to 2 --error 1e-3",
            "--second-from and --second-to too",
        ),
        (
            "pow --from 1 --to 2 --second-from 1 --error 1e-3",
            "--second-to",
        ),
        (
            "exp --from 1 --to 2 --second-from 1 --second-to 2 --error 1e-3",
            "leave out --second-from",
        ),
        (
            "pow --from -1 --to 2 --second-from 1 --second-to 2 --error 1e-3",
            "x > 0",
        ),
        (
            "pow --from 1 --to 9 --second-from 1 --second-to 999 --error 1e-3",
            "overflows f64",
        ),
        (
            "hypot --from 1 --to 9 --second-from 1 --second-to 9 --error 1e-17",
            "library's function",
        ),
        ("atan3 --from 1 --to 9 --error 1e-3", "did you mean"),
    ] {
        let said = kerf(&[&["function"], &words.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!(said.code, Some(2), "{words}: {}", said.out);
        assert!(said.err.contains(says), "{words}: {}", said.err);
    }
}

/// libdevice's pow calls a subroutine for every argument, which is part of its time.
#[test]
fn a_prediction_counts_the_whole_of_a_power() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/functions");
    let seconds = |name: &str| {
        let path = folder.join(name);
        let path = path.to_str().expect("a path");
        let said = kerf(&["predict", path, "--profile", "h200", "--format", "json"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let v: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        v["launches"][0]["device_seconds"]
            .as_f64()
            .expect("seconds")
    };
    let (power, exponential) = (seconds("powc_f64.toml"), seconds("exp_f64.toml"));
    assert!(power > 2.5 * exponential, "{power:e} and {exponential:e}");
}
