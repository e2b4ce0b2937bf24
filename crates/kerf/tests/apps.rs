//! Whole applications: compiled by `kerf cc`, run on the CPU, tuned and recorded, through the program.
#[path = "apps/libraries.rs"]
mod libraries;
#[path = "apps/replays.rs"]
mod replays;
#[path = "apps/searched.rs"]
mod searched;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn kerf() -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
    c.env("NO_COLOR", "1").env_remove("KERF_PLAN");
    c
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps")
}

fn text(o: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr)
    )
}

/// Compiles a source of this folder.
fn build(dir: &Path, name: &str) -> PathBuf {
    let out = dir.join(name);
    let r = kerf()
        .args(["cc", "-O1", "-o"])
        .arg(&out)
        .arg(sources().join(format!("{name}.cu")))
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    out
}

fn run(app: &Path, args: &[&str]) -> Output {
    Command::new(app)
        .args(args)
        .env("KERF_DEVICE", "cpu")
        .output()
        .expect("the application runs")
}

#[test]
fn an_application_calls_most_of_the_runtime() {
    let dir = tempfile::tempdir().expect("a folder");
    let r = run(&build(dir.path(), "whole"), &[]);
    assert!(r.status.success(), "{}", text(&r));
    assert!(text(&r).contains("device says 42\nPASS"), "{}", text(&r));
}

#[test]
fn files_are_compiled_apart_and_linked_by_make() {
    let dir = tempfile::tempdir().expect("a folder");
    for f in std::fs::read_dir(sources().join("separate")).expect("sources") {
        let f = f.expect("a file").path();
        std::fs::copy(&f, dir.path().join(f.file_name().expect("a name"))).expect("copied");
    }
    let r = Command::new("make")
        .arg(format!("NVCC={} cc", env!("CARGO_BIN_EXE_kerf")))
        .current_dir(dir.path())
        .output()
        .expect("make runs");
    assert!(r.status.success(), "{}", text(&r));
    let depends = std::fs::read_to_string(dir.path().join("kernel.d")).expect("dependencies");
    assert!(
        depends.contains("kernel.o:") && depends.contains("shared.h"),
        "{depends}"
    );
    let r = run(&dir.path().join("app"), &[]);
    assert_eq!(
        String::from_utf8_lossy(&r.stdout),
        "13 77 PASS\n",
        "{}",
        text(&r)
    );
}

#[test]
fn programs_keep_the_habits_that_nvcc_allows() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("habits");
    // By nvcc's name, as build systems look for it.
    let nvcc = dir.path().join("nvcc");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kerf"), &nvcc).expect("a link");
    let r = Command::new(&nvcc)
        .args(["-std=c++17", "-arch=sm_70", "-Xptxas=-v", "-o"])
        .arg(&out)
        .arg(sources().join("habits.cu"))
        .args(["-lnvToolsExt", "-lcudart"])
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    let r = run(&out, &[]);
    assert_eq!(String::from_utf8_lossy(&r.stdout), "PASS\n", "{}", text(&r));
}

/// Where the device code of a program without others' lies in its binary.
fn blob(bytes: &[u8]) -> usize {
    let magic = b"KERFBLOB";
    let found = bytes.windows(magic.len()).position(|w| w == magic);
    found.expect("the program has device code")
}

#[test]
fn programs_start_with_the_code_that_the_compiler_made() {
    use kerf_ir::blob::{ImageKind, read, read_kept};
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "tiny");
    let mut bytes = std::fs::read(&app).expect("the program");
    let at = blob(&bytes);
    let b = read(&bytes[at..]).expect("device code");
    let (kept, _) = read_kept(b.kept).expect("code is kept");
    let kinds: Vec<ImageKind> = kept.images.iter().map(|i| i.kind).collect();
    assert!(kinds.contains(&ImageKind::Host), "{kinds:?}");
    assert!(kinds.contains(&ImageKind::Ptx), "{kinds:?}");
    assert_eq!(kept.kernels.len(), 2);
    // The code does what the bitcode does.
    let compiled = |app: &Path| {
        Command::new(app)
            .env("KERF_DEVICE", "cpu")
            .env("KERF_COMPILE", "1")
            .output()
            .expect("the application runs")
    };
    let (with, without) = (run(&app, &[]), compiled(&app));
    assert!(with.status.success(), "{}", text(&with));
    assert_eq!(with.stdout, without.stdout);
    // Without its bitcode the program still runs, but cannot compile.
    let start = at + (b.bitcode.as_ptr() as usize - bytes[at..].as_ptr() as usize);
    let end = start + b.bitcode.len();
    bytes[start..end].fill(0);
    let broken = dir.path().join("broken");
    std::fs::write(&broken, bytes).expect("written");
    std::fs::set_permissions(
        &broken,
        std::fs::metadata(&app).expect("it is there").permissions(),
    )
    .expect("it may run");
    assert_eq!(run(&broken, &[]).stdout, with.stdout);
    assert_ne!(compiled(&broken).stdout, with.stdout);
}

