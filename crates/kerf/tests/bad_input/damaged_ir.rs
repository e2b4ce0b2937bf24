//! LLVM files that are cut, garbled, empty or wrong. LLVM's reader crashes on some of them.
use super::harness::{Folder, Said, call, inspect, kerf, run};
use std::path::Path;

/// IR with one kernel, as text.
const GOOD: &str = "target triple = \"nvptx64-nvidia-cuda\"\n\
define ptx_kernel void @scale(ptr addrspace(1) %x, double %factor, i32 %n) {\n  \
  %v = load double, ptr addrspace(1) %x\n  \
  %p = fmul double %v, %factor\n  \
  store double %p, ptr addrspace(1) %x\n  \
  ret void\n}\n";

/// Bitcode of the kernels, as a bundle holds it.
fn bitcode(f: &Folder) -> Vec<u8> {
    let mut c = kerf(["bundle"]);
    c.arg(f.path("good.toml"))
        .arg("--out")
        .arg(f.path("bundle"));
    call(c).succeeds();
    std::fs::read(f.path("bundle/good.bc")).expect("bitcode")
}

/// Inspects and runs a file as a source; both must refuse it.
#[track_caller]
fn both(f: &Folder, file: &Path, words: &[&str]) {
    let name = file.file_name().and_then(|n| n.to_str()).expect("a name");
    inspect(file, &[]).refuses(&[name]).refuses(words);
    run(&f.workload(&[("kernels.cu", name)]), &[])
        .refuses(&[name])
        .refuses(words);
}

#[test]
fn cut_bitcode() {
    let f = Folder::new();
    let whole = bitcode(&f);
    inspect(&f.path("bundle/good.bc"), &[]).succeeds();
    for length in [1, 4, 100, whole.len() / 4, whole.len() / 2, whole.len() - 4] {
        both(
            &f,
            &f.file("cut.bc", &whole[..length]),
            &["not valid LLVM IR", "truncated"],
        );
    }
}

#[test]
fn flipped_bits() {
    // Some of these are still modules, some are refused, and some crash LLVM; the program may not.
    let f = Folder::new();
    let whole = bitcode(&f);
    let (mut refused, mut random) = (0, 5u64);
    for _ in 0..16 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let at = (random >> 33) as usize % bytes.len();
            bytes[at] ^= 1 << ((random >> 28) & 7);
        }
        let said = inspect(&f.file("flipped.bc", &bytes), &[]);
        if said.code != Some(0) {
            said.refuses(&["flipped.bc"]);
            refused += 1;
        }
    }
    assert!(refused > 0, "none was damaged enough to matter");
}

#[test]
fn random_bytes() {
    let f = Folder::new();
    let bytes: Vec<u8> = (1..3000u32)
        .map(|i| (i.wrapping_mul(2654435761) >> 24) as u8)
        .collect();
    both(
        &f,
        &f.file("random.bc", bytes),
        &["not valid LLVM IR", "help: "],
    );
}

#[test]
fn text_with_a_mistake() {
    let f = Folder::new();
    inspect(&f.file("good.ll", GOOD), &[]).succeeds();
    let wrong = GOOD.replace("fmul double", "fmull double");
    both(
        &f,
        &f.file("wrong.ll", wrong),
        &["wrong.ll:4:", "expected instruction opcode"],
    );
}

#[test]
fn invalid_but_parsable() {
    // Text that parses but breaks a rule that only LLVM's verifier knows.
    let f = Folder::new();
    let wrong = GOOD.replace("  ret void\n", "  ret double %v\n");
    both(&f, &f.file("wrong.ll", wrong), &["not valid LLVM IR"]);
}

#[test]
fn empty() {
    let f = Folder::new();
    for name in ["empty.ll", "empty.bc"] {
        let file = f.file(name, "");
        inspect(&file, &[]).refuses(&[name, "defines no kernel", "may be empty"]);
        run(&f.workload(&[("kernels.cu", name)]), &[]).refuses(&["no kernel `scale`", name]);
    }
}

#[test]
fn a_damaged_source_leaves_no_bundle() {
    let f = Folder::new();
    f.file("cut.ll", &GOOD[..GOOD.len() - 20]);
    let w = f.workload(&[("kernels.cu", "cut.ll")]);
    let before = f.names();
    let mut c = kerf(["bundle"]);
    c.arg(&w).arg("--out").arg(f.path("out"));
    let said: Said = call(c);
    said.refuses(&["cut.ll"]);
    assert_eq!(f.names(), before);
}
