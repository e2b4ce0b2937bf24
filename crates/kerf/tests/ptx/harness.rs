//! Running the program, and examples whose source is their PTX.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn kerf(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .current_dir(dir)
        .env(
            "KERF_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .expect("kerf runs")
}

pub fn text(o: &Output) -> String {
    let both = [&o.stdout[..], &o.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Runs the program, which must succeed; what it printed.
pub fn printed(dir: &Path, args: &[&str]) -> String {
    let o = kerf(dir, args);
    assert!(o.status.success(), "{args:?}: {}", text(&o));
    String::from_utf8_lossy(&o.stdout).into_owned()
}

pub fn example(folder: &str, file: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    root.join(folder).join(file)
}

/// Writes the PTX of an example, and its workload file with that as the source.
pub fn as_ptx(dir: &Path, folder: &str, workload: &str, source: &str, flags: &[&str]) {
    let source = example(folder, source).display().to_string();
    let mut args = vec!["inspect", &source, "--emit", "ptx", "--"];
    args.extend(flags);
    let ptx = printed(dir, &args);
    std::fs::write(dir.join("k.ptx"), ptx).expect("writes");
    let file = std::fs::read_to_string(example(folder, workload)).expect("it is there");
    let lines = file.lines().map(|l| match l.split_once('=') {
        Some((key, _)) if key.trim() == "source" => "source = \"k.ptx\"",
        Some((key, _)) if key.trim() == "flags" => "",
        _ => l,
    });
    let text: Vec<&str> = lines.collect();
    std::fs::write(dir.join("k.toml"), text.join("\n")).expect("writes");
}
