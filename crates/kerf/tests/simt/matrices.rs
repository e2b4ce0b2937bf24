//! Tensor cores: products by `mma.sync` and `wmma`, matrix loads and stores, against sums made here.
use super::faults::{fails, says};
use super::harness::{folder, kerf, run_file};
use half::f16;
use kerf_num::tensor_core::{OperandFormat, SumFormat, SumModel};

fn a(i: usize) -> f16 {
    f16::from_f64(((i * 37 % 101) as f64 - 50.0) * 0.0931 + (i % 7) as f64 * 11.0)
}

fn b(i: usize) -> f16 {
    f16::from_f64(((i * 53 % 97) as f64 - 48.0) * 0.0417)
}

/// An element of the product of 32 by 32 and 32 by 16, in two steps of 16 products that are added at once.
fn c(row: usize, column: usize) -> f32 {
    let f = OperandFormat::F16;
    let model = SumModel {
        group: 16,
        aligned_bits: 25,
    };
    let x: Vec<_> = (0..32)
        .map(|k| f.decode(u32::from(a(row * 32 + k).to_bits())))
        .collect();
    let y: Vec<_> = (0..32)
        .map(|k| f.decode(u32::from(b(k * 16 + column).to_bits())))
        .collect();
    f32::from_bits(model.dot(&x, &y, 0, SumFormat::F32))
}

fn ints(i: usize) -> (i64, i64) {
    ((i * 37 % 101) as i64, (i * 53 % 89) as i64 - 44)
}

/// A sum of products of the integer matrices, whose rows are 16 long.
fn integer_sum(row: usize, column: usize, n: usize) -> f64 {
    let products = (0..n).map(|k| ints(row * 16 + k).0 * ints(k * 16 + column).1);
    products.sum::<i64>() as f64
}

fn other(i: usize) -> f64 {
    match i {
        0..64 => integer_sum(i / 8, i % 8, 4) + (i % 2 + 1) as f64,
        64..192 => integer_sum((i - 64) / 8, i % 8, 16),
        // The matrix of 32 rows has the 16 twice, and is stored column by column.
        192..448 => integer_sum((i - 192) % 32 % 16, (i - 192) / 32, 16) + 0.5,
        448..512 => ints((i - 448) % 8 * 16 + (i - 448) / 8).0 as f64,
        _ => {
            let (row, column) = ((i - 512) / 32, i % 16);
            let product = |k: usize| ints(row * 16 + k).0 * (ints(k * 16 + column).1 + 44);
            ((0..16).map(product).sum::<i64>() - 3) as f64
        }
    }
}

#[test]
fn products_of_matrices() {
    let out = run_file(&folder().join("matrices.toml"), &[]);
    out.expect("c_mma", |i| c(i / 16, i % 16));
    out.expect("c_wmma", |i| c(i / 16, i % 16));
    out.expect("others", other);
}

#[test]
fn a_part_of_a_warp_is_refused() {
    let s = fails(
        "matrices.cu",
        "half_a_warp",
        "[1]",
        "[32]",
        r#"["x"]"#,
        "",
        &[],
    );
    says(&s, &["needs all 32 lanes", "16 take part"]);
}

#[test]
fn references_and_checks_see_through_matrices() {
    let path = folder().join("matrices.toml");
    let path = path.to_str().expect("a path in UTF-8");
    let said = kerf(&["run", path, "--device", "cpu", "--reference", "--memcheck"]);
    assert!(
        said.code == Some(0) && said.out.contains("accepted"),
        "{}{}",
        said.out,
        said.err
    );
    assert!(
        !said.err.contains("no high-precision version"),
        "{}",
        said.err
    );
}
