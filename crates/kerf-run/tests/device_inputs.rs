//! First contents that a device makes are those of `kerf_workload::generate`, byte for byte. The device is the CPU
//! executor; with `--ignored`, a GPU.
#[path = "inputs/buffers.rs"]
mod buffers;

use buffers::{buffer, expression, inits, random_expression, structs};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::digest::digest_bytes;
use kerf_exec::{BufferId, ExecError, Executor};
use kerf_num::random::SplitMix64;
use kerf_run::device_inputs::{
    DeviceGenerator, DeviceInputError, Filled, HostReason, KERNELS, program,
};
use kerf_workload::finite::all_finite;
use kerf_workload::{BufferSpec, ElemType, Init, Number, Perturb, Scalar, Workload, generate};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Elements of the largest buffer, which the host fills in several pieces.
const LARGE: usize = (1 << 18) + 5;

fn on_cpu() -> DeviceGenerator<CpuExecutor> {
    DeviceGenerator::on_cpu(CpuOptions::default()).expect("the program of the generators compiles")
}

fn sizes() -> Vec<(String, i64)> {
    vec![("n".into(), 1000), ("huge".into(), i64::MAX)]
}

/// A generator whose buffers are used again, and are dirty then.
struct Device<E: Executor> {
    generator: DeviceGenerator<E>,
    buffers: BTreeMap<usize, BufferId>,
}

impl<E: Executor> Device<E> {
    fn new(generator: DeviceGenerator<E>) -> Device<E> {
        Device {
            generator,
            buffers: BTreeMap::new(),
        }
    }

    fn buffer(&mut self, bytes: usize) -> BufferId {
        let exec = self.generator.executor();
        let size = bytes.max(1).next_power_of_two();
        let made = || exec.alloc("x", size, 1).expect("room");
        let id = *self.buffers.entry(size).or_insert_with(made);
        exec.write(id, &vec![0xa5; size]).expect("written");
        id
    }

    /// What the device makes of a buffer, and who has to make it.
    fn made(
        &mut self,
        spec: &BufferSpec,
        sizes: &[(String, i64)],
        perturb: Option<&Perturb>,
    ) -> Result<(Filled, Vec<u8>), DeviceInputError> {
        let bytes = spec.bytes().expect("a size");
        let id = self.buffer(bytes);
        let filled = self.generator.fill(spec, 11, sizes, perturb, id)?;
        let mut got = self.generator.executor().read(id)?;
        assert!(got[bytes..].iter().all(|b| *b == 0xa5), "nothing behind");
        got.truncate(bytes);
        Ok((filled, got))
    }

    /// Checks one buffer; gives who makes it.
    fn check(
        &mut self,
        spec: &BufferSpec,
        sizes: &[(String, i64)],
        perturb: Option<&Perturb>,
    ) -> Filled {
        let want = generate(spec, 11, sizes).map(|mut bytes| {
            if let Some(p) = perturb {
                p.apply(&spec.name, &spec.elem, &mut bytes);
            }
            bytes
        });
        let case = format!("{} of {}, {:?}", spec.len, spec.elem, brief(&spec.init));
        match (self.made(spec, sizes, perturb), want) {
            (Ok((Filled::OnDevice, got)), Ok(want)) => {
                assert_same(&got, &want, spec, &case);
                Filled::OnDevice
            }
            (Ok((needs_host, _)), _) => {
                assert_ne!(needs_host, Filled::OnDevice, "{case}: the host refuses");
                needs_host
            }
            (Err(DeviceInputError::Generate(got)), Err(want)) => {
                assert_eq!(got.to_string(), want.to_string(), "{case}");
                Filled::OnDevice
            }
            (Err(e), _) => panic!("{case}: {e}"),
        }
    }
}

fn brief(init: &Init) -> String {
    let mut text = match init {
        Init::Expr(e) => e.text().into(),
        other => format!("{other:?}"),
    };
    text.truncate(300);
    text
}

fn assert_same(got: &[u8], want: &[u8], spec: &BufferSpec, case: &str) {
    let differs = got.iter().zip(want).position(|(a, b)| a != b);
    if let Some(at) = differs {
        let size = spec.elem.size();
        let element = at / size * size..at / size * size + size;
        panic!(
            "{case}: element {} is {:x?}, not {:x?}",
            at / size,
            &got[element.clone()],
            &want[element]
        );
    }
}

