//! Good files, bad files with what is said about them, and files damaged at random.

use std::path::Path;

use proptest::prelude::*;

use crate::accept::Metric;
use crate::elem::ElemType;
use crate::mistakes::Mistakes;
use crate::number::Number;
use crate::scalar::Scalar;
use crate::workload::{ArgSpec, Init, SizesFor, Workload, WorkloadStep};

const GOOD: &str = include_str!("tests/good.toml");

fn parse_with(text: &str, overrides: &[(&str, i64)]) -> Result<Workload, Mistakes> {
    parse_in(&tempfile::tempdir().unwrap(), text, overrides)
}

/// Puts the files there that good workloads mention.
fn prepare(dir: &tempfile::TempDir) {
    std::fs::write(dir.path().join("k.cu"), "").unwrap();
    let zeros = ElemType::Scalar(Scalar::F32);
    crate::npy::write(&dir.path().join("x.npy"), &zeros, &[2, 8], &[0; 64]).unwrap();
}

fn parse_in(
    dir: &tempfile::TempDir,
    text: &str,
    overrides: &[(&str, i64)],
) -> Result<Workload, Mistakes> {
    prepare(dir);
    let overrides: Vec<(String, i64)> = overrides
        .iter()
        .map(|(n, v)| ((*n).to_owned(), *v))
        .collect();
    Workload::parse(text, &dir.path().join("w.toml"), &overrides)
}

fn parse(text: &str) -> Result<Workload, Mistakes> {
    parse_with(text, &[])
}

/// What is said about a file, without the directory.
fn said(text: &str, overrides: &[(&str, i64)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let list = match parse_in(&dir, text, overrides) {
        Ok(w) => w.warnings,
        Err(mistakes) => mistakes.list,
    };
    let directory = dir.path().display().to_string();
    let shown = list
        .iter()
        .map(|m| m.to_string().replace(&directory, "DIR"));
    shown
        .map(|m| m.strip_prefix("DIR/w.toml:").unwrap().trim().to_owned())
        .collect()
}

#[test]
fn a_good_file() {
    let w = parse(GOOD).unwrap();
    assert!(w.warnings.is_empty());
    assert!(w.source.ends_with("k.cu") && w.source.is_absolute());
    let dir = w.path.parent().unwrap();
    let include = format!("-I{}", dir.join("inc").display());
    let other = dir.join("other").display().to_string();
    assert_eq!(
        w.flags,
        ["-DREAL=double", &include, "-I", &other, "-I/usr/x"]
    );
    assert_eq!(w.seed, 1);
    assert_eq!(w.sizes, [("n".into(), 16), ("half_n".into(), 8)]);
    assert_eq!(w.size("half_n"), Some(8));
    assert_eq!(w.buffer("call"), Some(1));
    let names: Vec<&str> = w.buffers.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["spot", "call", "table", "atoms", "order", "given"]);
    assert_eq!(w.buffers[0].line, 9);
    assert_eq!(w.buffers[1].shape, Some(vec![2, 8]));
    assert_eq!(w.buffers[2].symbol.as_deref(), Some("lookup"));
    assert_eq!(w.buffers[2].seed, Some(9));
    assert_eq!(w.buffers[3].elem.to_string(), "[f64, i32, f32x4]");
    let Init::Fields(fields) = &w.buffers[3].init else {
        panic!("no fields")
    };
    let low = Number::Int(0);
    let high = Number::Int(16);
    assert_eq!(fields[1], Init::Uniform { low, high });
    assert_eq!(w.steps.len(), 6);
    let WorkloadStep::Loop {
        var, body, line, ..
    } = &w.steps[1]
    else {
        panic!("no loop")
    };
    assert_eq!((var.as_str(), body.len(), *line), ("t", 2, 60));
    let WorkloadStep::Launch(launch) = &body[1] else {
        panic!("no launch")
    };
    assert!(matches!(launch.args[3], ArgSpec::Typed(Scalar::F32, _)));
    assert!(matches!(&launch.args[4], ArgSpec::Struct(fields) if fields.len() == 3));
    assert_eq!(w.launch_space.default_params()["bx"], 64);
    assert_eq!(w.launch_space.configurations().count(), 5);
    let call = w.accept.criterion("call").unwrap();
    assert_eq!((call.metric, call.tolerance), (Metric::MaxRel, 1e-5));
    assert_eq!(call.floor, Some(1e-30));
    assert_eq!(w.accept.criterion("other").unwrap().tolerance, 1e-6);
}

#[test]
fn the_documented_example_is_good() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/workload.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let example = example.replace("black_scholes.cu", "k.cu");
    assert_eq!(said(&example, &[]), [""; 0]);
}

