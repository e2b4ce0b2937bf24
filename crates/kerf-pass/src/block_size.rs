//! Block size: a kernel compiled for one block, so that `blockDim` is a constant.
//!
//! Loops over the block unroll and divisions by its extents go away. The kernel can then be launched with
//! that block only, which PTX says as `.reqntid`.
use crate::registers::reads;
use kerf_ir::kernels::block_bounds;
use kerf_llvm::{Module, Value};

/// Why a kernel cannot have a block; none if it can.
pub fn obstacle(m: &Module, kernel: Value, block: [u32; 3]) -> Option<String> {
    let bounds = block_bounds(m, kernel);
    let threads: u32 = block.iter().product();
    if let Some(r) = bounds.required.filter(|r| *r != block) {
        return Some(format!(
            "the source requires blocks of {} x {} x {} (reqd_work_group_size)",
            r[0], r[1], r[2]
        ));
    }
    let most = bounds.most.filter(|most| threads > *most)?;
    Some(format!(
        "the source allows at most {most} threads a block (__launch_bounds__)"
    ))
}

/// Compiles a kernel for one block.
pub fn fix(m: &Module, kernel: Value, block: [u32; 3]) -> Result<(), String> {
    if block.contains(&0) {
        return Err("a block has at least one thread along each axis".into());
    }
    if let Some(why) = obstacle(m, kernel, block) {
        return Err(why);
    }
    for (i, register) in reads(kernel) {
        let axis = match register.as_str() {
            "ntid.x" => 0,
            "ntid.y" => 1,
            "ntid.z" => 2,
            _ => continue,
        };
        i.become_value(i.ty().int(block[axis].into()));
    }
    let [x, y, z] = block;
    kernel.add_fn_attr("nvvm.reqntid", &format!("{x},{y},{z}"));
    Ok(())
}
