//! PTX that Kerf wrote of examples gives the bits of the original: structs, shared and local memory, tables, calls,
//! OpenCL's local arguments, atomics, shuffles. `bench/ptx-roundtrip.py` tries all examples.
use super::harness::{as_ptx, example, printed};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of the saved outputs by name.
fn outputs(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = std::fs::read_dir(dir).expect("outputs are saved");
    all.map(|f| {
        let f = f.expect("a file");
        let name = f.file_name().to_string_lossy().into_owned();
        (name, std::fs::read(f.path()).expect("reads"))
    })
    .collect()
}

#[test]
fn ptx_of_examples_gives_their_bits() {
    for (folder, workload, source, flags) in [
        (
            "gaussian",
            "gaussian.toml",
            "gaussian.cu",
            &["-DREAL=double"][..],
        ),
        (
            "mri_q",
            "mri_q_f32.toml",
            "mri_q.cu",
            &["-DREAL=float", "-DCHUNK=2048"],
        ),
        ("ocean", "ocean.toml", "ocean.cu", &["-DREAL=float"]),
        (
            "stencil",
            "stencil_cl.toml",
            "stencil.cl",
            &["-DREAL=double"],
        ),
        (
            "global_sum",
            "global_sum.toml",
            "global_sum.cu",
            &["-DREAL=double"],
        ),
        ("lud", "lud.toml", "lud.cu", &["-DREAL=double", "-DTILE=16"]),
    ] {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        as_ptx(dir, folder, workload, source, flags);
        let original = example(folder, workload).display().to_string();
        for (file, to) in [(original.as_str(), "a"), ("k.toml", "b")] {
            let once = ["--repeats", "1", "--warmup", "0", "-q"];
            let mut args = vec!["run", file, "--device", "cpu", "--save", to];
            args.extend(once);
            printed(dir, &args);
        }
        let (a, b) = (outputs(&dir.join("a")), outputs(&dir.join("b")));
        assert!(!a.is_empty(), "{workload} has outputs");
        assert_eq!(
            a.keys().collect::<Vec<_>>(),
            b.keys().collect::<Vec<_>>(),
            "{workload}"
        );
        for (name, bytes) in &a {
            assert!(*bytes == b[name], "{workload}: {name} has other bits");
        }
    }
}