#[test]
fn overrides() {
    let w = parse_with(GOOD, &[("n", 4), ("n", 32), ("bx", 16)]);
    // `x.npy` holds 16 numbers, whatever the size.
    let wrong = w.unwrap_err().to_string();
    assert!(
        wrong.contains("shape [2, 8] has 16 scalars, not 32"),
        "{wrong}"
    );
    let w = parse_with(GOOD, &[("bx", 16)]).unwrap();
    assert_eq!(w.launch_space.params[0], ("bx".into(), vec![16]));
    assert_eq!(w.launch_space.default_params()["bx"], 16);
    assert_eq!(
        said(GOOD, &[("nn", 4)]),
        ["no size or launch-space parameter `nn` to set to 4; \
          expected one of `half_n`, `n`, `bx`, `by`; help: did you mean `n`?"]
    );
    let file = GOOD.replace("n = 16", "n = \"1 / 0\"");
    assert!(parse_with(&file, &[("n", 16)]).is_ok());
}

/// A file whose sizes are smaller on the CPU; `m` follows `n` on a GPU only, `all` on both.
const BY_DEVICE: &str = r#"source = "k.cu"
[sizes]
n = 4096
m = "n / 2"
all = "n * m"
fixed = 3
[cpu_sizes]
n = 16
m = "n / 8"
[[buffer]]
name = "x"
type = "f32"
len = "all"
output = true
[[launch]]
kernel = "k"
grid = [1]
block = [32]
args = ["x", "n"]
"#;

/// The values of the sizes of [`BY_DEVICE`], in the file's order.
fn sizes_for(device: SizesFor, overrides: &[(&str, i64)]) -> Vec<i64> {
    let dir = tempfile::tempdir().unwrap();
    prepare(&dir);
    let overrides: Vec<(String, i64)> = overrides
        .iter()
        .map(|(n, v)| ((*n).to_owned(), *v))
        .collect();
    let path = dir.path().join("w.toml");
    std::fs::write(&path, BY_DEVICE).unwrap();
    let w = Workload::read_for(&path, &overrides, device).unwrap();
    assert_eq!(w.sizes_by_device, ["n", "m"]);
    assert_eq!(w.buffers[0].len as i64, w.size("all").unwrap());
    if device == SizesFor::Gpu {
        // The same sizes as overrides, as those that read for the CPU get them.
        let explicit = Workload::gpu_overrides(&path, &overrides).unwrap();
        assert_eq!(Workload::read(&path, &explicit).unwrap(), w);
    }
    w.sizes.iter().map(|s| s.1).collect()
}

#[test]
fn sizes_by_device() {
    use SizesFor::{Cpu, Gpu};
    assert_eq!(sizes_for(Cpu, &[]), [16, 2, 32, 3]);
    assert_eq!(sizes_for(Gpu, &[]), [4096, 2048, 4096 * 2048, 3]);
    // An override replaces both, and what is computed from it follows.
    assert_eq!(sizes_for(Cpu, &[("n", 80)]), [80, 10, 800, 3]);
    assert_eq!(sizes_for(Gpu, &[("n", 80)]), [80, 40, 3200, 3]);
    assert_eq!(sizes_for(Cpu, &[("m", 5)]), [16, 5, 80, 3]);
    assert_eq!(sizes_for(Gpu, &[("m", 5)]), [4096, 5, 20480, 3]);
    assert_eq!(
        sizes_for(Gpu, &[("n", 6), ("m", 5), ("all", 7)]),
        [6, 5, 7, 3]
    );
    // Without the table there is one value for all devices, and nothing to override.
    let w = parse(SHORT).unwrap();
    assert_eq!((w.size("n"), w.sizes_by_device.len()), (Some(16), 0));
}

#[test]
fn mistakes_in_sizes_of_both_devices() {
    let changed = |from: &str, to: &str| {
        assert!(BY_DEVICE.contains(from));
        said(&BY_DEVICE.replacen(from, to, 1), &[])
    };
    assert_eq!(
        changed("m = \"n / 8\"", "mm = 2"),
        ["9:1: `[cpu_sizes]` has `mm`, which is no size; \
          expected one of `all`, `fixed`, `m`, `n`; help: did you mean `m`?"]
    );
    assert_eq!(
        changed("m = \"n / 8\"", "depth = 2"),
        [
            "9:1: `[cpu_sizes]` has `depth`, which is no size; expected one of `all`, `fixed`, `m`, `n`; \
          help: give `depth` its full value in `[sizes]`"
        ]
    );
    assert_eq!(
        changed("m = \"n / 8\"", "m = \"all / 8\""),
        ["9:6: size `all` used before its definition; expected an earlier size"]
    );
    assert_eq!(
        changed("n = 16", "n = 1.5"),
        ["8:5: size `n` is 1.5; expected an integer; help: round with `floor(..)` or `ceil(..)`"]
    );
    // What the CPU does not use is checked as well.
    assert_eq!(
        changed("m = \"n / 2\"", "m = \"q / 2\""),
        ["4:6: unknown name `q`; expected a size"]
    );
    assert_eq!(
        changed("n = 4096", "n = true"),
        ["3:5: size `n` is a boolean; expected a number or an expression"]
    );
    let list = BY_DEVICE.replace("[cpu_sizes]\nn = 16\nm = \"n / 8\"\n", "");
    let list = format!("cpu_sizes = 3\n{list}");
    assert_eq!(
        said(&list, &[]),
        ["1:13: `cpu_sizes` is an integer; expected a table `[cpu_sizes]`"]
    );
}

