//! Stores of a part of a register whose number a floating-point operation wrote: NVIDIA's assembler converts it
//! (`kerf_ir::assembler_faults`), so that PTX must not have one.
use crate::common;

use common::libdevice;
use kerf_fuzz::identity;
use kerf_ir::finish::ptx;
use std::collections::BTreeMap;

/// Bits of a register, by its name.
fn register_bits(name: &str) -> u32 {
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "%rs" => 16,
        "%r" => 32,
        _ => 64,
    }
}

/// Whether an operation computes in floating point, so that the assembler takes its result for a number. Pairs of halves
/// (`f16x2`) are none: a half of such a register is stored right, seen in thousands of kernels on an H200.
fn computes_number(operation: &str) -> bool {
    let moves = ["ld", "mov", "prmt", "atom", "shfl"];
    let is_float = operation
        .split('.')
        .next_back()
        .is_some_and(|t| (t.starts_with('f') || t.starts_with("bf")) && !t.ends_with("x2"));
    let packs = operation.contains("x2.");
    is_float && !packs && !moves.iter().any(|m| operation.starts_with(m))
}

/// Stores in a text of PTX that take a part of such a register.
fn narrow_stores(text: &str) -> Vec<String> {
    let mut written: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.contains(".entry") || line.contains(".func") {
            written.clear();
        }
        let statement = line.strip_suffix(';').unwrap_or_default();
        let Some((operation, operands)) = statement.split_once(char::is_whitespace) else {
            continue;
        };
        let mut names = operands.split([',', ' ', '\t', '{', '}', '[', ']', '+']);
        if !operation.starts_with("st.") {
            if let Some(to) = names.find(|n| n.starts_with('%')) {
                written.insert(to, operation);
            }
            continue;
        }
        let bits = operation.rsplit(".b").next().and_then(|b| b.parse().ok());
        let value = operands.rsplit(", ").next().unwrap_or_default().trim();
        let narrow = bits.is_some_and(|b: u32| b < register_bits(value));
        if narrow && written.get(value).is_some_and(|o| computes_number(o)) {
            found.push(format!("{line}  // {}", written[value]));
        }
    }
    found
}

#[test]
fn the_search_finds_one() {
    let text = "\tadd.rn.f32 \t%r2, %r1, 0f4B400000;\n\tst.global.b16 \t[%rd2], %r2;\n\tst.global.b32 \t[%rd2+4], %r2;";
    assert_eq!(narrow_stores(text).len(), 1);
    let moved =
        "\tadd.rn.f32 \t%r2, %r1, 0f4B400000;\n\tmov.b32 %r3, %r2;\n\tst.global.b16 \t[%rd2], %r3;";
    assert!(narrow_stores(moved).is_empty());
}

/// The first four gave other bits on an H200, before lanes of vectors were moved.
#[test]
fn no_random_kernel_stores_a_part_of_a_number() {
    let library = libdevice();
    for seed in [1_000_006, 1_000_025, 8_000_009, 8_000_015, 3, 6] {
        let p = identity::prepare(seed, 4, &library, "sm_90", true).expect("prepares");
        let found = narrow_stores(&ptx(&p.module, "sm_90").expect("PTX"));
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}
