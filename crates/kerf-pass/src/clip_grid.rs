//! Clip grid: a kernel that runs any run of a grid's blocks and sees the whole grid.
//!
//! The blocks of a grid in their order, x fastest, are one row. The kernel is launched with as many blocks
//! along x as are to run; it gets the first one's number and the extents of the whole grid, and computes
//! which block it is. So a sample of a launch can be taken anywhere in it, and `gridDim` reads as it would.
use crate::registers::{read_elsewhere, reads};
use kerf_llvm::{Builder, IntPred, LlvmError, Module, Value};

/// Bytes of the arguments that a clipped kernel takes after its own, in order: the first block's number, the
/// extents of the grid, and factors that stand for divisions by them.
pub fn arguments(first: u32, grid: [u32; 3]) -> Vec<Vec<u8>> {
    let small = [first, grid[0], grid[1], grid[2]].map(|v| v.to_le_bytes().to_vec());
    let large = [factor(grid[0]), factor(grid[1])].map(|v| v.to_le_bytes().to_vec());
    small.into_iter().chain(large).collect()
}

/// `x / d` is the upper half of `x * factor(d)` for every 32-bit x and d > 1: the factor exceeds 2^64 / d by
/// less than 1, so the product by less than 2^32 / 2^64 of a unit, which is less than 1 / d.
fn factor(d: u32) -> u64 {
    match d {
        0 | 1 => 0,
        d => (u64::MAX / u64::from(d)) + 1,
    }
}

fn wants(register: &str) -> bool {
    register.starts_with("ctaid") || register.starts_with("nctaid")
}

/// Does a kernel see the grid's extents? One that does not can be launched with fewer blocks as it is.
pub fn sees_grid(kernel: Value) -> bool {
    let sees = |r: &str| r.starts_with("nctaid");
    reads(kernel).iter().any(|(_, r)| sees(r)) || read_elsewhere(kernel, sees).is_some()
}

fn divide(b: &Builder, x: Value, by: Value, factor: Value) -> Value {
    let wide = b.int_ty(128);
    let product = b.mul(b.zext_or_trunc(x, wide), b.zext_or_trunc(factor, wide));
    let upper = b.lshr(product, b.zext_or_trunc(b.i64(64), wide));
    let upper = b.zext_or_trunc(upper, b.int_ty(32));
    let one = b.icmp(IntPred::LLVMIntEQ, by, b.i32(1));
    b.select(one, x, upper)
}

/// Makes a kernel take a run of the grid's blocks. `flat`: the grid has extents along x only.
pub fn clip(m: &Module, kernel: Value, flat: bool) -> Result<(), LlvmError> {
    if let Some(f) = read_elsewhere(kernel, wants) {
        return Err(LlvmError(format!(
            "{f} was not inlined and reads the block's index"
        )));
    }
    if !kernel.users().is_empty() {
        return Err(LlvmError(
            "something refers to the kernel, which would not know of its new parameters".into(),
        ));
    }
    let (small, large) = (m.int_ty(32), m.int_ty(64));
    let mut k = kernel;
    for (ty, name) in [
        (small, "kerf_first"),
        (small, "kerf_grid_x"),
        (small, "kerf_grid_y"),
        (small, "kerf_grid_z"),
        (large, "kerf_over_x"),
        (large, "kerf_over_y"),
    ] {
        k = k.append_param(ty, name);
    }
    let params = k.params();
    let [first, gx, gy, gz, over_x, over_y]: [Value; 6] = params[params.len() - 6..]
        .try_into()
        .map_err(|_| LlvmError("no parameters".into()))?;
    let old = reads(k);
    let start = k.blocks()[0]
        .first_non_phi()
        .ok_or_else(|| LlvmError("an empty kernel".into()))?;
    let b = Builder::before(start);
    let here = b.intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", &[], &[]);
    let number = b.add(here, first);
    let [x, y, z] = match flat {
        true => [number, b.i32(0), b.i32(0)],
        false => {
            let row = divide(&b, number, gx, over_x);
            let x = b.sub(number, b.mul(row, gx));
            let z = divide(&b, row, gy, over_y);
            [x, b.sub(row, b.mul(z, gy)), z]
        }
    };
    let answers = [
        ("ctaid.x", x),
        ("ctaid.y", y),
        ("ctaid.z", z),
        ("nctaid.x", gx),
        ("nctaid.y", gy),
        ("nctaid.z", gz),
    ];
    for (i, register) in old {
        if let Some((_, v)) = answers.iter().find(|(r, _)| *r == register) {
            i.become_value(*v);
        }
    }
    m.verify()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_divide_exactly() {
        for d in [2u32, 3, 5, 7, 10, 240, 641, 65535, 65536, 2147483647] {
            for x in [
                0u32,
                1,
                2,
                d - 1,
                d,
                d + 1,
                2 * (d / 2),
                u32::MAX - 1,
                u32::MAX,
            ] {
                let got = (u128::from(x) * u128::from(factor(d))) >> 64;
                assert_eq!(got as u32, x / d, "{x} / {d}");
            }
        }
    }
}
