//! `kerf run --memcheck` on a corpus: kernels with one defect each, which has to be found at its place, and correct
//! kernels, which must not be accused.
//!
//! A comment says how each kernel runs: `// RUN name<<<grid, block, shared>>>(arguments)`, where grids and blocks of
//! several extents are in parentheses, more launches follow after `;`, buffers are those of [`BUFFERS`] and `{1 2}` is
//! a struct by value. `// FAULT kind` marks the lines that the message has to name.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kernels of either sort, at least.
const KERNELS: usize = 60;

/// Buffers that a kernel can have, each of `n` elements: name, and its lines in a workload.
const BUFFERS: [(&str, &str); 13] = [
    ("in", "type = 'f32'\ninit = { uniform = [1.0, 2.0] }"),
    ("out", "type = 'f32'\noutput = true"),
    ("iin", "type = 'i32'\ninit = { uniform = [0, 'n'] }"),
    ("perm", "type = 'i32'\ninit = { permutation = true }"),
    ("iout", "type = 'i32'\noutput = true"),
    ("scratch", "type = 'f32'\ninit = 'undefined'"),
    ("bytes", "type = 'u8'\ninit = { uniform = [0, 256] }"),
    ("bout", "type = 'u8'\noutput = true"),
    ("d", "type = 'f64'\ninit = { uniform = [1.0, 2.0] }"),
    ("dout", "type = 'f64'\noutput = true"),
    ("h", "type = 'f16'\ninit = { uniform = [1.0, 2.0] }"),
    ("hout", "type = 'f16'\noutput = true"),
    ("flag", "type = 'i32'\noutput = true"),
];

/// What a message says of each kind of defect: one of these.
fn wording(kind: &str) -> &'static [&'static str] {
    match kind {
        "uninitialised" => &["never written", "has no value"],
        "race" | "order" => &["race on"],
        "lane" => &["takes no part", "does not name it", "different places"],
        "barrier" => &["is not reached by", "barrier in divergent code"],
        "bounds" => &["out-of-bounds"],
        "alignment" => &["misaligned"],
        "overflow" => &["overflowed"],
        other => panic!("no such kind: {other}"),
    }
}

/// A kernel of the corpus, or several that run one after the other.
struct Case {
    file: PathBuf,
    run: String,
    /// Lines that the message has to name, with the kind.
    faults: Vec<(usize, String)>,
}

struct Launch<'a> {
    kernel: &'a str,
    /// Grid, block and, perhaps, bytes of shared memory.
    shape: Vec<&'a str>,
    args: Vec<&'a str>,
}

/// Parts between commas that are not within parentheses.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0;
    list.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|p| !p.is_empty())
    .collect()
}

fn launch(text: &str) -> Launch<'_> {
    let (kernel, rest) = text.split_once("<<<").expect("<<< in a launch");
    let (shape, args) = rest.split_once(">>>").expect(">>> in a launch");
    let args = args
        .trim()
        .strip_prefix('(')
        .and_then(|a| a.strip_suffix(')'));
    Launch {
        kernel: kernel.trim(),
        shape: parts(shape),
        args: parts(args.expect("arguments in parentheses")),
    }
}

impl Case {
    fn launches(&self) -> Vec<Launch<'_>> {
        self.run.split(';').map(launch).collect()
    }

    fn name(&self) -> String {
        format!("{} {}", self.file_name(), self.launches()[0].kernel)
    }

    fn file_name(&self) -> String {
        let name = self.file.file_name().expect("a file");
        name.to_string_lossy().into_owned()
    }

    fn workload(&self) -> String {
        let launches = self.launches();
        let mut text = format!(
            "source = '{}'\nflags = ['-std=c++17']\n[sizes]\nn = 256\n",
            self.file.display()
        );
        for (name, lines) in BUFFERS {
            if launches.iter().any(|l| l.args.contains(&name)) {
                let _ = writeln!(text, "[[buffer]]\nname = '{name}'\nlen = 'n'\n{lines}");
            }
        }
        let list = |extents: &str| format!("[{}]", extents.trim_matches(['(', ')']));
        for l in launches {
            let args: Vec<String> = l.args.iter().map(|a| argument(a)).collect();
            let _ = writeln!(
                text,
                "[[launch]]\nkernel = '{}'\ngrid = {}\nblock = {}\nargs = [{}]",
                l.kernel,
                list(l.shape[0]),
                list(l.shape[1]),
                args.join(", ")
            );
            if let Some(bytes) = l.shape.get(2) {
                let _ = writeln!(text, "shared = {bytes}");
            }
        }
        text
    }
}

