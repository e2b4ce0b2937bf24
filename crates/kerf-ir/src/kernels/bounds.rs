//! What a kernel says of its blocks: the largest it may be launched with, the only one it may.
use kerf_llvm::{Module, Value};

/// What the source fixes of a kernel's block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockBounds {
    /// `__launch_bounds__`: no block has more threads.
    pub most: Option<u32>,
    /// `reqd_work_group_size`, `__block_size__`: every block has these extents.
    pub required: Option<[u32; 3]>,
}

fn extents(text: &str) -> Option<[u32; 3]> {
    let mut out = [1; 3];
    for (slot, part) in out.iter_mut().zip(text.split(',')) {
        *slot = part.trim().parse().ok()?;
    }
    Some(out)
}

/// OpenCL's attribute is metadata, which only the text shows: `!reqd_work_group_size !7` at the
/// definition, `!7 = !{i32 64, i32 1, i32 1}` at the end.
fn required_by_metadata(m: &Module, kernel: Value) -> Option<[u32; 3]> {
    let text = kernel.print();
    let head = text.lines().find(|l| l.starts_with("define"))?;
    let node = head.split("!reqd_work_group_size ").nth(1)?;
    let node = node.split([' ', '{']).next()?;
    let all = m.print();
    let line = all
        .lines()
        .rev()
        .find_map(|l| l.strip_prefix(&format!("{node} = !{{")))?;
    extents(&line.trim_end_matches('}').replace("i32 ", ""))
}

/// What a kernel of a module says of its blocks.
pub fn block_bounds(m: &Module, kernel: Value) -> BlockBounds {
    let of = |key: &str| kernel.fn_attr(key).and_then(|t| extents(&t));
    BlockBounds {
        most: of("nvvm.maxntid").map(|e| e.iter().product()),
        required: of("nvvm.reqntid").or_else(|| required_by_metadata(m, kernel)),
    }
}