/// Every example has full sizes and smaller ones, and its file has no mistakes with either.
#[test]
fn examples_have_sizes_for_both_devices() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let recorded = include_str!("tests/cpu_sizes.txt");
    let mut seen = String::new();
    for folder in std::fs::read_dir(&examples).unwrap() {
        let Ok(files) = std::fs::read_dir(folder.unwrap().path()) else {
            continue;
        };
        for path in files.map(|f| f.unwrap().path()) {
            if path.extension().is_some_and(|e| e == "toml") {
                let full = Workload::read_for(&path, &[], SizesFor::Gpu).unwrap();
                let small = Workload::read(&path, &[]).unwrap();
                assert!(!small.sizes_by_device.is_empty(), "{}", path.display());
                assert_ne!(full.sizes, small.sizes, "{}", path.display());
                let name = path.file_stem().unwrap().to_str().unwrap();
                let sizes = small.sizes.iter().map(|(n, v)| format!(" {n}={v}"));
                seen += &format!("{name}{}\n", sizes.collect::<String>());
            }
        }
    }
    let mut lines: Vec<&str> = seen.lines().collect();
    lines.sort_unstable();
    let recorded: Vec<&str> = recorded.lines().collect();
    assert!(lines == recorded, "got:\n{}", lines.join("\n"));
}

/// A short good file, to be spoilt in one place.
const SHORT: &str = r#"source = "k.cu"
[sizes]
n = 16
[[buffer]]
name = "x"
type = "f32"
len = "n"
output = true
[[launch]]
kernel = "k"
grid = ["ceil_div(n, bx)"]
block = ["bx"]
args = ["x", "n"]
[launch_space]
bx = [32, 64]
"#;

/// Changes to the short file and everything said about them.
const TABLE: &[(&str, &str, &[&str])] = include!("tests/table.rs");