/// Every init of every scalar type.
fn check_inits<E: Executor>(d: &mut Device<E>, lengths: &[usize]) {
    for scalar in Scalar::ALL {
        for &len in lengths {
            for init in inits(scalar, len) {
                let spec = buffer(ElemType::Scalar(scalar), len, init);
                assert_eq!(d.check(&spec, &sizes(), None), Filled::OnDevice);
            }
        }
    }
}

#[test]
fn every_init_of_every_type() {
    check_inits(&mut Device::new(on_cpu()), &[0, 1, 2, 101, 1000]);
}

#[test]
fn large_buffers() {
    check_inits(&mut Device::new(on_cpu()), &[LARGE]);
}

/// Vectors, structs and padding.
fn check_elements<E: Executor>(d: &mut Device<E>) {
    for len in [0, 1, 77, 5000] {
        for spec in structs(len) {
            assert_eq!(d.check(&spec, &sizes(), None), Filled::OnDevice);
        }
        for width in ElemType::WIDTHS {
            for scalar in Scalar::ALL {
                for init in inits(scalar, len * width as usize).into_iter().step_by(3) {
                    let spec = buffer(ElemType::Vector(scalar, width), len, init);
                    assert_eq!(d.check(&spec, &sizes(), None), Filled::OnDevice);
                }
            }
        }
    }
}

#[test]
fn vectors_and_structs() {
    check_elements(&mut Device::new(on_cpu()));
}

/// Expressions of all operations that the device has, with and without values.
fn check_expressions<E: Executor>(d: &mut Device<E>, count: usize) {
    let mut r = SplitMix64::new(5);
    let mut values = 0;
    for k in 0..count {
        let text = random_expression(&mut r, 1 + k as u32 % 5);
        let scalar = Scalar::ALL[r.bits() as usize % 12];
        let spec = buffer(ElemType::Scalar(scalar), 40, expression(&text));
        assert_eq!(d.check(&spec, &sizes(), None), Filled::OnDevice, "{text}");
        values += usize::from(generate(&spec, 11, &sizes()).is_ok());
    }
    let third = count / 3;
    assert!((third..3 * third).contains(&values), "{values} have values");
}

#[test]
fn random_expressions() {
    check_expressions(&mut Device::new(on_cpu()), 3000);
}

/// Integers beyond 64 bits, signed zeros, remainders of distant magnitudes.
const DIFFICULT: [&str; 26] = [
    "huge * huge * 2",
    "huge * huge * 4",
    "(huge * huge * 2 + 3 * huge + i) / (huge + 7 * i)",
    "-(huge * huge * 2 + 3 * huge + i) % (huge - i)",
    "huge * huge * 2 * (1 - i % 2 * 2) / -3",
    "(0 - huge * huge * 2 - huge * 4 - 2) / (i - 1)",
    "(0 - huge * huge * 2 - huge * 4 - 2) % (i - 5)",
    "ceil_div(huge * huge - i, 1 - i % 5)",
    "ceil_div(i - 10, 3) * ceil_div(10 - i, -3)",
    "1e300 % (0.1 + i)",
    "-1e300 % 5e-324",
    "(i - 5.0) % 2.5e-308",
    "1e-310 % (3e-320 * (i + 1))",
    "min(0.0, -0.0 * i)",
    "max(-0.0, 0.0 * i)",
    "max(0.0 / 0.0, i)",
    "min(i, 0.0 / 0.0)",
    "floor(8.5e37 * (rand - 0.5))",
    "ceil(8.5e37 * rand) * 2",
    "floor(1e39 * rand)",
    "sqrt(i - 3.5)",
    "9007199254740993 + i",
    "(huge * huge + i * huge) * 1.0",
    "(1 < i && i / (i - 20) < 3) || select(i > 10, i % 2, 7 / i)",
    "abs(0 - huge * huge * 2 - huge * 4 - 2)",
    "huge * 2 + 1 - i",
];