#[test]
fn another_linker_finds_the_runtime_by_cudas_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let object = dir.path().join("tiny.o");
    let r = kerf()
        .args(["cc", "-c", "-o"])
        .arg(&object)
        .arg(sources().join("tiny.cu"))
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    let r = kerf()
        .args(["cc", "-print-libdir"])
        .output()
        .expect("kerf runs");
    let libraries = String::from_utf8_lossy(&r.stdout).trim().to_owned();
    let app = dir.path().join("app");
    let r = Command::new("g++")
        .arg(&object)
        .arg(format!("-L{libraries}"))
        .args(["-lcudart", "-o"])
        .arg(&app)
        .output()
        .expect("g++ runs");
    assert!(r.status.success(), "{}", text(&r));
    let r = run(&app, &[]);
    assert!(text(&r).starts_with("sum "), "{}", text(&r));
}

#[test]
fn blocks_of_a_cooperative_grid_wait_for_each_other() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "grid");
    let r = run(&app, &[]);
    assert_eq!(
        String::from_utf8_lossy(&r.stdout),
        "cooperative 1, 0 wrong\nPASS\n",
        "{}",
        text(&r)
    );
    // A block that returns never arrives; the others are told so, at once.
    let r = run(&app, &["leave"]);
    assert!(text(&r).contains("deadlocked"), "{}", text(&r));
    assert!(
        String::from_utf8_lossy(&r.stdout).contains("left: cudaErrorLaunch"),
        "{}",
        text(&r)
    );
}

#[test]
fn warps_are_in_step_where_old_programs_count_on_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "steps");
    assert_eq!(text(&run(&app, &[])), "PASS\n");
    // The checker has nothing to say of warps in step; of the lanes that give 0 to a shuffle without taking part it has.
    let r = Command::new(&app)
        .env("KERF_DEVICE", "cpu")
        .env("KERF_MEMCHECK", "1")
        .output()
        .expect("the application runs");
    let said = text(&r);
    let notes: Vec<&str> = said.lines().filter(|l| *l != "PASS").collect();
    assert!(said.contains("PASS\n") && r.status.success(), "{said}");
    assert!(
        matches!(notes[..], [n] if n.contains("steps.cu:31:39 reads lane 16, which takes no part")),
        "{said}"
    );
}

#[test]
fn reads_that_only_the_optimiser_makes_are_no_races() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "speculated");
    let r = Command::new(&app)
        .env("KERF_DEVICE", "cpu")
        .env("KERF_MEMCHECK", "1")
        .output()
        .expect("the application runs");
    assert_eq!(text(&r), "PASS\n");
}

#[test]
fn launches_of_several_files_are_checked_together() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = dir.path().join("units");
    let r = kerf()
        .args(["cc", "-o"])
        .arg(&app)
        .args(["first.cu", "second.cu"].map(|f| sources().join("units").join(f)))
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    let checked = |args: &[&str]| {
        let mut c = Command::new(&app);
        let c = c.args(args).env("KERF_DEVICE", "cpu");
        text(&c.env("KERF_MEMCHECK", "1").output().expect("it runs"))
    };
    assert_eq!(checked(&[]), "PASS\n");
    let said = checked(&["half"]);
    assert!(
        said.contains("reversed, block (0, 0, 0)") && said.contains("second.cu:5:11 reads memory"),
        "{said}"
    );
}

#[test]
fn host_threads_by_openmp_launch_kernels() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("openmp");
    let r = kerf()
        .args(["cc", "-Xcompiler", "-fopenmp", "-o"])
        .arg(&out)
        .arg(sources().join("openmp.cu"))
        .arg("-lgomp")
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    // Without LLVM's OpenMP there is one thread, and a note that says what to install.
    let want = match text(&r).contains("libomp-22-dev") {
        true => "1 threads PASS\n",
        false => "4 threads PASS\n",
    };
    let r = run(&out, &[]);
    assert_eq!(String::from_utf8_lossy(&r.stdout), want, "{}", text(&r));
}

