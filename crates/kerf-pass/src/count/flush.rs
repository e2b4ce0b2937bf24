//! Functions that join a thread's own numbers into those of all, called where a function returns.
//!
//! Every field is joined by an integer sum, a maximum or a bitwise or, so that the result is the same in whatever order
//! threads end. On a GPU the lanes of a whole warp first join theirs by shuffles, and one lane goes to memory for 32: atomic
//! operations on one address take one another's turn there.
use super::CountDevice;
use super::fields::{FIELDS, Join, LANES, join};
use super::lanes;
use super::values::{field_of, larger};
use kerf_llvm::{Builder, IntPred, Module, Opcode, RmwOp, Type, Value};

/// All lanes of a warp.
const WHOLE_WARP: u32 = u32::MAX;

/// The functions, by what they join.
pub(super) struct FlushFunctions {
    /// Executions of a block.
    pub block: Value,
    /// Executions of a block by a warp that is looked at.
    pub warp: Value,
    /// The record of a site.
    pub site: Value,
}

impl FlushFunctions {
    pub(super) fn new(m: &Module, device: CountDevice) -> FlushFunctions {
        FlushFunctions {
            block: flush_block(m),
            warp: flush_warp(m),
            site: flush_site(m, device),
        }
    }
}

/// A function that joins a thread's numbers into an array.
pub(super) fn joining(m: &Module, name: &str, numbers: usize, kind: Type) -> (Value, Builder) {
    let mut params = vec![m.ptr_ty(kerf_llvm::space::GLOBAL)];
    params.extend((0..numbers).map(|_| kind));
    let f = m.add_function(name, m.void_ty().function(&params));
    f.set_linkage(kerf_llvm::Linkage::LLVMInternalLinkage);
    // Once in the program is enough: a kernel calls it for every site.
    f.add_enum_attr("noinline");
    (f, Builder::at_end(m.append_block(f, "entry")))
}

/// The number in memory now. A GPU's first-level cache would answer with an old one, to which everything is new.
fn current(b: &Builder, p: Value) -> Value {
    let old = b.load(b.int_ty(64), p);
    old.set_volatile(true);
    old
}

/// Joins a number into memory. Most threads have nothing to tell, or nothing new, so it looks before
/// it locks.
pub(super) fn put(m: &Module, f: Value, b: &Builder, how: Join, p: Value, v: Value) {
    let (op, new) = match how {
        Join::Sum => (
            RmwOp::LLVMAtomicRMWBinOpAdd,
            b.icmp(IntPred::LLVMIntNE, v, b.i64(0)),
        ),
        Join::Largest => (
            RmwOp::LLVMAtomicRMWBinOpUMax,
            b.icmp(IntPred::LLVMIntUGT, v, current(b, p)),
        ),
        Join::All => {
            let old = current(b, p);
            (
                RmwOp::LLVMAtomicRMWBinOpOr,
                b.icmp(IntPred::LLVMIntNE, b.or(v, old), old),
            )
        }
    };
    let (yes, no) = (m.append_block(f, "new"), m.append_block(f, "next"));
    b.cond_br(new, yes, no);
    b.move_to_end(yes);
    b.atomic_rmw_relaxed(op, p, v);
    b.br(no);
    b.move_to_end(no);
}

/// A site's record goes to that of all threads. On the CPU executor its fields are parameters, on a GPU its address is.
fn flush_site(m: &Module, device: CountDevice) -> Value {
    let joins: Vec<Join> = (0..FIELDS).map(join).collect();
    let name = "__kerf_count_add_site";
    let (f, b) = match device {
        CountDevice::Cpu => joining(m, name, FIELDS, m.int_ty(64)),
        CountDevice::Gpu => joining(m, name, 1, m.ptr_ty(0)),
    };
    let args = f.params();
    let own = match device {
        CountDevice::Cpu => args[1..].to_vec(),
        CountDevice::Gpu => {
            let fields = (0..FIELDS).map(|k| b.load(m.int_ty(64), field_of(&b, args[1], k)));
            let own: Vec<Value> = fields.collect();
            joined_in_warp(m, f, &b, &joins, &own)
        }
    };
    for (k, (how, v)) in joins.iter().zip(own).enumerate() {
        let p = b.offset(args[0], b.i64(8 * k as u64));
        put(m, f, &b, *how, p, v);
    }
    b.ret(None);
    f
}