fn check_difficult<E: Executor>(d: &mut Device<E>) {
    for scalar in Scalar::ALL {
        for text in DIFFICULT {
            let spec = buffer(ElemType::Scalar(scalar), 40, expression(text));
            assert_eq!(d.check(&spec, &sizes(), None), Filled::OnDevice, "{text}");
        }
    }
}

#[test]
fn difficult_expressions() {
    check_difficult(&mut Device::new(on_cpu()));
}

const FUNCTIONS: [&str; 5] = ["exp", "log", "log2", "sin", "cos"];

/// Arguments of the functions: of every size, around the ends of what the functions reduce arguments to, special values.
const ARGUMENTS: [&str; 18] = [
    "1400 * (rand - 0.5)",
    "20 * (rand - 0.5)",
    "0.8 + 0.4 * rand",
    "pow(2.0, 2100 * rand - 1075) * (rand - 0.5)",
    "pow(2.0, 40 * rand + 10)",
    "floor(1e6 * rand) * 1.5707963267948966",
    "(2 * i + 1) * 0.34657359027997264",
    "1 + pow(2.0, -52 * rand)",
    "1.4142135623730951 * pow(2.0, i - 20)",
    "-745.2 + 0.01 * i",
    "709.7 + 0.01 * i",
    "5e-324 * i",
    "(20 - i) / 0.0",
    "0.0 * (20 - i)",
    "1e22 * i",
    "1.7976931348623157e308",
    "1048576.0 + (i - 20) * 1e-10",
    "5.30539232623183e240 * i",
];

/// Powers of every kind: with integers, signs, special values, results at the ends of the range.
const POWERS: [&str; 20] = [
    "pow(rand, 2.0)",
    "pow(i - 20, 3)",
    "pow(3, i - 5)",
    "pow(i - 20, i - 20)",
    "pow(-1, huge * 3 + i)",
    "pow(2 - i % 4, huge * huge)",
    "pow(10 + huge, i / 13)",
    "pow(-2, 120 + i)",
    "pow(huge * huge, -1 - i)",
    "pow(rand, 100 * (rand - 0.5))",
    "pow(1e10 * (rand - 0.5), i - 20)",
    "pow(1 + 1e-9 * rand, 1e12 * (rand - 0.5))",
    "pow(pow(2.0, 2100 * rand - 1075), 1.01)",
    "pow(3.0 * rand, -660 - 20 * rand)",
    "pow(i - 20.0, 0.5)",
    "pow(0.0 * (20 - i), i - 25.0)",
    "pow((20 - i) / 0.0, 3.0)",
    "pow(-2.5, (i - 20) / 0.0)",
    "pow(0.1 * i - 2, 9007199254740991.0)",
    "pow(-1.0, 9007199254740990.0 + i)",
];

fn check_functions<E: Executor>(d: &mut Device<E>, len: usize) {
    let mut check = |scalar, text: &str| {
        let spec = buffer(ElemType::Scalar(scalar), len, expression(text));
        assert_eq!(d.check(&spec, &sizes(), None), Filled::OnDevice, "{text}");
    };
    for argument in ARGUMENTS {
        for function in FUNCTIONS {
            check(Scalar::F64, &format!("{function}({argument})"));
        }
    }
    for scalar in [Scalar::F64, Scalar::I64] {
        for text in POWERS {
            check(scalar, text);
        }
    }
}

#[test]
fn functions() {
    let mut d = Device::new(on_cpu());
    check_functions(&mut d, 40);
    check_functions(&mut d, 20_000);
}

#[test]
fn what_needs_the_host_is_said() {
    let mut d = Device::new(on_cpu());
    let f64s = ElemType::Scalar(Scalar::F64);
    let deep = (0..40).fold("i".to_owned(), |text, _| format!("1 + ({text})"));
    let reason = |d: &mut Device<_>, init| {
        let spec = buffer(f64s.clone(), 10, init);
        let Filled::NeedsHost(reason) = d.check(&spec, &sizes(), None) else {
            panic!("{:?} is made on the device", spec.init);
        };
        reason.to_string()
    };
    for (text, why) in [
        ("i + nowhere", "its expression has a name without a value"),
        (&deep, "its expression is nested deeply"),
    ] {
        assert_eq!(reason(&mut d, expression(text)), why);
    }
    let file = Init::File(PathBuf::from("none.npy"));
    assert_eq!(reason(&mut d, file), "it is read from a file");
    let spec = buffer(f64s, 10, expression(&deep));
    let (filled, bytes) = d.made(&spec, &[], None).expect("no failure");
    assert_eq!(filled, Filled::NeedsHost(HostReason::DeepExpression));
    assert!(bytes.iter().all(|b| *b == 0xa5), "nothing is written");
}