fn argument(a: &str) -> String {
    match a.strip_prefix('{').and_then(|a| a.strip_suffix('}')) {
        Some(fields) => {
            let fields: Vec<&str> = fields.split_whitespace().collect();
            format!("{{ struct = [{}] }}", fields.join(", "))
        }
        None => format!("'{a}'"),
    }
}

/// The kernels of the files whose names begin so.
fn corpus(prefix: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memcheck");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "cu"))
        .filter(|p| (p.file_name()).is_some_and(|n| n.to_string_lossy().starts_with(prefix)))
        .collect();
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(run) = line.strip_prefix("// RUN ") {
                cases.push(Case {
                    file: file.clone(),
                    run: run.to_owned(),
                    faults: Vec::new(),
                });
            }
            if let Some((_, kind)) = line.split_once("// FAULT ") {
                let case = cases.last_mut().expect("RUN before FAULT");
                case.faults.push((number, kind.trim().to_owned()));
            }
        }
    }
    cases
}

/// Exit status, and everything that was said.
struct Said {
    code: Option<i32>,
    text: String,
}

fn memcheck(folder: &Path, number: usize, case: &Case) -> Said {
    let path = folder.join(format!("w{number}.toml"));
    std::fs::write(&path, case.workload()).expect("a workload");
    let o = Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(["run", "--quiet", "--memcheck"])
        .arg(&path)
        .env("KERF_CACHE", folder.join("cache"))
        .output()
        .expect("kerf runs");
    let mut text = String::from_utf8_lossy(&o.stdout).into_owned();
    text += &String::from_utf8_lossy(&o.stderr);
    Said {
        code: o.status.code(),
        text,
    }
}

/// What is wrong with what was said of a kernel with a defect.
fn missed(case: &Case, said: &Said) -> Option<String> {
    let Some((_, kind)) = case.faults.first() else {
        return Some("no line is marked".into());
    };
    if matches!(said.code, None | Some(0)) {
        return Some(format!("exit status {:?}, expected an error", said.code));
    }
    if !wording(kind).iter().any(|w| said.text.contains(w)) {
        return Some(format!("nothing is said of the kind {kind}"));
    }
    let mut lines = case.faults.iter().map(|(line, _)| *line);
    lines
        .find(|line| !names(&said.text, &case.file_name(), *line))
        .map(|line| format!("line {line} is not named"))
}

/// Is a line of a file named, with or without its column?
fn names(text: &str, file: &str, line: usize) -> bool {
    let place = format!("{file}:{line}");
    text.match_indices(&place)
        .any(|(at, _)| !text[at + place.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// What is wrong with what was said of a correct kernel.
fn accused(case: &Case, said: &Said) -> Option<String> {
    assert!(
        case.faults.is_empty(),
        "{}: FAULT in a correct kernel",
        case.name()
    );
    (said.code != Some(0)).then(|| format!("exit status {:?}, expected 0", said.code))
}

/// Runs all of them, and fails with a list of those that a judgement finds wrong.
fn all(prefix: &str, judge: fn(&Case, &Said) -> Option<String>) {
    let cases = corpus(prefix);
    assert!(cases.len() >= KERNELS, "too few kernels in {prefix}*.cu");
    let folder = tempfile::tempdir().expect("a folder");
    let mut list = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let said = memcheck(folder.path(), number, case);
        if let Some(why) = judge(case, &said) {
            let text = said.text.trim().replace('\n', "\n    ");
            list.push(format!("{}: {why}\n    {text}", case.name()));
        }
    }
    assert!(
        list.is_empty(),
        "{} of {} kernels:\n{}",
        list.len(),
        cases.len(),
        list.join("\n")
    );
}

#[test]
fn defects_are_found_at_their_place() {
    all("faulty_", missed);
}

#[test]
fn correct_kernels_are_not_accused() {
    all("correct_", accused);
}
