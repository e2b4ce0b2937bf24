//! The reference execution against a recomputation with 256-bit MPFR numbers.
//!
//! `kerf run --reference` claims that its reference is what exact arithmetic on the program's inputs
//! would give, to 2^-95 or better. Here every CUDA example, and kernels that stress single features
//! of the shadow execution, are computed a second time from the same input bytes, by formulas
//! transcribed from the kernels, and compared.

#[path = "reference/examples.rs"]
mod examples;
#[path = "reference/kernels.rs"]
mod kernels;
#[path = "reference/mp.rs"]
mod mp;
#[path = "reference/routes.rs"]
mod routes;

use kerf_workload::Scalar;
use kerf_workload::Workload;
use kerf_workload::bits;
use kerf_workload::generate;
use kerf_workload::npy;
use mp::{R, r};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Largest relative difference between the reference and the recomputation, as a power of two.
const LIMIT: f64 = -95.0;

/// One `kerf run --reference --save` and what it is about.
pub struct Run {
    workload: Workload,
    report: serde_json::Value,
    saved: tempfile::TempDir,
}

/// An output: the program's own values, and the reference's.
pub struct Output {
    name: String,
    own: Vec<f64>,
    reference: Vec<R>,
}

/// What an output should be. The error of each value is measured relative to the larger of its size
/// and its scale.
pub struct Want {
    value: Vec<R>,
    scale: Vec<R>,
}

impl Want {
    /// Values without harmful cancellation: measured by their own size alone.
    pub fn plain(value: Vec<R>) -> Want {
        let scale = vec![r(0.0); value.len()];
        Want { value, scale }
    }

    /// Values that come out of cancellation: measured by the size of what cancels.
    pub fn scaled(value: Vec<R>, scale: Vec<R>) -> Want {
        assert_eq!(value.len(), scale.len());
        Want { value, scale }
    }

    /// log2 of the worst error of `got`.
    fn worst(&self, got: &[R]) -> f64 {
        assert_eq!(got.len(), self.value.len());
        let error = |((g, v), s): ((&R, &R), &R)| {
            let difference = (g - v).abs();
            if difference == 0.0 {
                f64::NEG_INFINITY
            } else {
                (difference / v.abs().max(s)).magnitude()
            }
        };
        let all = got.iter().zip(&self.value).zip(&self.scale).map(error);
        // Not f64::max alone: a NaN must count as the worst of all.
        all.fold(f64::NEG_INFINITY, |a, b| {
            if b.is_nan() { f64::INFINITY } else { a.max(b) }
        })
    }
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}/{name}.toml"))
}

impl Run {
    pub fn new(path: &Path, sizes: &[(&str, i64)]) -> Run {
        let saved = tempfile::tempdir().expect("a temporary folder");
        let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
        c.arg("run")
            .arg(path)
            .args([
                "--reference",
                "--cpu-sizes",
                "--repeats",
                "1",
                "--warmup",
                "0",
                "--format",
                "json",
                "--save",
            ])
            .arg(saved.path());
        for (name, value) in sizes {
            c.arg("--size").arg(format!("{name}={value}"));
        }
        let out = c.output().expect("kerf should start");
        let text = String::from_utf8_lossy(&out.stdout);
        let report = serde_json::from_str(&text).unwrap_or_else(|e| {
            panic!(
                "{}: {e}: {text}{}",
                path.display(),
                String::from_utf8_lossy(&out.stderr)
            )
        });
        let overrides: Vec<(String, i64)> =
            sizes.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let workload = Workload::read(path, &overrides).unwrap_or_else(|e| panic!("{e}"));
        let run = Run {
            workload,
            report,
            saved,
        };
        assert_eq!(
            run.report["reference"]["untracked"],
            serde_json::json!([]),
            "{}",
            path.display()
        );
        run
    }

    /// A size of the workload.
    pub fn size(&self, name: &str) -> usize {
        self.workload
            .size(name)
            .unwrap_or_else(|| panic!("a size {name}")) as usize
    }