#[test]
fn what_fails_on_the_device_is_an_error_and_what_is_missing_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "faults");
    for (how, error, said) in [
        ("assert", "cudaErrorAssert", "assertion `n > 100` failed"),
        ("trap", "cudaErrorLaunchFailure", "trapped"),
        (
            "null",
            "700 cudaErrorIllegalAddress",
            "stores, block (0, 0, 0): illegal memory access: store to address 0x0, a null pointer; --memcheck (in an application, KERF_MEMCHECK=1)",
        ),
        (
            "recursion",
            "cudaErrorHardwareStackError",
            "the recursion may have no end",
        ),
        (
            "graph",
            "cudaErrorNotSupported",
            "cudaGraphCreate is not supported",
        ),
        (
            "texture",
            "cudaErrorNotSupported",
            "cudaCreateTextureObject is not supported",
        ),
    ] {
        let r = run(&app, &[how]);
        assert!(r.status.success(), "{how}: {}", text(&r));
        assert!(
            text(&r).contains(error) && text(&r).contains(said),
            "{how}: {}",
            text(&r)
        );
    }
    let refused = |args: &[&str]| {
        let r = kerf().arg("cc").args(args).output().expect("kerf runs");
        assert_eq!(r.status.code(), Some(2), "{}", text(&r));
        text(&r)
    };
    let source = sources().join("faults.cu").display().to_string();
    // Named by the Makefile only: a note.
    let out = dir.path().join("linked").display().to_string();
    let r = kerf().args(["cc", &source, "-lcudnn", "-o", &out]).output();
    let r = r.expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    assert!(text(&r).contains("cuDNN is not supported"), "{}", text(&r));
    assert!(refused(&["missing.cu"]).contains("missing.cu"));
    let bad = dir.path().join("bad.cu");
    std::fs::write(&bad, "#include <cufft.h>\nint main() {}\n").expect("written");
    assert!(refused(&[&bad.display().to_string()]).contains("cuFFT"));
    let nested = "__global__ void a() {}\n__global__ void b() { a<<<1, 1>>>(); }\nint main() {}\n";
    std::fs::write(&bad, nested).expect("written");
    assert!(refused(&[&bad.display().to_string()]).contains("dynamic parallelism"));
}

/// `kerf tune --app` in a folder.
fn tune(dir: &Path, app: &str, more: &[&str]) -> Output {
    let unless = |given: [&'static str; 2]| match more.contains(&given[0]) {
        true => Vec::new(),
        false => given.to_vec(),
    };
    kerf()
        .args(["tune", "--app", app])
        .args(unless(["--tolerance", "1e-5"]))
        .args(unless(["--budget", "6"]))
        .args(unless(["--out", "out"]))
        .args(more)
        .current_dir(dir)
        .output()
        .expect("kerf runs")
}

#[test]
fn an_application_is_tuned_and_recorded() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "tiny");
    let r = tune(
        dir.path(),
        "./tiny",
        &[
            "--kernels",
            "series,shift",
            "--local",
            "--what",
            "precision",
            "--format",
            "json",
        ],
    );
    assert!(r.status.success(), "{}", text(&r));
    let v: serde_json::Value = serde_json::from_slice(&r.stdout).expect("JSON");
    assert_eq!(v["verdict"], "tuned", "{v:#}");
    assert_eq!(v["numbers"], 2048, "the copy is seen as doubles: {v:#}");
    let error = v["error"].as_f64().expect("an error");
    assert!(error > 0.0 && error <= 1e-5, "{error}");
    assert!(v["speedup"].as_f64().expect("a time") > 1.0);
    // Not by this processor's time: what counts is where the kernels are to run.
    let by = v["kernels_by"].as_str().expect("what parts are of");
    assert!(by.starts_with("time predicted for"), "{by}");
    let buffers = v["groups"].as_array().expect("groups");
    let held = |g: &serde_json::Value| {
        g[0].as_str().is_some_and(|n| n.starts_with("buffer")) && g[1] == "f32"
    };
    assert!(
        buffers.iter().any(held),
        "an allocation is held in f32: {v:#}"
    );
    let alone = v["local"]["kernels"].as_array().expect("kernels alone");
    assert_eq!(alone.len(), 2, "{v:#}");
    assert_eq!(v["local"]["within"], true, "{v:#}");
    // The plan does what the result says, without the tuner.
    let plain = run(&dir.path().join("tiny"), &[]);
    let planned = Command::new(dir.path().join("tiny"))
        .env("KERF_PLAN", dir.path().join("out/plan.json"))
        .output()
        .expect("runs");
    assert!(planned.status.success());
    assert_ne!(plain.stdout, planned.stdout);
    // By a pattern and by a file, and that a search goes on.
    let r = tune(dir.path(), "./tiny", &["--stdout-pattern", r"sum (\S+)"]);
    assert_eq!(r.status.code(), Some(2), "{}", text(&r));
    assert!(text(&r).contains("--resume"), "{}", text(&r));
    for more in [
        ["--stdout-pattern", r"sum (\S+)", "--out", "by-pattern"],
        ["--output-file", "y.txt", "--out", "by-file"],
    ] {
        let r = kerf()
            .args([
                "tune",
                "--strategy",
                "ampt-ga-no-first",
                "--app",
                "./tiny x y.txt",
                "--tolerance",
                "1e-5",
                "--budget",
                "2",
            ])
            .args(more)
            .current_dir(dir.path())
            .output()
            .expect("kerf runs");
        assert!(r.status.success(), "{}", text(&r));
    }
    // A launch as a workload, which gives what the application gave.
    let r = kerf()
        .args(["record", "--out", "rec", "--", "./tiny"])
        .current_dir(dir.path())
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
    let r = kerf()
        .args([
            "run",
            "rec/series-0.toml",
            "--save",
            "saved",
            "--format",
            "json",
        ])
        .current_dir(dir.path())
        .output()
        .expect("kerf runs");
    assert!(r.status.success(), "{}", text(&r));
}

