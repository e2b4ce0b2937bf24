//! Index space: warp-sized blocks put together, C to a block.
//!
//! For kernels whose work grows with the block (after the workload tuner of Dao,
//! "Performance Modeling, Performance Tuning and Quantization for GPU Programs", 2021): the block stays as
//! small as a warp for all that the kernel computes, and is large for the machine. The kernel is launched
//! with blocks of 32 x C threads; each row of 32 is one of the old blocks. What belonged to a block belongs
//! to a row: its index, its extents, its shared memory, its barriers, which become those of a warp.
use crate::block_refusal::BlockRefusal;
use crate::registers::{read_elsewhere, reads};
use kerf_ir::kernels::{block_bounds, reachable, used_globals};
use kerf_llvm::{Builder, IntPred, LlvmError, Module, Opcode, Value, space};

/// Threads of an old block.
pub const GROUP: u32 = 32;

/// Largest C: 1024 threads.
pub const MOST: u32 = 32;

/// Shared memory of a row begins at a multiple of this.
pub const ALIGNMENT: u32 = 16;

/// A launch of a regrouped kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regrouped {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of one.
    pub block: [u32; 3],
    /// Dynamic shared memory.
    pub shared: u32,
    /// Bytes of the arguments after the kernel's own.
    pub arguments: Vec<Vec<u8>>,
}

/// The launch that does what one of warp-sized blocks did.
pub fn launch(
    c: u32,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
) -> Result<Regrouped, BlockRefusal> {
    if block != [GROUP, 1, 1] {
        return Err(BlockRefusal::NotWarpSized {
            group: GROUP,
            block,
        });
    }
    let each = shared.next_multiple_of(ALIGNMENT);
    Ok(Regrouped {
        grid: [grid[0].div_ceil(c), grid[1], grid[2]],
        block: [GROUP, c, 1],
        shared: each.saturating_mul(c),
        arguments: vec![grid[0].to_le_bytes().to_vec(), each.to_le_bytes().to_vec()],
    })
}

fn intrinsic(i: Value) -> Option<String> {
    let name = (i.opcode() == Some(Opcode::LLVMCall)).then(|| i.callee_name())??;
    name.strip_prefix("llvm.nvvm.").map(str::to_owned)
}

/// A barrier of the whole block that a barrier of the warp can stand for.
fn plain_barrier(n: &str) -> bool {
    matches!(
        n,
        "barrier0"
            | "barrier.sync"
            | "barrier.cta.sync.all"
            | "barrier.cta.sync.aligned.all"
            | "bar.sync"
    )
}

fn other_barrier(n: &str) -> bool {
    let warp = n.starts_with("bar.warp");
    !warp && (n.starts_with("barrier") || n.starts_with("bar.") || n.starts_with("mbarrier"))
}

/// Why a kernel cannot be regrouped; none if it can.
pub fn obstacle(m: &Module, kernel: Value, c: u32) -> Option<BlockRefusal> {
    if !(2..=MOST).contains(&c) {
        return Some(BlockRefusal::Groups {
            groups: c,
            most: MOST,
        });
    }
    let bounds = block_bounds(m, kernel);
    if let Some(most) = bounds.most.filter(|most| GROUP * c > *most) {
        return Some(BlockRefusal::Bounds { most });
    }
    if bounds.required.is_some() {
        return Some(BlockRefusal::RequiresOne);
    }
    if !kernel.users().is_empty() {
        return Some(BlockRefusal::Referenced);
    }
    let slots = |r: &str| r.starts_with("warpid") || r.starts_with("nwarpid");
    if reads(kernel).iter().any(|(_, r)| slots(r)) {
        return Some(BlockRefusal::WarpSlots);
    }
    if let Some(f) = read_elsewhere(kernel, |_| true) {
        return Some(BlockRefusal::NotInlined(f));
    }
    for f in reachable(kernel) {
        for i in f.instructions() {
            let Some(n) = intrinsic(i) else { continue };
            let inlined = f == kernel;
            if other_barrier(&n) && !(inlined && plain_barrier(&n)) {
                return Some(BlockRefusal::PartialBarrier(n));
            }
        }
    }
    None
}