    /// First contents of a buffer, scalar by scalar; every scalar in use here is an `f64` exactly.
    pub fn input(&self, name: &str) -> Vec<f64> {
        let b = &self.workload.buffers[self
            .workload
            .buffer(name)
            .unwrap_or_else(|| panic!("a buffer {name}"))];
        let bytes =
            generate(b, self.workload.seed, &self.workload.sizes).unwrap_or_else(|e| panic!("{e}"));
        decode(&bytes, b.elem.size(), &b.elem.scalars())
    }

    /// [`Run::input`], as numbers of 256 bits.
    pub fn reals(&self, name: &str) -> Vec<R> {
        self.input(name).into_iter().map(r).collect()
    }

    /// An output of floats.
    pub fn output(&self, name: &str) -> Output {
        let b = &self.workload.buffers[self
            .workload
            .buffer(name)
            .unwrap_or_else(|| panic!("a buffer {name}"))];
        let scalars = b.elem.scalars();
        let format = scalars[0].1;
        let load = |file: String| {
            npy::read(&self.saved.path().join(file))
                .unwrap_or_else(|e| panic!("{e}"))
                .bytes
        };
        let own = decode(&load(format!("{name}.npy")), b.elem.size(), &scalars);
        let part = |p: &str| {
            decode(
                &load(format!("{name}.reference_{format}_{p}.npy")),
                8,
                &[(0, Scalar::F64)],
            )
        };
        let reference = part("hi")
            .into_iter()
            .zip(part("lo"))
            .map(|(hi, lo)| r(hi) + r(lo))
            .collect();
        Output {
            name: name.to_owned(),
            own,
            reference,
        }
    }

    /// Comparisons whose outcome exact arithmetic would change: how often, by line of the source.
    pub fn flips(&self) -> Vec<(u64, String)> {
        let list = self.report["reference"]["flips"]
            .as_array()
            .expect("a list of flips");
        list.iter()
            .map(|f| {
                (
                    f["count"].as_u64().unwrap_or(0),
                    f["place"].as_str().unwrap_or("").to_owned(),
                )
            })
            .collect()
    }

    /// Compares an output of f64 values with what it should be.
    pub fn check(&self, name: &str, want: &Want) {
        self.check_of(name, want, -52.0);
    }

    /// Compares an output with what it should be; `own` is the precision of the program's own values,
    /// as a power of two.
    pub fn check_of(&self, name: &str, want: &Want, own: f64) {
        let out = self.output(name);
        let what = format!(
            "{}: {}",
            self.workload.path.file_name().unwrap_or_default().display(),
            out.name
        );
        let worst = want.worst(&out.reference);
        let program = want.worst(&reals(&out.own));
        let bare = Want::plain(want.value.clone()).worst(&out.reference);
        println!(
            "{what}: reference differs by 2^{worst:.1} (2^{bare:.1} without a scale), the program by 2^{program:.1}"
        );
        assert!(
            worst <= LIMIT,
            "{what}: the reference differs by 2^{worst:.1}"
        );

        // The program rounds, so it has to differ from the reference, or this test compares nothing;
        // but not by more than some hundred roundings of the scale.
        assert!(
            program > LIMIT && program < own + 12.0,
            "{what}: the program differs by 2^{program:.1}"
        );
        // A reference that is off by twice the limit in one place has to be found.
        let at = (0..want.value.len())
            .find(|i| want.value[*i] != 0.0)
            .expect("a value other than zero");
        let mut off = out.reference.clone();
        off[at] += want.value[at].abs().max(&want.scale[at]) * 2f64.powf(LIMIT + 1.0);
        assert!(
            want.worst(&off) > LIMIT,
            "{what}: a perturbed reference passes"
        );
    }
}

fn reals(x: &[f64]) -> Vec<R> {
    x.iter().map(|v| r(*v)).collect()
}

fn decode(bytes: &[u8], size: usize, scalars: &[(usize, Scalar)]) -> Vec<f64> {
    let one =
        |e: &[u8], (at, s): &(usize, Scalar)| bits::load(*s, &e[*at..]).expect("a number").as_f64();
    bytes
        .chunks_exact(size)
        .flat_map(|e| scalars.iter().map(move |s| one(e, s)))
        .collect()
}
