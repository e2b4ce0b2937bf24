//! `.npy` inputs that are absent, cut, or of another type or length.
use super::harness::{Folder, run};

/// A `.npy` file of version 1.
fn npy(descr: &str, shape: &str, data: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(std::iter::repeat_n(0, data));
    bytes
}

/// The workload with its input from `input.npy`.
#[track_caller]
fn refused(content: Option<&[u8]>, words: &[&str]) {
    let f = Folder::new();
    if let Some(bytes) = content {
        f.file("input.npy", bytes);
    }
    let w = f.workload(&[("{ constant = 1.0 }", "{ file = \"input.npy\" }")]);
    run(&w, &[])
        .refuses(&["spoilt.toml:10:17", "input.npy"])
        .refuses(words);
}

#[test]
fn a_good_one_is_read() {
    let f = Folder::new();
    f.file("input.npy", npy("<f8", "(64,)", 512));
    run(
        &f.workload(&[("{ constant = 1.0 }", "{ file = \"input.npy\" }")]),
        &[],
    )
    .succeeds();
}

#[test]
fn absent() {
    refused(None, &["does not exist", "relative to the workload file"]);
}

#[test]
fn cut() {
    let whole = npy("<f8", "(64,)", 512);
    for length in [9, 30, 200, whole.len() - 1] {
        refused(Some(&whole[..length]), &["truncated", "complete .npy file"]);
    }
}

#[test]
fn not_one() {
    refused(Some(b""), &["not a .npy file", "numpy.save"]);
    refused(
        Some(b"source = \"kernels.cu\"\n"),
        &["not a .npy file", "numpy.save"],
    );
    refused(Some(b"\x93NUMPY\x09\x00\x10\x00"), &["version 9.0"]);
}

#[test]
fn other_type() {
    refused(
        Some(&npy("<f4", "(64,)", 256)),
        &["type f32", "expected type f64", "astype"],
    );
    refused(Some(&npy("<c16", "(32,)", 512)), &["<c16", "complex"]);
}

#[test]
fn other_length() {
    refused(
        Some(&npy("<f8", "(63,)", 504)),
        &["63 scalars", "expected 64", "`len`"],
    );
    refused(
        Some(&npy("<f8", "(1000000000000000000, 1000)", 0)),
        &["too many elements"],
    );
}

#[test]
fn mangled_header() {
    refused(Some(&npy("<f8", "(64", 512)), &["header"]);
    refused(Some(&npy("<f8", "(-64,)", 512)), &["header"]);
}
