//! Completions, manual pages, and what `--quiet` silences.
use std::process::{Command, Output, Stdio};

fn kerf(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .output()
        .expect("the program should start")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Words that people complete, and some that only Kerf itself says.
const SHOWN: [&str; 6] = [
    "tune",
    "explain",
    "hardround",
    "--tolerance",
    "--memcheck",
    "--quiet",
];
const HIDDEN: [&str; 4] = ["sweep-worker", "launch-table", "--unguarded", "relay"];

#[test]
fn completions_know_the_commands_and_not_the_hidden_ones() {
    for shell in ["bash", "zsh", "fish"] {
        let o = kerf(&["completions", shell]);
        assert!(o.status.success(), "{shell}");
        let t = text(&o.stdout);
        // Fish writes options without their dashes.
        let word = |w: &str| w.trim_start_matches('-').to_owned();
        for w in SHOWN {
            assert!(t.contains(&word(w)), "{shell}: {w}");
        }
        for w in HIDDEN {
            assert!(!t.contains(&word(w)), "{shell}: {w}");
        }
    }
    let o = kerf(&["completions", "tcsh"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("[possible values: bash, zsh, fish]"));
}

#[test]
fn bash_takes_its_completions() {
    let script = text(&kerf(&["completions", "bash"]).stdout);
    let asked = format!(
        "{script}\nCOMP_WORDS=(kerf tune --toler); COMP_CWORD=2; _kerf kerf --toler tune; echo \"${{COMPREPLY[@]}}\""
    );
    // More than an argument may have.
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    std::io::Write::write_all(&mut file, asked.as_bytes()).expect("written");
    let o = Command::new("bash")
        .arg("--norc")
        .arg(file.path())
        .stdin(Stdio::null())
        .output()
        .expect("bash");
    assert_eq!(text(&o.stdout).trim(), "--tolerance", "{}", text(&o.stderr));
}

#[test]
fn every_command_has_a_manual_page() {
    let one = text(&kerf(&["man"]).stdout);
    assert!(one.starts_with(".ie") && one.contains(".SH NAME"), "{one}");
    let dir = tempfile::tempdir().expect("a folder");
    let to = dir.path().join("man1");
    let o = kerf(&["man", "--out", to.to_str().expect("a path")]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    let page = |name: &str| std::fs::read_to_string(to.join(name)).expect(name);
    assert!(page("kerf.1").contains("kerf\\-tune"));
    assert!(page("kerf-tune.1").contains("\\-\\-tolerance"));
    assert!(!to.join("kerf-relay.1").exists());
    let o = kerf(&["man", "--out", "/dev/null/x"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("--out"));
}

#[test]
fn quiet_silences_progress_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("k.cu");
    let code = "__global__ void k(const double *x, double *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = exp(x[i]); }\n";
    std::fs::write(&source, code).expect("written");
    let run = |args: &[&str]| {
        let o = Command::new(env!("CARGO_BIN_EXE_kerf"))
            .args(args)
            .current_dir(dir.path())
            .output()
            .expect("the program should start");
        (text(&o.stdout), text(&o.stderr), o.status.code())
    };
    let (out, err, code) = run(&["--quiet", "init", "k.cu"]);
    assert_eq!(
        (out.as_str(), err.as_str(), code),
        ("k.toml\n", "", Some(0))
    );
    let tune = |more: &[&str]| {
        let common = ["tune", "k.toml", "--tolerance", "1e-5", "--size", "n=256"];
        let little = ["--what", "precision", "--budget", "2", "--validate", "2"];
        run(&[&common[..], &little, more].concat())
    };
    let (out, err, code) = tune(&["--quiet", "--out", "a"]);
    assert_eq!((err.as_str(), code), ("", Some(0)));
    assert!(out.contains("evaluations to search"), "{out}");
    let (_, err, _) = tune(&["--out", "b"]);
    assert!(err.contains("search 1 of 2"), "{err}");
    // Where lines are not overwritten, none of them moves the cursor.
    assert!(!err.contains(['\r', '\x1b']), "{err:?}");
    let (_, err, code) = tune(&["--quiet", "--out", "a"]);
    assert_eq!(code, Some(2));
    assert!(err.starts_with("error: "), "{err}");
}
