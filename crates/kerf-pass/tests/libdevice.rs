//! CUDA's device library, as `make setup` has it, and parts of it.
use kerf_ir::finish::trim;
use kerf_llvm::{Linkage, Module, PassOptions, TargetMachine};
use std::collections::BTreeSet;

pub fn libdevice() -> Vec<u8> {
    let path = std::env::var_os("KERF_LIBDEVICE").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../.kerf/cuda/nvvm/libdevice/libdevice.10.bc")
        },
        Into::into,
    );
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e} (make setup)", path.display()))
}

/// Text of what [`trim`] gives, by the way that reads every function of the library.
fn trimmed_whole(library: &[u8], roots: &BTreeSet<String>) -> Vec<String> {
    let m = Module::parse(library, "libdevice").expect("parses");
    let machine = TargetMachine::nvptx("sm_90").expect("a target");
    machine.adopt(&m);
    for f in m.functions() {
        if !f.is_declaration() && !roots.contains(&f.name()) {
            f.set_linkage(Linkage::LLVMInternalLinkage);
        }
    }
    let passes = machine.run_passes(&m, "globaldce", PassOptions::default());
    passes.expect("drops the rest");
    read(&m.bitcode())
}

/// Paragraphs of a part's text; what it declares comes last, in the order of names: LLVM declares intrinsics that older
/// bitcode has by other names as it meets them.
fn read(part: &[u8]) -> Vec<String> {
    let text = Module::parse(part, "part").expect("parses").print();
    let all = text.split("\n\n").map(|p| p.trim().to_owned());
    let (mut declared, mut rest): (Vec<_>, Vec<_>) = all.partition(|p| p.contains("\ndeclare "));
    declared.sort();
    rest.append(&mut declared);
    rest
}

#[test]
fn a_part_is_the_same_however_little_of_the_library_is_read() {
    let library = libdevice();
    // Without calls, with tables, with calls of other functions; one that the library does not have.
    for names in [
        "fabs fmaf",
        "sinf sincosf",
        "sin powf jnf",
        "tgamma lgammaf normcdfinv nosuch",
    ] {
        let roots = names.split(' ').map(|n| format!("__nv_{n}")).collect();
        let part = trim(&library, &roots, "sm_90").expect("trims");
        let text = Module::parse(&part, "part").expect("parses").print();
        assert_eq!(read(&part), trimmed_whole(&library, &roots), "{names}");
        // A library may be text.
        let again = trim(text.as_bytes(), &roots, "sm_90").expect("trims text");
        assert_eq!(read(&again), read(&part), "{names}");
    }
}

#[test]
fn a_library_cut_short_is_an_error() {
    let library = libdevice();
    let roots = BTreeSet::from(["__nv_sinf".to_owned()]);
    let end = library.len() / 3;
    let e = trim(&library[..end], &roots, "sm_90").expect_err("cut short");
    assert!(!e.0.is_empty());
}