#[test]
fn bad_files() {
    assert_eq!(said(SHORT, &[]), [""; 0]);
    let mut wrong = String::new();
    for (from, to, expected) in TABLE {
        let file = SHORT.replacen(from, to, 1);
        assert_ne!(file, SHORT, "`{from}` is not there");
        let got = said(&file, &[]);
        if got != *expected {
            wrong += &format!("({from:?}, {to:?}, &{got:#?}),\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn all_mistakes_are_reported_together() {
    let text = include_str!("tests/bad.toml");
    let expected = include_str!("tests/bad.expected");
    let got = said(text, &[]).join("\n") + "\n";
    assert!(got == expected, "got:\n{got}");
}

#[test]
fn files_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Workload::read(&dir.path().join("no.toml"), &[]).unwrap_err();
    assert!(
        missing.to_string().contains("no.toml: cannot be read"),
        "{missing}"
    );
    let binary = dir.path().join("b.toml");
    std::fs::write(&binary, [0xff, 0xfe, 0]).unwrap();
    let wrong = Workload::read(&binary, &[]).unwrap_err();
    assert!(
        wrong.to_string().contains("b.toml: not UTF-8 in line 1"),
        "{wrong}"
    );
    let empty = Workload::parse("", Path::new("e.toml"), &[]).unwrap_err();
    assert_eq!(empty.list.len(), 2, "{empty}");
}

#[test]
fn hostile_files() {
    let deep = format!("source = {}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(parse(&deep).is_err());
    let deep = format!("[{}]", "a.".repeat(5000) + "a");
    assert!(parse(&deep).is_err());
    let long = format!("{SHORT}c = [\"{}1{}\"]", "(".repeat(9000), ")".repeat(9000));
    assert!(parse(&long).is_err());
    let many: String = (0..20_000).map(|i| format!("k{i} = 1\n")).collect();
    let wrong = parse(&many).unwrap_err();
    assert_eq!(wrong.list.len(), crate::mistakes::MOST_KEPT);
    assert!(wrong.more > 18_000);
    let lists: String = (0..20)
        .map(|i| format!("p{i} = [0, 1, 2, 3, 4, 5, 6, 7]\n"))
        .collect();
    let sum = vec!["p19"; 2000].join(" + ");
    let slow = format!("{SHORT}{lists}constraints = [\"{sum} < 0\"]\n");
    let start = std::time::Instant::now();
    assert!(parse(&slow).is_ok());
    assert!(start.elapsed().as_secs() < 20);
}

/// Pieces that make damage interesting.
const PIECES: [&str; 28] = [
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "=",
    "\n",
    ",",
    "..",
    "n",
    "bx",
    "-",
    "0",
    "1e400",
    "9223372036854775807",
    "18446744073709551616",
    "true",
    "nan",
    "(",
    ")",
    "pow(",
    "\\u0041",
    "é",
    "[[launch]]\n",
    "\0",
    "x.npy",
];

#[derive(Debug, Clone)]
enum Damage {
    Delete(usize, usize),
    Insert(usize, usize),
    Copy(usize, usize, usize),
    Number(usize, i64),
    Byte(usize, u8),
    Word(usize, usize),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let at = 0..GOOD.len();
    prop_oneof![
        1 => (at.clone(), 1..40usize).prop_map(|(a, n)| Damage::Delete(a, n)),
        1 => (at.clone(), 0..PIECES.len()).prop_map(|(a, p)| Damage::Insert(a, p)),
        1 => (at.clone(), at.clone(), 1..200usize).prop_map(|(a, b, n)| Damage::Copy(a, b, n)),
        3 => (at.clone(), prop_oneof![any::<i64>(), -20..200i64]).prop_map(|(a, v)| Damage::Number(a, v)),
        1 => (at.clone(), any::<u8>()).prop_map(|(a, v)| Damage::Byte(a, v)),
        3 => (at.clone(), at).prop_map(|(a, b)| Damage::Word(a, b)),
    ]
}

/// The next run of such bytes from `at` on; empty at the end if there is none.
fn next_run(bytes: &[u8], at: usize, part: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let len = bytes.len();
    let start = (at.min(len)..len).find(|i| part(bytes[*i])).unwrap_or(len);
    let end = (start..len).find(|i| !part(bytes[*i])).unwrap_or(len);
    start..end
}

fn damaged(text: &str, damage: &[Damage]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for d in damage {
        let len = bytes.len();
        match *d {
            Damage::Delete(a, n) => drop(bytes.drain(a.min(len)..(a + n).min(len))),
            Damage::Insert(a, p) => {
                bytes.splice(a.min(len)..a.min(len), PIECES[p].bytes());
            }
            Damage::Copy(a, b, n) => {
                let part = bytes[b.min(len)..(b + n).min(len)].to_vec();
                bytes.splice(a.min(len)..a.min(len), part);
            }
            Damage::Number(a, v) => {
                let number = next_run(&bytes, a, |b| b.is_ascii_digit());
                bytes.splice(number, v.to_string().into_bytes());
            }
            Damage::Word(a, b) => {
                let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
                let other = bytes[next_run(&bytes, b, is_word)].to_vec();
                bytes.splice(next_run(&bytes, a, is_word), other);
            }
            Damage::Byte(a, v) => {
                if let Some(b) = bytes.get_mut(a) {
                    *b = v;
                }
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads and, if that works, expands and generates a little; nothing may panic.
fn exercise(text: &str, dir: &Path) -> Result<(), TestCaseError> {
    let whole = text.len();
    match Workload::parse(text, &dir.join("w.toml"), &[]) {
        Ok(w) => {
            if let Ok(steps) = crate::expand(&w, &w.launch_space.default_params()) {
                for step in steps.take(1000) {
                    if let Err(m) = step {
                        prop_assert!(!m.is_empty());
                    }
                }
            }
            for b in w
                .buffers
                .iter()
                .filter(|b| b.bytes().is_some_and(|n| n < 100_000))
            {
                let made = crate::generate(b, w.seed, &w.sizes);
                if let Ok(bytes) = made {
                    prop_assert_eq!(Some(bytes.len()), b.bytes());
                    prop_assert_eq!(crate::digest(&bytes, &b.elem).len(), 16);
                }
            }
        }
        Err(mistakes) => {
            prop_assert!(!mistakes.is_empty());
            for m in &mistakes.list {
                prop_assert!(m.span.end <= whole + 1, "{m}: {:?} of {whole}", m.span);
                prop_assert!(m.line >= 1 && m.column >= 1);
                prop_assert!(!m.what.is_empty() && !m.expected.is_empty());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn damaged_files_never_panic(damage in prop::collection::vec(any_damage(), 1..6)) {
        let dir = tempfile::tempdir().unwrap();
        prepare(&dir);
        exercise(&damaged(GOOD, &damage), dir.path())?;
    }

    #[test]
    fn any_text_never_panics(text in "([a-z_]{1,6}|[\\[\\]={}\",.0-9\n' -]{1,3}){0,40}|.{0,80}") {
        exercise(&text, Path::new("."))?;
    }
}
