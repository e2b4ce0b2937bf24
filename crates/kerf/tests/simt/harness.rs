//! Running the program and reading what it saved.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder of workloads.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simt")
}

/// A cache of compiled sources, shared by the tests of one run and by no other run.
fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simt-cache");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder for the cache");
        dir
    })
}

/// What a call of the program gave.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Calls the program.
pub fn kerf(args: &[&str]) -> Said {
    let o = Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .env("KERF_CACHE", cache())
        .output()
        .expect("the program should start");
    Said {
        code: o.status.code(),
        out: String::from_utf8_lossy(&o.stdout).into_owned(),
        err: String::from_utf8_lossy(&o.stderr).into_owned(),
    }
}

/// Outputs of a workload, as bytes, and what its kernels printed.
#[derive(PartialEq)]
pub struct Outputs {
    bytes: BTreeMap<String, Vec<u8>>,
    pub printed: String,
}

/// Content of an `.npy` file behind its header.
fn npy(path: &Path) -> Vec<u8> {
    let b = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(&b[..6], b"\x93NUMPY", "{}", path.display());
    let head = match b[6] {
        1 => 10 + usize::from(u16::from_le_bytes([b[8], b[9]])),
        _ => 12 + u32::from_le_bytes([b[8], b[9], b[10], b[11]]) as usize,
    };
    b[head..].to_vec()
}

/// Runs a workload once; it has to succeed.
pub fn run_file(path: &Path, more: &[&str]) -> Outputs {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let save = dir.path().to_str().expect("a path in UTF-8");
    let mut args = vec!["run", path.to_str().expect("a path in UTF-8")];
    args.extend([
        "--warmup",
        "0",
        "--repeats",
        "1",
        "--format",
        "json",
        "--save",
        save,
    ]);
    args.extend(more);
    let said = kerf(&args);
    // Values that overflow, or that a reference of more bits has as finite, are a verdict and no failure of the run.
    let judged = more.contains(&"--reference") && said.err.contains("rejected: output");
    let code = Some(i32::from(judged));
    assert_eq!(said.code, code, "{args:?}\n{}\n{}", said.out, said.err);
    let report: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let names = report["outputs"].as_array().expect("outputs").iter();
    let bytes = names
        .map(|o| o["name"].as_str().expect("a name").to_owned())
        .map(|n| (n.clone(), npy(&dir.path().join(format!("{n}.npy")))))
        .collect();
    Outputs {
        bytes,
        printed: report["printed"].as_str().unwrap_or("").to_owned(),
    }
}

/// Runs `simt/NAME.toml`.
pub fn run(name: &str, more: &[&str]) -> Outputs {
    run_file(&folder().join(format!("{name}.toml")), more)
}

/// Scalars that outputs consist of.
pub trait Scalar: Copy + PartialEq + std::fmt::Debug {
    const BYTES: usize;
    fn of(bytes: &[u8]) -> Self;
    /// Equal bits, where all NaNs count as one.
    fn same(self, other: Self) -> bool {
        self == other
    }
}

macro_rules! integers {
    ($($t:ty),*) => { $(impl Scalar for $t {
        const BYTES: usize = size_of::<$t>();
        fn of(b: &[u8]) -> Self { <$t>::from_le_bytes(b.try_into().expect("the right length")) }
    })* };
}
integers!(i8, u8, i16, u16, i32, u32, i64, u64);

macro_rules! floats {
    ($($t:ty),*) => { $(impl Scalar for $t {
        const BYTES: usize = size_of::<$t>();
        fn of(b: &[u8]) -> Self { <$t>::from_le_bytes(b.try_into().expect("the right length")) }
        fn same(self, o: Self) -> bool { self.to_bits() == o.to_bits() || (self.is_nan() && o.is_nan()) }
    })* };
}
floats!(f32, f64, half::f16, half::bf16);

impl Outputs {
    /// An output's scalars.
    pub fn get<T: Scalar>(&self, name: &str) -> Vec<T> {
        let b = self
            .bytes
            .get(name)
            .unwrap_or_else(|| panic!("no output {name}"));
        b.chunks_exact(T::BYTES).map(T::of).collect()
    }

    /// Every scalar of an output has the bits that `expected` gives for its index.
    pub fn expect<T: Scalar>(&self, name: &str, expected: impl Fn(usize) -> T) {
        let got = self.get::<T>(name);
        assert!(!got.is_empty(), "{name} is empty");
        let bad: Vec<String> = (0..got.len())
            .filter(|i| !got[*i].same(expected(*i)))
            .map(|i| format!("  [{i}]: got {:?}, expected {:?}", got[i], expected(i)))
            .collect();
        let shown = &bad[..bad.len().min(12)];
        assert!(
            bad.is_empty(),
            "{name}: {} of {} are wrong\n{}",
            bad.len(),
            got.len(),
            shown.join("\n")
        );
    }

    /// The output equals a list.
    pub fn equals<T: Scalar>(&self, name: &str, expected: &[T]) {
        assert_eq!(
            self.get::<T>(name).len(),
            expected.len(),
            "length of {name}"
        );
        self.expect(name, |i| expected[i]);
    }
}

/// The workload again under other options has to give the same bytes: memcheck finds nothing in it,
/// one thread or three make no difference, and a reference execution beside it changes nothing.
pub fn same_under_other_options(name: &str, first: &Outputs) {
    for more in [
        ["--memcheck", "--threads", "3"].as_slice(),
        &["--threads", "1"],
        &["--reference"],
    ] {
        let again = run(name, more);
        for (n, b) in &first.bytes {
            assert!(
                again.bytes.get(n) == Some(b),
                "{name}: output {n} differs under {more:?}"
            );
        }
        assert_eq!(
            again.printed, first.printed,
            "{name}: printed text under {more:?}"
        );
    }
}
