//! The library on its way to a GPU.
use super::harness::module;
use kerf_llvm::TargetMachine;
use kerf_pass::reference_library::FUNCTIONS;

/// Every function is there, and what it becomes rounds as IEEE 754 says, so that a GPU has the bits of the
/// CPU.
#[test]
fn every_operation_is_correctly_rounded() {
    let m = module(FUNCTIONS);
    let ptx = TargetMachine::nvptx("sm_90")
        .expect("a target")
        .assembly(&m)
        .expect("PTX");
    assert!(!ptx.contains(".extern"), "something is left to be linked");
    let mut rounded = 0;
    for line in ptx.lines() {
        let op = line.split_whitespace().next().unwrap_or_default();
        let rounds = [
            "add.", "sub.", "mul.", "fma.", "div.", "sqrt.", "rcp.", "cvt.rn.",
        ]
        .iter()
        .any(|o| op.starts_with(o))
            && op.ends_with("f64");
        if rounds {
            assert!(op.contains(".rn"), "{line}");
            rounded += 1;
        }
        let loose = ["approx", "ftz", "full", "f32"];
        assert!(!loose.iter().any(|l| op.contains(l)), "{line}");
    }
    assert!(rounded > 1000, "{rounded} operations");
}

/// The library has all that the shadow calls by number, besides what the arithmetic of IR needs.
#[test]
fn the_library_has_every_function_of_the_shadow() {
    for (name, _) in kerf_pass::shadow::FUNCTIONS {
        assert!(kerf_pass::reference_library::has(name), "{name}");
    }
}
