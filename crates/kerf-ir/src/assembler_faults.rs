//! Ways round seven faults of NVIDIA's assembler, applied to what becomes PTX and to nothing else.
//!
//! Each was found where an H200 gave other bits than the CPU executor, and seen in the machine code
//! of ptxas 12.9.86 and 13.0.88 at every level but 0, and in driver 580's. `bench/probes/assembler`
//! has the smallest PTX that shows each, and says how to look.
//!
//! - **Clamp of a half.** In `min.f16(max.f16(x, C), D)` with constants C and D, the assembler takes
//!   the result as zero-extended to 32 bits, but nothing clears the upper half of the register. What
//!   reads the bits as an unsigned integer (`cvt.u32.u16`, `shr.u16`, `setp.lt.u16`,
//!   `mul.wide.u16`) then reads that half too. The minimum is therefore written as `min.f16x2`, which
//!   becomes the same machine instruction, without the assumption. Extending the result by
//!   `mov.b32 {h, 0}` serves `cvt.u32.u16` only: back in 16 bits, ptxas looks through it.
//! - **Absolute value of minus zero.** `abs.f32` of a choice between a value that is not negative
//!   and the constant -0.0 is deleted, as if -0.0 had no sign; a minimum or maximum in between hides
//!   nothing. Such an `abs.f32` is written as `and.b32`, in assembly, since as IR it would become
//!   `abs.f32` again.
//! - **Absolute value of the least integer.** `cvt.rn.f32.u32` of `abs.s32`, and `cvt.rn.f32.u16` of `abs.s16`, are
//!   assembled as conversions of signed integers, as if no absolute value had its highest bit set; that of the least
//!   integer has. There the absolute value is written as a maximum.
//! - **Comparisons that only NaN fails.** The assembler knows that sines, cosines and hyperbolic tangents are within [-1, 1], and
//!   that powers of two and absolute values are not negative, and takes `setp.lt.f32` of a sine with 3 as true. It is
//!   not where the sine is NaN. Such a comparison is written as the opposite one that NaN passes, turned round.
//! - **Choice between parameters.** LLVM makes a load through a chosen address of `select` between two parameters of a
//!   function, as if parameters had to be in memory. Optimised, such a load gave other values on an H200 where its caller has
//!   variables in local memory. A frozen parameter is loaded first.
//! - **Narrow stores of a number's bits.** `st.b16` and `st.b8` of a 32-bit register, `st.b32` of a 64-bit one and `st.b8` of a 16-bit
//!   one store the lower bits. Where the register was last written by a floating-point operation (`add.rn.f32`, `selp.f32`), the
//!   assembler converts the number to an integer instead, at level 0 too. LLVM folds truncations into such stores, those of vectors
//!   too. A `mov` of every lane before the truncation makes them bits.
//! - **Recursion and convergence.** A recursive function may return with its warp split, but the
//!   assembler takes the warp as whole again, leaves out the synchronisation before a barrier, vote
//!   or shuffle, and deletes a `bar.warp.sync` whose mask it knows to be uniform. See [`converge`].
use crate::kernels::{address_taken, reachable};
use kerf_llvm::{Builder, IntPred, Module, Opcode, RealPred, Type, TypeKind, Value};
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// Rewrites what the assembler would get wrong. The module is to be emitted as PTX right after.
pub fn avoid(m: &Module, capability: u64) {
    // Below sm_80 there is no min.f16: LLVM computes it in f32.
    let native_half = capability >= 80;
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        for i in f.instructions() {
            if native_half && clamps_half(i) {
                pack_minimum(i);
            } else if is_abs(i) && may_be_minus_zero(i.operand(0)) {
                clear_sign(i);
            } else if let Some(a) = converted_abs(i) {
                i.set_operand(0, maximum(i, a));
            } else if let Some(opposite) = only_nan_fails(i) {
                turn_round(i, opposite);
            } else if narrows_bits_of_float(i) {
                move_bits(i);
            } else if chooses_parameters(i) {
                i.set_operand(1, Builder::before(i).freeze(i.operand(1)));
            }
        }
    }
    let mut done: Vec<Value> = Vec::new();
    for kernel in m.kernel_functions() {
        let all = reachable(kernel);
        if !all.iter().any(|f| is_recursive(*f)) {
            continue;
        }
        for f in all {
            if !done.contains(&f) {
                converge(f);
                done.push(f);
            }
        }
    }
}

/// What an instruction calls, if it is an intrinsic.
fn intrinsic(v: Value) -> Option<String> {
    v.callee_name().filter(|n| n.starts_with("llvm."))
}

fn without_freeze(mut v: Value) -> Value {
    while v.opcode() == Some(Opcode::LLVMFreeze) {
        v = v.operand(0);
    }
    v
}

