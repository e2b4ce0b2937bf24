//! Ranks of mpirun on this machine do every unit once, also when one of them is killed.
//!
//! The program starts itself under mpirun: without a folder in `FOLDER` it is the test, with one it is a rank. So it
//! has no harness of Rust's own.
use kerf_cluster::{ClusterError, Reply, UnitRanges, coordinate, join, ranks};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The environment variable with the folder that a rank writes to.
const FOLDER: &str = "KERF_CLUSTER_TEST_FOLDER";
/// The one with the number of the rank that kills itself.
const VICTIM: &str = "KERF_CLUSTER_TEST_VICTIM";
/// Ranks, the coordinator among them.
const RANKS: usize = 3;
/// Units of work.
const UNITS: u64 = 60;
/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        rank(&PathBuf::from(folder));
        return;
    }
    let tests: [(&str, fn()); 2] = [
        ("ranks_do_every_unit_once", || {
            run(None);
        }),
        ("a_killed_ranks_units_are_done_by_others", || {
            run(Some(1));
        }),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed", tests.len());
}

/// Starts the ranks, waits for them, and looks at what the coordinator wrote.
fn run(victim: Option<usize>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new("mpirun");
    command
        .args(["--oversubscribe", "--enable-recovery", "-n"])
        .arg(RANKS.to_string())
        .arg(std::env::current_exe().expect("this program"))
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env(FOLDER, folder.path())
        .stdout(Stdio::null());
    if let Some(v) = victim {
        command.env(VICTIM, v.to_string());
    }
    let mut child = command
        .spawn()
        .expect("mpirun should start: scripts/setup.sh --dev installs it");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("a child that can be killed");
            panic!("the ranks do not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let expected: String = (0..UNITS).map(|u| format!("{u} {}\n", u * u)).collect();
    assert_eq!(read("units"), expected);
    let again: Vec<u64> = read("again").lines().flat_map(str::parse).collect();
    match victim {
        None => {
            assert!(status.success(), "{status}");
            assert_eq!(again, [0u64; 0]);
        }
        // One was lost, with units that it had not handed back.
        Some(_) => assert!(again.len() == 1 && again[0] > 0, "{again:?}"),
    }
}

/// What a rank does: the first coordinates and works as well, the others work.
fn rank(folder: &Path) {
    let secret = kerf_cluster::secret().expect("random numbers");
    let me = ranks::meet(&secret, 1)
        .expect("MPI")
        .expect("more than one rank");
    assert_eq!((me.addresses.len(), me.here), (RANKS, RANKS));
    assert_eq!((me.local, me.sharing), (me.rank, RANKS));
    let victim = std::env::var(VICTIM).ok();
    let victim = victim.is_some_and(|v| v == me.rank.to_string());
    if me.rank > 0 {
        return work(&me.addresses[0], &me.token, victim).expect("work");
    }
    let plan = UnitRanges {
        token: me.token.clone(),
        units: std::iter::once(0..UNITS).collect(),
        chunk: 4,
        workers: RANKS,
    };
    let (mut done, mut again) = (BTreeMap::new(), Vec::new());
    std::thread::scope(|s| {
        s.spawn(|| work(&me.addresses[0], &me.token, false).expect("the coordinator's own work"));
        coordinate::<ClusterError>(
            me.listener,
            &plan,
            |line| {
                let (unit, value) = line.split_once(' ').expect("a unit and its value");
                let unit: u64 = unit.parse().expect("a number");
                assert_eq!(done.insert(unit, value.to_owned()), None, "{unit} again");
                Ok(unit)
            },
            |units| again.push(units),
            || true,
        )
        .expect("all units");
    });
    let lines: String = done.iter().map(|(u, v)| format!("{u} {v}\n")).collect();
    std::fs::write(folder.join("units"), lines).expect("a file");
    let lines: String = again.iter().map(|n| format!("{n}\n")).collect();
    std::fs::write(folder.join("again"), lines).expect("a file");
}

/// Does units; a victim hands one back and is killed at its second.
fn work(address: &str, token: &str, victim: bool) -> Result<(), ClusterError> {
    let mut done = 0;
    join(
        address,
        token,
        |range: std::ops::Range<u64>, reply: &Reply| {
            for u in range {
                if victim && done == 1 {
                    // SIGKILL, as a machine that goes away: nothing can be tidied up.
                    let me = std::process::id().to_string();
                    Command::new("kill")
                        .args(["-9", &me])
                        .status()
                        .expect("kill");
                    std::thread::sleep(PATIENCE);
                }
                // Long enough that each rank gets some.
                std::thread::sleep(Duration::from_millis(20));
                reply.line(&format!("{u} {}", u * u));
                done += 1;
            }
            Ok(())
        },
    )
}
