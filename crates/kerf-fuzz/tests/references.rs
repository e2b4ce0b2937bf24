//! References of random kernels: device code against the functions of the CPU executor.
use crate::common;

use kerf_fuzz::references::shadowed;
use kerf_pass::shadow::ShadowDevice;
use std::process::{Command, Output};

/// Runs the tool on kernels from a seed on, on the CPU.
fn compare(arguments: &[&str]) -> Output {
    let libdevice = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(libdevice.path(), common::libdevice()).expect("written");
    Command::new(env!("CARGO_BIN_EXE_fuzz-references"))
        .args(arguments)
        .arg("--libdevice")
        .arg(libdevice.path())
        .output()
        .expect("it runs")
}

/// What the tool printed.
fn printed(o: &Output) -> String {
    let (out, err) = (&o.stdout, &o.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)
}

/// Kernels of the test; `bench/fuzz-references.sh` takes 500, on a GPU too.
#[test]
fn both_routes_give_the_same_bits() {
    let o = compare(&["--seed", "4", "--count", "12"]);
    let text = printed(&o);
    assert_eq!(o.status.code(), Some(0), "{text}");
    let number = |before: &str| -> usize {
        let words = text.split(before).next().unwrap_or_default();
        let last = words.split_whitespace().last().unwrap_or_default();
        let number = last.trim_start_matches('(').parse();
        number.unwrap_or_else(|_| panic!("no number before {before}: {text}"))
    };
    assert_eq!(number(" compared ("), 10, "{text}");
    // One is refused when it is made, one loses shadows when it runs.
    assert_eq!(number(" left to the tables on both routes"), 2, "{text}");
    // Not the shadows of values that are exact, nor comparisons that never flip.
    assert!(number(" of them with a low word") > 1000, "{text}");
    assert!(number(" flips, in") > 0, "{text}");
}

#[test]
fn a_shadow_that_differs_is_named() {
    let o = compare(&["--seed", "2", "--count", "2", "--change-shadow-of", "3"]);
    let text = printed(&o);
    assert_eq!(o.status.code(), Some(1), "{text}");
    let line = "different: seed 3: 1 of ";
    assert!(text.contains(line), "{text}");
    assert!(text.contains(" f64 shadows differ, first [0] "), "{text}");
    assert!(!text.contains("different: seed 2"), "{text}");
}

/// A kernel that takes too long is named, and is not passed; the others are tried.
#[test]
fn a_kernel_without_an_answer_is_named() {
    let o = compare(&["--seed", "0", "--count", "2", "--timeout", "0.001"]);
    let text = printed(&o);
    assert_eq!(o.status.code(), Some(1), "{text}");
    for seed in 0..2 {
        let line = format!("failed: seed {seed}: no result within 0.001 s");
        assert!(text.contains(&line), "{text}");
    }
}

/// Code for GPUs, which cannot run here: it is complete, and NVIDIA's assembler takes it.
#[test]
fn code_for_gpus_assembles() {
    let libdevice = common::libdevice();
    let ptxas = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.kerf/cuda/bin/ptxas");
    let dir = tempfile::tempdir().expect("a folder");
    let mut assembled = 0;
    for seed in 0..6 {
        let k = shadowed(seed, &libdevice, "sm_90", Some(ShadowDevice::Gpu)).expect("made");
        if !k.map.needs_host.is_empty() {
            continue;
        }
        let ptx = kerf_ir::finish::ptx(&k.module, "sm_90").expect("PTX");
        assert!(ptx.contains(kerf_exec::shadow_space::SPACE), "seed {seed}");
        assert!(ptx.contains(kerf_exec::shadow_space::VALUES), "seed {seed}");
        assert!(!ptx.contains(".extern .func"), "seed {seed}: {ptx}");
        let file = dir.path().join("k.ptx");
        std::fs::write(&file, &ptx).expect("written");
        let r = std::process::Command::new(&ptxas)
            .args(["-arch", "sm_90", "-o"])
            .arg(dir.path().join("k.cubin"))
            .arg(&file)
            .output()
            .unwrap_or_else(|e| panic!("{}: {e} (make setup)", ptxas.display()));
        let said = String::from_utf8_lossy(&r.stderr);
        assert!(r.status.success(), "seed {seed}: {said}");
        assembled += 1;
    }
    assert!(assembled >= 3, "only {assembled} were assembled");
}
