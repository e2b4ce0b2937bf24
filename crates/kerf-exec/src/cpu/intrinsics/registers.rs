//! Special registers: a thread's indices are parameters, a block's shape is in the context.
use crate::cpu::context::offset;
use crate::cpu::lead::{Lead, field};
use kerf_llvm::{Builder, Type, Value};

fn linear_thread(b: &Builder, lead: &Lead) -> Value {
    let nx = field(b, lead.ctx, offset::NTID, b.int_ty(32));
    let ny = field(b, lead.ctx, offset::NTID + 4, b.int_ty(32));
    let zy = b.add(lead.tid[1], b.mul(ny, lead.tid[2]));
    b.add(lead.tid[0], b.mul(nx, zy))
}

pub(super) fn special_register(b: &Builder, lead: &Lead, n: &str, ty: Type) -> Option<Value> {
    let i32t = b.int_ty(32);
    let dim = |s: &str| match s {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    let r = match n.split_once('.') {
        Some(("tid", d)) => lead.tid[dim(d)?],
        Some(("ntid", d)) => field(b, lead.ctx, offset::NTID + 4 * dim(d)? as u64, i32t),
        Some(("ctaid", d)) => field(b, lead.ctx, offset::CTAID + 4 * dim(d)? as u64, i32t),
        Some(("nctaid", d)) => field(b, lead.ctx, offset::NCTAID + 4 * dim(d)? as u64, i32t),
        Some(("lanemask", which)) => {
            let lane = b.and(linear_thread(b, lead), b.i32(31));
            let bit = b.shl(b.i32(1), lane);
            let below = b.sub(bit, b.i32(1));
            match which {
                "eq" => bit,
                "lt" => below,
                "le" => b.or(below, bit),
                "ge" => b.xor(below, b.i32(u32::MAX)),
                "gt" => b.xor(b.or(below, bit), b.i32(u32::MAX)),
                _ => return None,
            }
        }
        _ => match n {
            "laneid" => b.and(linear_thread(b, lead), b.i32(31)),
            "warpid" => b.lshr(linear_thread(b, lead), b.i32(5)),
            "nwarpid" => b.i32(64),
            "warpsize" => b.i32(32),
            "smid" | "gridid" => return Some(ty.zero()),
            "nsmid" => b.i32(1),
            "dynamic_smem_size" | "dynamic.smem.size" => {
                field(b, lead.ctx, offset::DYNAMIC_SHARED, i32t)
            }
            "total_smem_size" | "total.smem.size" => {
                let v = field(b, lead.ctx, offset::SHARED_BYTES, b.int_ty(64));
                b.zext_or_trunc(v, i32t)
            }
            "clock" | "clock64" | "globaltimer" | "clock.hi" | "globaltimer.lo" => {
                b.intrinsic("llvm.readcyclecounter", &[], &[])
            }
            // The driver leaves the address of a cooperative grid's workspace in these two.
            "envreg1" => {
                let v = field(b, lead.ctx, offset::GRID, b.int_ty(64));
                b.zext_or_trunc(b.lshr(v, b.i64(32)), i32t)
            }
            "envreg2" => {
                let v = field(b, lead.ctx, offset::GRID, b.int_ty(64));
                b.zext_or_trunc(v, i32t)
            }
            _ if n.starts_with("envreg") => return Some(ty.zero()),
            _ => return None,
        },
    };
    Some(b.zext_or_trunc(r, ty))
}