/// A minimum of halves, one of which is a maximum. The fault needs constants, but ptxas may find
/// some that LLVM does not, and the other form costs nothing.
fn clamps_half(i: Value) -> bool {
    let is = |v: Value, names: [&str; 3]| {
        intrinsic(v).is_some_and(|n| names.iter().any(|name| n == *name))
    };
    is(
        i,
        [
            "llvm.minnum.f16",
            "llvm.minimumnum.f16",
            "llvm.nvvm.fmin.f16",
        ],
    ) && i.args().into_iter().any(|a| {
        is(
            without_freeze(a),
            [
                "llvm.maxnum.f16",
                "llvm.maximumnum.f16",
                "llvm.nvvm.fmax.f16",
            ],
        )
    })
}

fn pack_minimum(i: Value) {
    let b = Builder::before(i);
    let word = b.int_ty(16);
    let args: Vec<Value> = i.args().iter().map(|a| b.bitcast(*a, word)).collect();
    let text = "{.reg .b32 x, y; .reg .b16 upper; mov.b32 x, {$1, $1}; mov.b32 y, {$2, $2}; \
                min.f16x2 x, x, y; mov.b32 {$0, upper}, x;}";
    let r = b.inline_asm(text, "=h,h,h", word, &args);
    i.become_value(b.bitcast(r, i.ty()));
}

fn is_abs(i: Value) -> bool {
    i.ty().kind() == TypeKind::LLVMFloatTypeKind
        && intrinsic(i).is_some_and(|n| n == "llvm.fabs.f32" || n == "llvm.nvvm.fabs.f32")
}

/// Can a value be the constant -0.0, by choices and extremes alone?
fn may_be_minus_zero(v: Value) -> bool {
    let mut seen = BTreeSet::from([v]);
    let mut open = vec![v];
    while let Some(v) = open.pop() {
        let minus = |c: f64| c == 0.0 && c.is_sign_negative();
        if v.const_real().is_some_and(minus) || v.const_int() == Some(1 << 31) {
            return true;
        }
        let from = match v.opcode() {
            Some(Opcode::LLVMSelect) => vec![v.operand(1), v.operand(2)],
            Some(Opcode::LLVMPHI) => v.incoming().into_iter().map(|p| p.0).collect(),
            Some(Opcode::LLVMFreeze | Opcode::LLVMBitCast) => vec![v.operand(0)],
            Some(Opcode::LLVMCall) if is_extreme(v) => v.args(),
            _ => Vec::new(),
        };
        open.extend(from.into_iter().filter(|x| seen.insert(*x)));
    }
    false
}

fn is_extreme(call: Value) -> bool {
    const NAMES: [&str; 8] = [
        "llvm.minnum.",
        "llvm.maxnum.",
        "llvm.minimumnum.",
        "llvm.maximumnum.",
        "llvm.minimum.",
        "llvm.maximum.",
        "llvm.nvvm.fmin.",
        "llvm.nvvm.fmax.",
    ];
    intrinsic(call).is_some_and(|n| NAMES.iter().any(|name| n.starts_with(name)))
}

fn clear_sign(i: Value) {
    let b = Builder::before(i);
    let word = b.int_ty(32);
    let x = b.bitcast(i.operand(0), word);
    let r = b.inline_asm("and.b32 $0, $1, 0x7fffffff;", "=r,r", word, &[x]);
    i.become_value(b.bitcast(r, i.ty()));
}

/// The absolute value of an integer that an instruction converts as an unsigned one.
fn converted_abs(i: Value) -> Option<Value> {
    let f32 = i.ty().kind() == TypeKind::LLVMFloatTypeKind;
    if i.opcode() != Some(Opcode::LLVMUIToFP) || !f32 {
        return None;
    }
    let a = without_freeze(i.operand(0));
    let name = intrinsic(a)?;
    ["llvm.abs.i32", "llvm.abs.i16"]
        .contains(&name.as_str())
        .then_some(a)
}

fn maximum(at: Value, abs: Value) -> Value {
    let (text, constraints) = match abs.ty().int_bits() {
        16 => ("{.reg .b16 n; neg.s16 n, $1; max.s16 $0, $1, n;}", "=h,h"),
        _ => ("{.reg .b32 n; neg.s32 n, $1; max.s32 $0, $1, n;}", "=r,r"),
    };
    let b = Builder::before(at);
    b.inline_asm(text, constraints, abs.ty(), &[abs.operand(0)])
}

/// Values that a range is looked for through; each is a call on the stack. The assembler looks no further than a few.
const LONGEST_CHOICE: usize = 200;

