//! Ranks of mpirun: only in a kerf that is built for them (`cargo test -p kerf --features mpi mpi::`).
#![cfg(feature = "mpi")]
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn mpirun(ranks: &str, more: &[&str]) -> Command {
    let mut c = Command::new("mpirun");
    c.args(["--oversubscribe", "-n", ranks])
        .args(more)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    c
}

const SEARCH: [&str; 9] = [
    "hardround",
    "exp",
    "--from",
    "1",
    "--to",
    "0x1.002p+0",
    "--bits",
    "36",
    "--threads",
];

fn search(mut c: Command, out: &Path) -> Output {
    let out = out.to_str().expect("a name");
    let o = c.args(SEARCH).args(["1", "--out", out]).output();
    o.expect("it runs")
}

fn wait(mut c: Child, limit: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < limit {
        if c.try_wait().expect("a child").is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = c.kill();
    let _ = c.wait();
    false
}

#[test]
fn ranks_give_what_one_process_gives_also_when_one_is_killed() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |n: &str| dir.path().join(n);
    let kerf = env!("CARGO_BIN_EXE_kerf");
    let o = search(Command::new(kerf), &at("one.wc"));
    assert!(o.status.success(), "{o:?}");
    let one = std::fs::read_to_string(at("one.wc")).expect("a list");
    assert!(one.lines().count() > 50);
    let o = search(mpirun("3", &[kerf]), &at("three.wc"));
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    assert_eq!(
        std::fs::read_to_string(at("three.wc")).expect("a list"),
        one
    );
    // Rank 1 kills itself while it works.
    let script = at("rank.sh");
    let text = format!(
        "#!/bin/bash\nif [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then (sleep 2; kill -9 $$) & fi\nexec {kerf} \"$@\"\n"
    );
    std::fs::write(&script, text).expect("a file");
    let name = script.to_str().expect("a name");
    let lost = at("lost.wc");
    let child = mpirun("3", &["--enable-recovery", "bash", name])
        .args([
            "hardround",
            "exp",
            "--from",
            "1",
            "--to",
            "0x1.003p+0",
            "--bits",
            "38",
        ])
        .args(["--threads", "1", "--vectors", "scalar", "--out"])
        .arg(&lost)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("mpirun");
    assert!(wait(child, Duration::from_secs(110)), "it hangs");
    let mut alone = Command::new(kerf);
    alone.args([
        "hardround",
        "exp",
        "--from",
        "1",
        "--to",
        "0x1.003p+0",
        "--bits",
        "38",
        "--out",
    ]);
    assert!(
        alone
            .arg(at("alone.wc"))
            .output()
            .expect("it runs")
            .status
            .success()
    );
    let read = |n: &str| std::fs::read_to_string(at(n)).expect("a list");
    assert_eq!(read("lost.wc"), read("alone.wc"));
}