#[test]
fn inits_that_do_not_suit_are_refused_as_on_the_host() {
    let mut d = Device::new(on_cpu());
    let wrong = Init::Constant(Number::Int(256));
    let spec = buffer(ElemType::Scalar(Scalar::U8), 3, wrong);
    let error = d.made(&spec, &[], None).expect_err("refused").to_string();
    assert_eq!(error, generate(&spec, 0, &[]).unwrap_err().to_string());
    let spec = buffer(
        ElemType::Scalar(Scalar::I32),
        LARGE,
        expression("7 / (70000 - i)"),
    );
    let error = d.made(&spec, &[], None).expect_err("refused").to_string();
    assert!(error.contains("scalar 70000: division by zero"), "{error}");
}

/// Changes of inputs, over more than one chunk of sums of chunks.
fn check_perturbations<E: Executor>(d: &mut Device<E>, lengths: &[usize]) {
    let perturb = Perturb {
        relative: 0.05,
        seed: 3,
    };
    for &len in lengths {
        for scalar in [Scalar::F64, Scalar::F32, Scalar::F16, Scalar::Bf16] {
            for init in inits(scalar, len) {
                let spec = buffer(ElemType::Scalar(scalar), len, init);
                d.check(&spec, &sizes(), Some(&perturb));
            }
        }
        for spec in structs(len) {
            d.check(&spec, &sizes(), Some(&perturb));
        }
    }
}

#[test]
fn perturbed_inputs() {
    check_perturbations(&mut Device::new(on_cpu()), &[0, 1, 2, 129, 4097, 20_000]);
}

/// More values than a chunk of chunks has, so that sums have three levels.
#[test]
fn perturbed_inputs_of_many_chunks() {
    let mut d = Device::new(on_cpu());
    let len = 4096 * 4096 + 77;
    let init = Init::Uniform {
        low: Number::Float(-0.3),
        high: Number::Float(0.7),
    };
    let spec = buffer(ElemType::Scalar(Scalar::F16), len, init);
    let perturb = Perturb {
        relative: 0.5,
        seed: 1,
    };
    assert_eq!(d.check(&spec, &[], Some(&perturb)), Filled::OnDevice);
}

/// Finiteness and digests of what was made.
fn check_digests<E: Executor>(d: &mut Device<E>) {
    for scalar in Scalar::ALL {
        for len in [0, 1, 13, 3001] {
            for init in inits(scalar, len) {
                let spec = buffer(ElemType::Scalar(scalar), len, init);
                let bytes = generate(&spec, 11, &sizes()).expect("generated");
                let id = d.buffer(bytes.len());
                d.generator.executor().write(id, &bytes).expect("written");
                let digest = d.generator.digest(id, bytes.len()).expect("digested");
                assert_eq!(digest, digest_bytes(&bytes));
                let finite = d.generator.all_finite(&spec, id).expect("looked at");
                assert_eq!(finite, all_finite(&bytes, &spec.elem), "{:?}", spec.init);
            }
        }
    }
}

#[test]
fn digests_and_finiteness() {
    check_digests(&mut Device::new(on_cpu()));
    assert_ne!(digest_bytes(&[1, 0]), digest_bytes(&[1]));
    assert_ne!(digest_bytes(&[1, 0]), digest_bytes(&[0, 1]));
    let mut d = Device::new(on_cpu());
    // Four bytes of padding lie behind the integer.
    let f32s = ElemType::Vector(Scalar::F32, 2);
    let elem = ElemType::Struct(vec![ElemType::Scalar(Scalar::U32), f32s]);
    let spec = buffer(elem.clone(), 50, Init::Zero);
    for (at, value, finite) in [
        (16 * 30, f32::NAN, true),
        (16 * 30 + 4, f32::NAN, true),
        (16 * 30 + 8, f32::NAN, false),
        (16 * 49 + 12, f32::INFINITY, false),
        (8, f32::MAX, true),
    ] {
        let mut bytes = vec![0; 800];
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let id = d.buffer(800);
        d.generator.executor().write(id, &bytes).expect("written");
        assert_eq!(
            d.generator.all_finite(&spec, id).expect("looked at"),
            finite
        );
        assert_eq!(all_finite(&bytes, &elem), finite);
    }
}

fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folders = std::fs::read_dir(root).expect("examples").flatten();
    let files = folders
        .filter_map(|f| std::fs::read_dir(f.path()).ok())
        .flatten()
        .flatten();
    let mut found: Vec<PathBuf> = files
        .map(|f| f.path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    found.sort();
    found
}

/// All buffers of all examples at their own sizes. The device makes each of them.
fn check_examples<E: Executor>(d: &mut Device<E>) {
    let mut count = 0;
    for path in examples() {
        let w = Workload::read(&path, &[]).expect("an example");
        let stem = path.file_stem().expect("a name").to_string_lossy();
        for b in &w.buffers {
            count += 1;
            let filled = d.check(b, &w.sizes, None);
            assert_eq!(filled, Filled::OnDevice, "{stem} {}", b.name);
        }
    }
    assert!(count > 100, "{count} buffers");
}

#[test]
fn buffers_of_the_examples() {
    check_examples(&mut Device::new(on_cpu()));
}

/// Kernels do not depend on how the CPU executor runs blocks.
#[test]
fn other_ways_of_the_executor() {
    let options = CpuOptions {
        threads: 1,
        no_regions: true,
        order: 3,
        ..CpuOptions::default()
    };
    let generator = DeviceGenerator::on_cpu(options).expect("compiles");
    let mut d = Device::new(generator);
    check_perturbations(&mut d, &[5000]);
    check_digests(&mut d);
}

/// Without a driver the program is compiled all the same.
#[test]
fn the_program_has_no_calls() -> Result<(), ExecError> {
    let m = program("sm_90").map_err(|e| ExecError::Compile(e.0))?;
    let ptx = kerf_ir::finish::ptx(&m, "sm_90").map_err(|e| ExecError::Compile(e.0))?;
    for kernel in KERNELS {
        assert!(ptx.contains(&format!(".entry {kernel}(")), "{kernel}");
    }
    assert!(!ptx.contains("call.uni"), "all is inlined");
    assert!(!ptx.contains("fma."), "nothing is contracted");
    Ok(())
}

#[test]
#[ignore = "needs a GPU"]
fn on_a_gpu() {
    let generator = DeviceGenerator::code(0)
        .and_then(|code| DeviceGenerator::on_cuda(code, 0))
        .expect("the program loads");
    let mut d = Device::new(generator);
    check_inits(&mut d, &[0, 1, 2, 101, LARGE]);
    check_elements(&mut d);
    check_expressions(&mut d, 3000);
    check_difficult(&mut d);
    check_functions(&mut d, 300_000);
    check_perturbations(&mut d, &[0, 1, 2, 4097, 300_000]);
    check_digests(&mut d);
    check_examples(&mut d);
}

/// Run by hand: `cargo test --release -p kerf-run --test all speed -- --ignored --nocapture`.
#[test]
#[ignore = "needs a GPU, measures time"]
fn speed() {
    let mut g = DeviceGenerator::code(0)
        .and_then(|code| DeviceGenerator::on_cuda(code, 0))
        .expect("the program loads");
    let len = 75 << 20;
    for scalar in [Scalar::F32, Scalar::I32] {
        let elem = ElemType::Scalar(scalar);
        let id = g.executor().alloc("x", len * 4, 4).expect("room");
        for init in inits(scalar, len) {
            if matches!(init, Init::Values(_)) {
                continue;
            }
            let spec = buffer(elem.clone(), len, init);
            g.fill(&spec, 1, &sizes(), None, id).expect("filled");
            g.executor().start_clock().expect("a clock");
            g.fill(&spec, 1, &sizes(), None, id).expect("filled");
            let time_s = g.executor().stop_clock().expect("a clock");
            println!("{scalar} {}: {:.2} ms", brief(&spec.init), 1e3 * time_s);
        }
    }
}
