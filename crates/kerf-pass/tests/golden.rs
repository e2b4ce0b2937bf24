//! Golden files: small modules, a plan or a pass for each, and the IR that comes out.
//!
//! `ir/NAME.ll` is a module whose first line says what is done to it: `; plan: JSON` carries a plan out, `; pass: NAME` runs one
//! of [`PASSES`]. `ir/NAME.out` is what becomes of its functions and variables, without metadata and attributes. A change of
//! what a pass builds is looked at in the difference of these files, which BLESS=1 writes anew.
use kerf_llvm::{LlvmError, Module, Value};
use kerf_pass::Plan;
use kerf_pass::count::{CountDevice, Detail};
use kerf_pass::shadow::ShadowRuntime;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A pass on a module with a kernel `k`.
type Pass = fn(&Module) -> Result<(), LlvmError>;

/// Passes that no plan asks for.
const PASSES: [(&str, Pass); 4] = [
    ("clip grid", |m| {
        let k = m.function("k").expect("a kernel k");
        kerf_pass::clip_grid::clip(m, k, false)
    }),
    ("count", |m| {
        kerf_pass::count::instrument(m, Detail::Values, CountDevice::Cpu).map(|_| ())
    }),
    ("shadow", |m| {
        kerf_pass::shadow::instrument(m, ShadowRuntime::Host).map(|_| ())
    }),
    ("sanitize", kerf_pass::sanitize::instrument),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir")
}

/// Names of the files of an extension, sorted.
fn names(extension: &str) -> BTreeSet<String> {
    let all = std::fs::read_dir(folder()).expect("tests/ir");
    let paths = all.map(|e| e.expect("an entry").path());
    paths
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .map(|p| {
            p.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

/// Does what the first line of a file says.
fn carry_out(m: &Module, name: &str, head: &str) {
    let what = head.strip_prefix("; ").and_then(|h| h.split_once(": "));
    match what {
        Some(("plan", json)) => {
            let plan = Plan::parse(json).unwrap_or_else(|e| panic!("{name}: {e}"));
            plan.apply(m).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        Some(("pass", word)) => {
            let pass = PASSES.iter().find(|p| p.0 == word);
            let pass = pass.unwrap_or_else(|| panic!("{name}: no pass {word}")).1;
            pass(m).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        _ => panic!("{name}: its first line is no `; plan: JSON` or `; pass: NAME`"),
    }
}

/// A line without what numbers metadata and attributes.
fn plain(line: &str) -> String {
    let line = line.split_once(" ; preds").map_or(line, |l| l.0);
    let mut words: Vec<&str> = Vec::new();
    for w in line.split(' ') {
        let number = w.trim_start_matches(['#', '!']).trim_end_matches(',');
        let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        match w.as_bytes().first() {
            // An attachment's name stands before its number.
            Some(b'!') if numbered => drop(words.pop()),
            Some(b'#') if numbered => {}
            _ => words.push(w),
        }
    }
    words.join(" ").trim_end().trim_end_matches(',').to_owned()
}

fn printed(v: Value) -> String {
    let text = v.print();
    let lines = text.lines().filter(|l| !l.starts_with("; Function Attrs"));
    lines.map(|l| plain(l) + "\n").collect()
}

fn names_of(all: Vec<Value>) -> BTreeSet<String> {
    let defined = all.into_iter().filter(|v| !v.is_declaration());
    defined.map(|v| v.name()).collect()
}

/// What a file's module becomes: variables that are new or have another type, then the functions that it has, and copies of
/// them.
fn become_of(name: &str, text: &str) -> String {
    let m = Module::parse(text.as_bytes(), "k.ll").unwrap_or_else(|e| panic!("{name}: {e}"));
    let (functions, variables) = (names_of(m.functions()), m.globals());
    let before: BTreeSet<String> = variables.into_iter().map(printed).collect();
    carry_out(&m, name, text.lines().next().unwrap_or_default());
    m.verify().unwrap_or_else(|e| panic!("{name}: {e}"));
    let changed = m.globals().into_iter().map(printed);
    let mut out: Vec<String> = changed.filter(|g| !before.contains(g)).collect();
    let own = |f: &Value| {
        let name = f.name();
        let rest = |n: &String| name.strip_prefix(n.as_str()).map(str::to_owned);
        let mut all = functions.iter().filter_map(rest);
        all.any(|r| r.is_empty() || r.starts_with('.'))
    };
    let after = m.functions().into_iter();
    out.extend(after.filter(|f| !f.is_declaration() && own(f)).map(printed));
    out.join("\n")
}

/// The first line that differs, with the lines before it.
fn difference(expected: &str, got: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    let at = (0..a.len().max(b.len())).find(|k| a.get(*k) != b.get(*k));
    let at = at.unwrap_or(0);
    let before = a[at.saturating_sub(2).min(a.len())..at.min(a.len())].join("\n");
    let line = |all: &[&str]| all.get(at).copied().unwrap_or("(the end)").to_owned();
    format!("line {}:\n{before}\n- {}\n+ {}", at + 1, line(&a), line(&b))
}

#[test]
fn modules_become_what_the_files_say() {
    let bless = std::env::var_os("BLESS").is_some_and(|b| b == "1");
    let inputs = names("ll");
    assert!(inputs.len() >= 15, "tests/ir has lost files: {inputs:?}");
    let mut wrong = Vec::new();
    for name in &inputs {
        let text = std::fs::read_to_string(folder().join(format!("{name}.ll"))).expect("reads");
        let got = become_of(name, &text);
        let path = folder().join(format!("{name}.out"));
        if bless {
            std::fs::write(&path, &got).expect("writes");
            continue;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if expected != got {
            wrong.push(format!(
                "tests/ir/{name}.out, {}",
                difference(&expected, &got)
            ));
        }
    }
    let outputs = names("out");
    let left: Vec<&String> = outputs.difference(&inputs).collect();
    assert!(left.is_empty(), "files without a module: {left:?}");
    assert!(
        wrong.is_empty(),
        "{}\nWhere that is what was meant, BLESS=1 cargo test -p kerf-pass --test all golden writes the files anew.",
        wrong.join("\n\n")
    );
}

#[test]
fn numbers_of_metadata_are_left_out() {
    for (line, expected) in [
        (
            "  %x = load float, ptr %p, align 4, !dbg !12, !tbaa !3",
            "  %x = load float, ptr %p, align 4",
        ),
        ("define void @k() #0 !dbg !7 {", "define void @k() {"),
        ("b:                    ; preds = %a, %c", "b:"),
        (
            "  %y = call double @f(double %x) #2",
            "  %y = call double @f(double %x)",
        ),
        ("  ret void", "  ret void"),
    ] {
        assert_eq!(plain(line), expected);
    }
}