#[test]
fn applications_that_cannot_be_tuned_are_told_why() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "tiny");
    for (app, more, said) in [
        ("./tiny fail", &[][..], "no such input"),
        (
            "./tiny hang",
            &["--timeout", "1"][..],
            "did not end within 1 s",
        ),
        ("./tiny noisy", &[][..], "changes from run to run"),
        ("./tiny clock", &[][..], "changes from run to run"),
        (
            "./tiny",
            &["--stdout-pattern", "energy (.*)"][..],
            "nothing in the application's output matches",
        ),
        (
            "./tiny",
            &["--kernels", "serie"][..],
            "launches no kernel `serie`",
        ),
        ("true", &[][..], "no call of Kerf's runtime"),
        ("./tiny", &["--output-file", "none.txt"][..], "none.txt"),
    ] {
        let r = tune(dir.path(), app, more);
        assert_eq!(r.status.code(), Some(2), "{app}: {}", text(&r));
        let t = text(&r);
        assert!(
            t.contains(said) && t.contains("elp: ") | t.contains("it launches"),
            "{app}: {t}"
        );
    }
}

#[test]
fn values_near_zero_do_not_decide_on_an_application() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "faint");
    let tuned = |more: &[&str]| -> serde_json::Value {
        // By the static score, to which operations are all that counts.
        let formats = ["--what", "precision", "--cost", "static"];
        let r = tune(dir.path(), "./faint", &[more, &formats].concat());
        assert!(r.status.success(), "{}", text(&r));
        serde_json::from_slice(&r.stdout).expect("JSON")
    };
    let by_scale = tuned(&["--format", "json"]);
    assert_eq!(by_scale["verdict"], "tuned", "{by_scale:#}");
    assert_eq!(by_scale["metric"], "rel_linf", "{by_scale:#}");
    let array = &by_scale["arrays"][0];
    assert_eq!(array["name"], "allocation #2", "{by_scale:#}");
    assert_eq!(array["scale"], 1.0, "{by_scale:#}");
    // Relative to each value, the product has to stay as it is.
    let each = tuned(&["--format", "json", "--metric", "max_rel", "--out", "each"]);
    let speedup = |v: &serde_json::Value| v["speedup"].as_f64().expect("a time");
    assert!(
        speedup(&by_scale) > 1.5 * speedup(&each),
        "{by_scale:#}{each:#}"
    );
}

/// The result of `kerf tune --app` that succeeds.
fn result(dir: &Path, app: &str, more: &[&str]) -> serde_json::Value {
    let more: Vec<&str> = more.iter().copied().chain(["--format", "json"]).collect();
    let r = tune(dir, app, &more);
    assert!(r.status.success(), "{}", text(&r));
    serde_json::from_slice(&r.stdout).expect("JSON")
}

#[test]
fn a_program_that_dies_is_not_taken_for_a_foreign_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let said = |script: &str| {
        let o = kerf()
            .args(["record", "--out", "r", "--", "sh", "-c", script])
            .current_dir(dir.path())
            .output()
            .expect("kerf starts");
        assert!(!o.status.success());
        text(&o)
    };
    let died = said("kill -6 $$");
    assert!(died.contains("did not get to its end"), "{died}");
    assert!(said("true").contains("made no call of Kerf's runtime"));
}

#[test]
fn kernels_under_a_plan_see_the_constants_that_the_program_fills() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "constants");
    let plain = run(&app, &[]);
    assert_eq!(text(&plain), "1.4 0.25 3.5\n");
    let plan = dir.path().join("plan.json");
    let held = r#"{"version":1,"kernels":{"_Z4fillPd":{"storage":{"to":"f32"}}}}"#;
    std::fs::write(&plan, held).expect("written");
    let buffers = r#"{"allocations":{"1":"f32"}}"#;
    std::fs::write(dir.path().join("buffers.json"), buffers).expect("written");
    let planned = Command::new(&app)
        .env("KERF_DEVICE", "cpu")
        .env("KERF_PLAN", &plan)
        .output()
        .expect("runs");
    // 1.4 is no float.
    assert_eq!(text(&planned), "1.3999999762 0.25 3.5\n");
}