/// Of a function whose first parameter is an address: a thread's own numbers, joined over the warp in its first lane and
/// zero in others, where all lanes are here and have the same address; as they are elsewhere.
fn joined_in_warp(m: &Module, f: Value, b: &Builder, joins: &[Join], own: &[Value]) -> Vec<Value> {
    let args = f.params();
    // Lanes that came from different calls must not be taken for one.
    f.add_enum_attr("convergent");
    let (here, alike) = (b.block(), m.append_block(f, "here"));
    let (whole, joined) = (m.append_block(f, "whole"), m.append_block(f, "joined"));
    let mask = b.intrinsic("llvm.nvvm.activemask", &[], &[]);
    let all = b.icmp(IntPred::LLVMIntEQ, mask, b.i32(WHOLE_WARP));
    b.cond_br(all, alike, joined);
    b.move_to_end(alike);
    // The low word tells addresses of one array apart.
    let to = b.cast(Opcode::LLVMPtrToInt, args[0], b.int_ty(32));
    let same = b.icmp(IntPred::LLVMIntEQ, to, shuffled(b, "idx", to, 0));
    let vote = "llvm.nvvm.vote.all.sync";
    let same = b.intrinsic(vote, &[], &[b.i32(WHOLE_WARP), same]);
    b.cond_br(same, whole, joined);
    b.move_to_end(whole);
    let lane = b.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[]);
    let first = b.icmp(IntPred::LLVMIntEQ, lane, b.i32(0));
    let of_warp = |(how, v): (&Join, &Value)| {
        let halves = (0..LANES.trailing_zeros()).rev();
        let joined = halves.fold(*v, |v, bit| {
            let other = exchanged(b, v, 1 << bit);
            match how {
                Join::Sum => b.add(v, other),
                Join::Largest => larger(b, v, other),
                Join::All => b.or(v, other),
            }
        });
        b.select(first, joined, b.i64(0))
    };
    let sums: Vec<Value> = joins.iter().zip(own).map(of_warp).collect();
    b.br(joined);
    b.move_to_end(joined);
    let both = own.iter().zip(sums);
    both.map(|(own, sum)| {
        let v = b.phi(m.int_ty(64));
        v.add_incoming(&[(*own, here), (*own, alike), (sum, whole)]);
        v
    })
    .collect()
}

/// A 32-bit number of another lane: of lane `which`, or with `bfly` of the lane whose number differs in that bit.
fn shuffled(b: &Builder, mode: &str, v: Value, which: u32) -> Value {
    let name = format!("llvm.nvvm.shfl.sync.{mode}.i32");
    let last_lane = b.i32(LANES as u32 - 1);
    b.intrinsic(&name, &[], &[b.i32(WHOLE_WARP), v, b.i32(which), last_lane])
}

/// The 64-bit number of the lane whose number differs in one bit.
fn exchanged(b: &Builder, v: Value, bit: u32) -> Value {
    let (word, wide) = (b.int_ty(32), b.int_ty(64));
    let half = |v: Value| {
        let other = shuffled(b, "bfly", b.zext_or_trunc(v, word), bit);
        b.zext_or_trunc(other, wide)
    };
    let shift = b.i64(32);
    b.or(half(v), b.shl(half(b.lshr(v, shift)), shift))
}

/// A block's count goes to that of the thread's lane, and into the largest of any thread.
fn flush_block(m: &Module) -> Value {
    let (f, b) = joining(m, "__kerf_count_add_block", 1, m.int_ty(64));
    let args = f.params();
    let register = |name: &str| b.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{name}"), &[], &[]);
    let rows = b.add(
        b.mul(register("tid.z"), register("ntid.y")),
        register("tid.y"),
    );
    let thread = b.add(b.mul(rows, register("ntid.x")), register("tid.x"));
    let lane = b.and(thread, b.i32(LANES as u32 - 1));
    let at = b.shl(b.zext_or_trunc(lane, m.int_ty(64)), b.i64(3));
    put(m, f, &b, Join::Sum, b.offset(args[0], at), args[1]);
    let largest = b.offset(args[0], b.i64(8 * LANES as u64));
    put(m, f, &b, Join::Largest, largest, args[1]);
    b.ret(None);
    f
}

/// A block's count by a thread of a warp that is looked at, into those of its warp.
fn flush_warp(m: &Module) -> Value {
    let (f, b) = joining(m, "__kerf_count_add_warp", 2, m.int_ty(64));
    let args = f.params();
    let joins = [(Join::All, 1), (Join::Largest, 2), (Join::Sum, 2)];
    debug_assert_eq!(joins.len() as u64, lanes::FIELDS);
    for (k, (how, arg)) in joins.into_iter().enumerate() {
        let p = b.offset(args[0], b.i64(8 * k as u64));
        put(m, f, &b, how, p, args[arg]);
    }
    b.ret(None);
    f
}
