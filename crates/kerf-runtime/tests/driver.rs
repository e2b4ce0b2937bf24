//! Programs of the driver API, with Kerf's libcuda.so.1 in place of NVIDIA's, on the CPU executor.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver")
}

/// The folder of the libraries that cargo has made for this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a program");
    test.parent().expect("a folder").to_owned()
}

/// Compiles the program, and makes the folder that it finds the driver in.
fn build(dir: &Path) -> PathBuf {
    let program = dir.join("calls");
    let r = Command::new("gcc")
        .args(["-O1", "-w", "-o"])
        .arg(&program)
        .arg(sources().join("calls.c"))
        .arg("-ldl")
        .output()
        .expect("gcc runs");
    assert!(r.status.success(), "{}", text(&r));
    let library = libraries().join("libkerfcuda.so");
    std::os::unix::fs::symlink(library, dir.join("libcuda.so.1")).expect("a link");
    program
}

fn text(o: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr)
    )
}

fn command(dir: &Path, program: &Path, ptx: &Path) -> Command {
    let mut c = Command::new(program);
    c.arg(ptx)
        .env("LD_LIBRARY_PATH", dir)
        .env("KERF_RUNTIME", libraries().join("libkerfrt.so"))
        .env("KERF_DEVICE", "cpu")
        .env("KERF_CACHE", dir.join("cache"))
        .env_remove("KERF_PLAN");
    c
}

#[test]
fn a_program_loads_ptx_and_fat_binaries_and_launches_their_kernels() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = build(dir.path());
    let r = command(dir.path(), &program, &sources().join("axpy.ptx")).output();
    let r = r.expect("the program runs");
    let said = text(&r);
    assert!(r.status.success(), "{said}");
    assert_eq!(said.matches("worst difference 0\n").count(), 4, "{said}");
    assert!(said.contains("same handle 1"), "{said}");
    assert!(said.contains("a variable of 8 bytes"), "{said}");
    assert!(said.contains("log: PTX: line 4, column"), "{said}");
    assert!(said.contains("CUDA_ERROR_INVALID_PTX"), "{said}");
    assert!(said.contains("machine code of a GPU"), "{said}");
}

#[test]
fn an_instruction_that_is_not_known_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = build(dir.path());
    let ptx = std::fs::read_to_string(sources().join("axpy.ptx")).expect("a file");
    let ptx = ptx.replace("mul.rn.f64 %fd4", "tcgen05.mul.f64 %fd4");
    let file = dir.path().join("other.ptx");
    std::fs::write(&file, ptx).expect("written");
    let r = command(dir.path(), &program, &file)
        .output()
        .expect("it runs");
    let said = text(&r);
    assert!(said.contains("cuModuleLoadData: 801"), "{said}");
    assert!(said.contains("tcgen05.mul.f64"), "{said}");
}

#[test]
fn plans_and_traces_mean_the_same_as_for_applications() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = build(dir.path());
    let plan = dir.path().join("plan.json");
    let sites: Vec<String> = (0..7).map(|i| format!("\"{i}\": \"f32\"")).collect();
    let kernels = format!("{{\"axpy\": {{\"sites\": {{{}}}}}}}", sites.join(", "));
    let text_of_plan = format!("{{\"version\": 1, \"kernels\": {kernels}}}");
    std::fs::write(&plan, text_of_plan).expect("written");
    let trace = dir.path().join("trace");
    let r = command(dir.path(), &program, &sources().join("axpy.ptx"))
        .arg("once")
        .env("KERF_PLAN", &plan)
        .env("KERF_TRACE", &trace)
        .output()
        .expect("the program runs");
    let said = text(&r);
    assert!(r.status.success(), "{said}");
    // Single precision: neither exact nor far off.
    let worst = said.split("worst difference ").nth(1).expect("a figure");
    let worst: f64 = worst.trim().parse().expect("a number");
    assert!(worst > 0.0 && worst < 1e-3, "{said}");
    let told = std::fs::read_to_string(trace.join("trace.json")).expect("a trace");
    assert!(
        told.contains("\"axpy\"") && told.contains("module-1.ptx"),
        "{told}"
    );
}