/// Ranges that the assembler knows of a value, or of what it is chosen from, where it is not NaN.
fn ranges(v: Value, seen: &mut Vec<Value>) -> Vec<(f64, f64)> {
    if seen.len() >= LONGEST_CHOICE || seen.contains(&v) {
        return Vec::new();
    }
    seen.push(v);
    let mut of = |all: Vec<Value>| -> Vec<(f64, f64)> {
        all.into_iter().flat_map(|x| ranges(x, seen)).collect()
    };
    match v.opcode() {
        Some(Opcode::LLVMSelect) => of(vec![v.operand(1), v.operand(2)]),
        Some(Opcode::LLVMPHI) => of(v.incoming().into_iter().map(|p| p.0).collect()),
        Some(Opcode::LLVMFreeze) => of(vec![v.operand(0)]),
        Some(Opcode::LLVMFNeg) => {
            let all = of(vec![v.operand(0)]);
            all.into_iter().map(|(low, high)| (-high, -low)).collect()
        }
        Some(Opcode::LLVMCall) if is_extreme(v) => of(v.args()),
        Some(Opcode::LLVMCall) if is_abs(v) => {
            let inner = of(vec![v.operand(0)]);
            let highest = inner.iter().map(|(low, high)| high.max(-low));
            vec![(0.0, highest.fold(f64::INFINITY, f64::min))]
        }
        Some(Opcode::LLVMCall) => {
            let name = match v.callee().is_inline_asm() {
                true => v.callee().asm_text().0,
                false => intrinsic(v).unwrap_or_default(),
            };
            let has = |part: &str| name.contains(part);
            let wave = ["sin.approx", "cos.approx", "tanh.approx"]
                .into_iter()
                .any(has);
            if wave || name == "llvm.sin.f32" || name == "llvm.cos.f32" {
                vec![(-1.0, 1.0)]
            } else if has("ex2.approx") || name == "llvm.exp2.f32" {
                vec![(0.0, f64::INFINITY)]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

/// What PTX calls the opposite of a comparison with a constant that everything in a known range passes.
fn only_nan_fails(i: Value) -> Option<&'static str> {
    use RealPred::*;
    if i.opcode() != Some(Opcode::LLVMFCmp)
        || i.operand(0).ty().kind() != TypeKind::LLVMFloatTypeKind
    {
        return None;
    }
    let (opposite, less, equal) = match i.real_pred() {
        LLVMRealOLT => ("geu", true, false),
        LLVMRealOLE => ("gtu", true, true),
        LLVMRealOGT => ("leu", false, false),
        LLVMRealOGE => ("ltu", false, true),
        _ => return None,
    };
    let (value, constant, less) = match (i.operand(0).const_real(), i.operand(1).const_real()) {
        (None, Some(c)) => (i.operand(0), c, less),
        (Some(c), None) => (i.operand(1), c, !less),
        _ => return None,
    };
    let passes = |(low, high): (f64, f64)| match (less, equal) {
        (true, false) => high < constant,
        (true, true) => high <= constant,
        (false, false) => low > constant,
        (false, true) => low >= constant,
    };
    ranges(value, &mut Vec::new())
        .into_iter()
        .any(passes)
        .then_some(opposite)
}

fn turn_round(i: Value, opposite: &str) {
    let b = Builder::before(i);
    let word = b.int_ty(32);
    let text = format!("{{.reg .pred q; setp.{opposite}.f32 q, $1, $2; selp.b32 $0, 0, 1, q;}}");
    let r = b.inline_asm(&text, "=r,f,f", word, &[i.operand(0), i.operand(1)]);
    i.become_value(b.icmp(IntPred::LLVMIntNE, r, word.zero()));
}

fn chooses_parameters(i: Value) -> bool {
    let both = || [1, 2].iter().all(|k| i.operand(*k).is_argument());
    i.opcode() == Some(Opcode::LLVMSelect) && both()
}

/// Does an instruction take the lower bits of what may be a floating-point number, by choices and moves of lanes alone? Masks are
/// looked through: code generation leaves out those that keep all that is stored.
fn narrows_bits_of_float(i: Value) -> bool {
    if i.opcode() != Some(Opcode::LLVMTrunc) {
        return false;
    }
    let mut seen = BTreeSet::from([i.operand(0)]);
    let mut open = vec![i.operand(0)];
    while let Some(v) = open.pop() {
        use Opcode::*;
        let from = match v.opcode() {
            Some(LLVMBitCast) if v.operand(0).ty().element().format().is_some() => return true,
            Some(LLVMBitCast | LLVMFreeze | LLVMExtractElement) => vec![v.operand(0)],
            Some(LLVMAnd | LLVMInsertElement | LLVMShuffleVector) => {
                vec![v.operand(0), v.operand(1)]
            }
            Some(LLVMSelect) => vec![v.operand(1), v.operand(2)],
            Some(LLVMPHI) => v.incoming().into_iter().map(|p| p.0).collect(),
            _ => Vec::new(),
        };
        open.extend(from.into_iter().filter(|x| seen.insert(*x)));
    }
    false
}

/// Moves what is narrowed into registers of its own, as bits, one a lane.
fn move_bits(i: Value) {
    let x = i.operand(0);
    let element = x.ty().element();
    let (text, constraints) = match element.int_bits() {
        16 => ("mov.b16 $0, $1;", "=h,h"),
        32 => ("mov.b32 $0, $1;", "=r,r"),
        64 => ("mov.b64 $0, $1;", "=l,l"),
        _ => return,
    };
    let b = Builder::before(i);
    let moved = |x: Value| b.inline_asm(text, constraints, element, &[x]);
    let all = match x.ty().is_vector() {
        false => moved(x),
        true => (0..x.ty().lanes()).fold(x, |v, k| b.set_lane(v, moved(b.lane(x, k)), k)),
    };
    i.set_operand(0, all);
}

/// Can a function be called while it runs? A call through a pointer may reach every function whose
/// address is taken.
fn is_recursive(f: Value) -> bool {
    let (mut named, mut indirect) = (false, false);
    for i in reachable(f).iter().flat_map(|g| g.instructions()) {
        named |= i.operands().contains(&f);
        indirect |= i.opcode() == Some(Opcode::LLVMCall)
            && !i.callee().is_function()
            && !i.callee().is_inline_asm();
    }
    named || indirect && address_taken(f).contains(&f)
}

/// Which threads of its warp take part in an operation.
enum Members {
    /// All that have not exited.
    Warp,
    /// Those of the mask that is this argument.
    Mask(u32),
}

/// The members of an operation that threads of a warp make together.
///
/// `activemask` is none: PTX promises nothing about who is together there. Nor is a barrier that is
/// neither aligned nor for the whole block, since part of a warp may be meant to arrive at it.
fn members(call: Value) -> Option<Members> {
    const WHOLE_WARP: [&str; 6] = [
        "wmma.",
        "mma.",
        "ldmatrix.",
        "stmatrix.",
        "wgmma.",
        "setmaxnreg.",
    ];
    let name = intrinsic(call)?;
    let n = name.strip_prefix("llvm.nvvm.")?;
    let starts = |p: &str| n.starts_with(p);
    if starts("barrier.cta.") {
        return (n.contains(".aligned") || n.ends_with(".all")).then_some(Members::Warp);
    }
    if starts("barrier.cluster.") {
        return n.ends_with(".aligned").then_some(Members::Warp);
    }
    if WHOLE_WARP.iter().any(|p| starts(p)) {
        return Some(Members::Warp);
    }
    if starts("redux.sync.") {
        return Some(Members::Mask(1));
    }
    let masked_first = starts("shfl.sync.")
        || starts("bar.warp.sync")
        || starts("elect.sync")
        || (starts("vote.") || starts("match.")) && n.contains(".sync");
    masked_first.then_some(Members::Mask(0))
}

/// Puts a warp synchronisation that stays before everything that the warp's threads do together.
///
/// The mask is all ones, and-ed with the members where the operation names them, but comes from a
/// square whose second bit the assembler does not know to be 0, so that it cannot show that all
/// threads have the same. For a block barrier the members are the whole warp: with `.aligned` by its
/// definition, and without it because nobody passes before all have come. Lanes that have exited, or
/// that a last incomplete warp never had, count as arrived: CUDA says so of `__syncwarp` for exited
/// ones, and seed 44's kernel, with 100 threads a block, gave the right bits on the H200 this way.
fn converge(f: Value) {
    let all: Vec<(Value, Members)> = f
        .instructions()
        .into_iter()
        .filter_map(|i| members(i).map(|m| (i, m)))
        .collect();
    if all.is_empty() {
        return;
    }
    let first = f.blocks()[0]
        .instructions()
        .into_iter()
        .find(|i| i.opcode() != Some(Opcode::LLVMAlloca));
    let Some(first) = first else { return };
    let b = Builder::before(first);
    let ones = all_ones(&b, b.int_ty(32));
    for (call, members) in all {
        let b = Builder::before(call);
        let mask = match members {
            Members::Warp => ones,
            Members::Mask(k) => b.and(call.operand(k), ones),
        };
        if intrinsic(call).is_some_and(|n| n == "llvm.nvvm.bar.warp.sync") {
            call.set_operand(0, mask);
        } else {
            b.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[mask]);
        }
    }
}

/// -1, as a value that differs between threads for all that ptxas can tell. LLVM knows the bits of
/// squares, hence assembly.
fn all_ones(b: &Builder, word: Type) -> Value {
    let text = "{.reg .b32 x; mov.u32 x, %laneid; mul.lo.u32 x, x, x; and.b32 x, x, 2; \
                add.s32 $0, x, -1;}";
    b.inline_asm(text, "=r", word, &[])
}
