//! Block size: a kernel compiled for one block, so that `blockDim` is a constant.
//!
//! Loops over the block unroll and divisions by its extents go away. The kernel can then be launched with
//! that block only, which PTX says as `.reqntid`.
use crate::block_refusal::BlockRefusal;
use crate::registers::reads;
use kerf_ir::kernels::block_bounds;
use kerf_llvm::{Module, Value};

/// Why a kernel cannot have a block; none if it can.
pub fn obstacle(m: &Module, kernel: Value, block: [u32; 3]) -> Option<BlockRefusal> {
    let bounds = block_bounds(m, kernel);
    let threads: u32 = block.iter().product();
    if let Some(required) = bounds.required.filter(|r| *r != block) {
        return Some(BlockRefusal::Required { required });
    }
    let most = bounds.most.filter(|most| threads > *most)?;
    Some(BlockRefusal::Bounds { most })
}

/// Compiles a kernel for one block.
pub fn fix(m: &Module, kernel: Value, block: [u32; 3]) -> Result<(), BlockRefusal> {
    if block.contains(&0) {
        return Err(BlockRefusal::Empty);
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