fn shared_of(m: &Module, kernel: Value) -> Vec<(Value, u64)> {
    let all = used_globals(kernel).into_iter();
    all.filter(|g| g.ty().space() == space::SHARED)
        .map(|g| {
            (
                g,
                if g.is_declaration() {
                    0
                } else {
                    m.size_of(g.global_type())
                },
            )
        })
        .collect()
}

/// Puts C warp-sized blocks of a kernel together.
pub fn regroup(m: &Module, kernel: Value, c: u32) -> Result<(), BlockRefusal> {
    if let Some(why) = obstacle(m, kernel, c) {
        return Err(why);
    }
    let shared = shared_of(m, kernel);
    for (g, _) in &shared {
        g.expand_constant_users();
    }
    let k = kernel.append_param(m.int_ty(32), "kerf_groups");
    let k = k.append_param(m.int_ty(32), "kerf_group_shared");
    let params = k.params();
    let [groups, bytes]: [Value; 2] = params[params.len() - 2..]
        .try_into()
        .map_err(|_| LlvmError("no parameters".into()))?;
    let old = reads(k);
    let body: Vec<Value> = k.instructions();
    let begin = k.blocks()[0];
    let entry = k.add_prologue();
    if let Some(t) = entry.terminator() {
        t.erase();
    }
    let b = Builder::at_end(entry);
    let register = |name: &str| b.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{name}"), &[], &[]);
    let row = register("tid.y");
    let group = b.add(b.mul(register("ctaid.x"), b.i32(c)), row);
    let mut moved: Vec<(Value, Value)> = Vec::new();
    for (g, size) in &shared {
        let wide = b.zext_or_trunc(row, b.int_ty(64));
        let at = match size {
            0 => {
                let each = b.zext_or_trunc(bytes, b.int_ty(64));
                b.offset(*g, b.mul(wide, each))
            }
            size => {
                let each = size.next_multiple_of(u64::from(g.align().max(ALIGNMENT)));
                let all = m.int_ty(8).array(each * u64::from(c));
                let new = m.add_global(all, &format!("{}.kerf.rows", g.name()), space::SHARED);
                new.set_initializer(all.undef());
                new.set_linkage(g.linkage());
                new.set_align(g.align().max(ALIGNMENT));
                b.offset(new, b.mul(wide, b.i64(each)))
            }
        };
        moved.push((*g, at));
    }
    let out = b.new_block(k, "kerf.beyond");
    let inside = b.icmp(IntPred::LLVMIntULT, group, groups);
    b.cond_br(inside, begin, out);
    b.move_to_end(out);
    b.ret(None);
    // What a kernel keeps on the stack belongs into the first block.
    if let Some(first) = entry.first() {
        for i in begin.instructions() {
            if i.opcode() == Some(Opcode::LLVMAlloca) && i.operand(0).is_constant() {
                i.move_before(first);
            }
        }
    }
    for i in &body {
        for (n, o) in i.operands().into_iter().enumerate() {
            if let Some((_, at)) = moved.iter().find(|(g, _)| *g == o) {
                i.set_operand(n as u32, *at);
            }
        }
    }
    let answers = [
        ("tid.y", b.i32(0)),
        ("tid.z", b.i32(0)),
        ("ntid.x", b.i32(GROUP)),
        ("ntid.y", b.i32(1)),
        ("ntid.z", b.i32(1)),
        ("ctaid.x", group),
        ("nctaid.x", groups),
    ];
    for i in body {
        if intrinsic(i).is_some_and(|n| plain_barrier(&n)) {
            let b = Builder::before(i);
            b.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[b.i32(u32::MAX)]);
            i.erase();
        }
    }
    for (i, r) in old {
        if let Some((_, v)) = answers.iter().find(|(name, _)| *name == r) {
            i.become_value(*v);
        }
    }
    k.add_fn_attr("nvvm.reqntid", &format!("{GROUP},{c},1"));
    Ok(m.verify()?)
}
