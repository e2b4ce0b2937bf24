//! Each NVPTX operation as ordinary IR, or as a call into the runtime.
//!
//! IEEE operations become the IR operation. Operations that the PTX manual defines where LLVM has
//! undefined behaviour (conversion out of range, integer division by zero) get the GPU's answer, as
//! read off an H200. Directed roundings, half-precision fma and warp operations are runtime calls.
use super::approx;
use super::context::offset;
use super::lower::{Lead, field};
use kerf_ir::kernels::reachable;
use kerf_ir::llvm::{Builder, IntPred, LlvmError, Module, Opcode, RealPred, RmwOp, Type, Value};
use kerf_num::Format;

/// Operations of a kernel that the CPU models instead of reproducing: f32 special functions.
pub fn modelled(kernel: Value) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for f in reachable(kernel) {
        for i in f.instructions() {
            let Some(n) = i.callee_name() else { continue };
            let op = n.trim_start_matches("llvm.nvvm.");
            let op = &op
                .strip_suffix(".f")
                .map_or_else(|| op.to_owned(), |o| format!("{o}.f32"));
            let hit = (n.contains(".approx") && !n.ends_with(".d"))
                || n.starts_with("llvm.tanh")
                || n.contains("div.full");
            if hit && !out.contains(op) {
                out.push(op.clone());
            }
        }
    }
    out.sort();
    out
}

fn shape(t: Type) -> (Format, u32) {
    (t.element().format().unwrap_or(Format::F64), t.lanes())
}

/// Applies a scalar function to each lane.
fn per_lane(b: &Builder, ty: Type, args: &[Value], f: &dyn Fn(&[Value]) -> Value) -> Value {
    if !ty.is_vector() {
        return f(args);
    }
    let mut out = ty.poison();
    for l in 0..ty.lanes() {
        let a: Vec<Value> = args
            .iter()
            .map(|v| {
                if v.ty().is_vector() {
                    b.lane(*v, l)
                } else {
                    *v
                }
            })
            .collect();
        out = b.set_lane(out, f(&a), l);
    }
    out
}

/// The GPU's conversion to an integer: saturating, NaN to the value the H200 gives.
fn to_int(b: &Builder, v: Value, ty: Type, signed: bool) -> Value {
    let bits = ty.element().int_bits();
    let fmt = v.ty().element().format().unwrap_or(Format::F64);
    let name = if signed {
        "llvm.fptosi.sat"
    } else {
        "llvm.fptoui.sat"
    };
    let r = b.intrinsic(name, &[ty, v.ty()], &[v]);
    // f64, and any conversion to 64 bits, gives 100..0 for NaN; the saturating intrinsic gives 0.
    if bits >= 32 && (fmt == Format::F64 || bits == 64) {
        let nan = b.fcmp(RealPred::LLVMRealUNO, v, v);
        let top = 1u64 << (bits - 1);
        let top = if ty.is_vector() {
            (0..ty.lanes()).fold(ty.poison(), |acc, l| {
                b.set_lane(acc, ty.element().int(top), l)
            })
        } else {
            ty.int(top)
        };
        return b.select(nan, top, r);
    }
    r
}

/// PTX's min and max: a NaN loses against a number, and -0 is less than +0. Written out, because
/// LLVM 22's x86 lowering of `minimumnum` gives NaN where one operand is known to be a number.
fn extreme(b: &Builder, x: Value, y: Value, least: bool) -> Value {
    let t = x.ty();
    let width = 8 * t.element().format().map_or(8, |f| f.bytes() as u32);
    let bits = if t.is_vector() {
        b.int_ty(width).vector(t.lanes())
    } else {
        b.int_ty(width)
    };
    let first = b.fcmp(
        if least {
            RealPred::LLVMRealOLT
        } else {
            RealPred::LLVMRealOGT
        },
        x,
        y,
    );
    let r = b.select(first, x, y);
    let r = b.select(b.fcmp(RealPred::LLVMRealUNO, y, y), x, r);
    // Equal values have equal bits, but for zeros: the sign bits then decide.
    let (p, q) = (b.bitcast(x, bits), b.bitcast(y, bits));
    let zero = b.bitcast(if least { b.or(p, q) } else { b.and(p, q) }, t);
    b.select(b.fcmp(RealPred::LLVMRealOEQ, x, y), zero, r)
}

fn guard_division(b: &Builder, i: Value) -> Option<Value> {
    let (x, d) = (i.operand(0), i.operand(1));
    if d.is_constant() || i.ty().is_vector() {
        return None;
    }
    let ty = i.ty();
    let one = ty.int(1);
    let zero = b.icmp(IntPred::LLVMIntEQ, d, ty.zero());
    let op = i.opcode()?;
    let all = b.sub(ty.zero(), one);
    let mut bad = zero;
    if matches!(op, Opcode::LLVMSDiv | Opcode::LLVMSRem) {
        let min = ty.int(1u64 << (ty.int_bits().min(64) - 1));
        let minus = b.icmp(IntPred::LLVMIntEQ, d, all);
        let least = b.icmp(IntPred::LLVMIntEQ, x, min);
        bad = b.or(zero, b.and(minus, least));
    }
    let safe = b.select(bad, one, d);
    let r = b.bin(op, x, safe);
    // By zero: all ones. INT_MIN / -1: INT_MIN, which x / 1 gives; its remainder 0, which x % 1 gives.
    Some(b.select(zero, all, r))
}

/// Flushes subnormal f32 values to zero of their sign.
pub(super) fn flush(b: &Builder, v: Value) -> Value {
    let t = v.ty();
    if t.format() != Some(Format::F32) {
        return v;
    }
    let a = b.intrinsic("llvm.fabs", &[t], &[v]);
    let tiny = b.fcmp(
        RealPred::LLVMRealOLT,
        a,
        t.real(f64::from(f32::MIN_POSITIVE)),
    );
    let zero = b.intrinsic("llvm.copysign", &[t], &[t.zero(), v]);
    b.select(tiny, zero, v)
}

fn runtime(m: &Module, name: &str, ret: Type, args: &[Value], b: &Builder) -> Value {
    let types: Vec<Type> = args.iter().map(|v| v.ty()).collect();
    b.call(m.declare(name, ret.function(&types)), args)
}

fn pure_runtime(m: &Module, name: &str, ret: Type, args: &[Value], b: &Builder) -> Value {
    let types: Vec<Type> = args.iter().map(|v| v.ty()).collect();
    let f = m.declare(name, ret.function(&types));
    let c = b.call(f, args);
    f.mark_pure();
    c
}

/// `fma` of half or bfloat, correctly rounded (the backend's own expansion rounds twice).
fn small_fma(m: &Module, b: &Builder, a: &[Value]) -> Value {
    let t = a[0].ty();
    let i16t = b.int_ty(16);
    let name = if t.format() == Some(Format::Bf16) {
        "kerf_fma_bf16"
    } else {
        "kerf_fma_f16"
    };
    let bits: Vec<Value> = a.iter().map(|v| b.bitcast(*v, i16t)).collect();
    b.bitcast(pure_runtime(m, name, i16t, &bits, b), t)
}

fn linear_thread(b: &Builder, lead: &Lead) -> Value {
    let nx = field(b, lead.ctx, offset::NTID, b.int_ty(32));
    let ny = field(b, lead.ctx, offset::NTID + 4, b.int_ty(32));
    let zy = b.add(lead.tid[1], b.mul(ny, lead.tid[2]));
    b.add(lead.tid[0], b.mul(nx, zy))
}

fn special_register(b: &Builder, lead: &Lead, n: &str, ty: Type) -> Option<Value> {
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
            _ if n.starts_with("envreg") => return Some(ty.zero()),
            _ => return None,
        },
    };
    Some(b.zext_or_trunc(r, ty))
}

fn site_number(i: Value) -> u64 {
    let line = i
        .location()
        .and_then(|l| l.split('\t').nth(3).and_then(|n| n.parse::<u64>().ok()))
        .unwrap_or(0);
    // The address tells call sites of one line apart; only equality within a run matters.
    (line << 32) | ((i.0 as u64 >> 4) & 0xffff_ffff)
}

/// Kinds of warp operation, as the runtime numbers them.
pub mod warp_kind {
    /// shfl.up
    pub const SHFL_UP: u32 = 0;
    /// shfl.down
    pub const SHFL_DOWN: u32 = 1;
    /// shfl.bfly
    pub const SHFL_BFLY: u32 = 2;
    /// shfl.idx
    pub const SHFL_IDX: u32 = 3;
    /// vote.all
    pub const ALL: u32 = 4;
    /// vote.any
    pub const ANY: u32 = 5;
    /// vote.uni
    pub const UNI: u32 = 6;
    /// vote.ballot
    pub const BALLOT: u32 = 7;
    /// match.any
    pub const MATCH_ANY: u32 = 8;
    /// match.all
    pub const MATCH_ALL: u32 = 9;
    /// activemask
    pub const ACTIVE: u32 = 10;
    /// bar.warp.sync
    pub const SYNC: u32 = 11;
    /// elect.sync
    pub const ELECT: u32 = 12;
    /// redux.sync, plus the operation
    pub const REDUX: u32 = 16;
    /// Operations of redux, in order.
    pub const REDUX_OPS: [&str; 8] = ["add", "min", "max", "umin", "umax", "and", "or", "xor"];
}

#[allow(clippy::too_many_arguments)] // the operation's own operands
fn warp_call(
    m: &Module,
    b: &Builder,
    lead: &Lead,
    i: Value,
    kind: u32,
    mask: Value,
    value: Value,
    x: Value,
    c: Value,
) -> Value {
    let mut a = lead.all();
    a.extend([b.i32(kind), mask, value, x, c, b.i64(site_number(i))]);
    runtime(m, "kerf_warp", b.int_ty(64), &a, b)
}

fn collective(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
    use warp_kind::*;
    let (i32t, i64t) = (b.int_ty(32), b.int_ty(64));
    let a = i.args();
    let zero = b.i32(0);
    let low = |v: Value| b.zext_or_trunc(v, i32t);
    let flag = |v: Value| {
        let h = b.lshr(v, b.i64(32));
        b.zext_or_trunc(h, b.int_ty(1))
    };
    let pair = |v: Value, first: Value| {
        let s = b.insert(i.ty().poison(), first, 0);
        b.insert(s, flag(v), 1)
    };
    if let Some(rest) = n.strip_prefix("shfl.sync.") {
        let mut parts = rest.split('.');
        let kind = match parts.next()? {
            "up" => SHFL_UP,
            "down" => SHFL_DOWN,
            "bfly" => SHFL_BFLY,
            "idx" => SHFL_IDX,
            _ => return None,
        };
        let suffix = parts.next()?;
        let v = b.zext_or_trunc(b.bitcast(a[1], i32t), i64t);
        let r = warp_call(m, b, lead, i, kind, a[0], v, a[2], a[3]);
        let value = b.bitcast(low(r), a[1].ty());
        return Some(if suffix.ends_with('p') {
            pair(r, value)
        } else {
            value
        });
    }
    if let Some(rest) = n.strip_prefix("vote.") {
        let kind = match rest.split('.').next()? {
            "all" => ALL,
            "any" => ANY,
            "uni" => UNI,
            "ballot" => BALLOT,
            _ => return None,
        };
        let (mask, p) = if rest.ends_with(".sync") {
            (a[0], a[1])
        } else {
            (b.i32(u32::MAX), a[0])
        };
        let p = b.zext_or_trunc(p, i64t);
        let r = warp_call(m, b, lead, i, kind, mask, p, zero, zero);
        return Some(b.zext_or_trunc(r, i.ty()));
    }
    if let Some(rest) = n.strip_prefix("match.") {
        let kind = if rest.starts_with("any") {
            MATCH_ANY
        } else {
            MATCH_ALL
        };
        let v = b.zext_or_trunc(a[1], i64t);
        let r = warp_call(m, b, lead, i, kind, a[0], v, zero, zero);
        return Some(if rest.ends_with('p') {
            pair(r, low(r))
        } else {
            low(r)
        });
    }
    if let Some(op) = n.strip_prefix("redux.sync.") {
        let k = REDUX_OPS.iter().position(|o| *o == op)?;
        let v = b.zext_or_trunc(a[0], i64t);
        return Some(low(warp_call(
            m,
            b,
            lead,
            i,
            REDUX + k as u32,
            a[1],
            v,
            zero,
            zero,
        )));
    }
    if n == "activemask" {
        return Some(low(warp_call(
            m,
            b,
            lead,
            i,
            ACTIVE,
            b.i32(u32::MAX),
            b.i64(0),
            zero,
            zero,
        )));
    }
    if n == "elect.sync" {
        let r = warp_call(m, b, lead, i, ELECT, a[0], b.i64(0), zero, zero);
        return Some(pair(r, low(r)));
    }
    if n == "bar.warp.sync" {
        return Some(warp_call(m, b, lead, i, SYNC, a[0], b.i64(0), zero, zero));
    }
    barrier(m, b, lead, i, n)
}

fn barrier(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
    let i32t = b.int_ty(32);
    let a = i.args();
    let zero = b.i32(0);
    let rest = n.strip_prefix("barrier.cta.");
    // (reduction kind, predicate, id, count)
    let (kind, pred, id, count) = match rest {
        Some(r) if r.starts_with("sync.") => (
            0,
            zero,
            a[0],
            if r.ends_with("count") { a[1] } else { zero },
        ),
        Some(r) if r.starts_with("red.") => {
            let kind = if r.contains("popc") {
                1
            } else if r.contains("and") {
                2
            } else {
                3
            };
            let counted = r.ends_with("count");
            let p = *a.last()?;
            (
                kind,
                b.zext_or_trunc(p, i32t),
                a[0],
                if counted { a[1] } else { zero },
            )
        }
        Some(r) if r.starts_with("arrive.") => (super::block::ARRIVE, zero, a[0], *a.get(1)?),
        Some(_) => return None,
        None => match n {
            "barrier0" | "barrier" | "barrier.sync" | "bar.sync" | "barrier.n" => (
                0,
                zero,
                a.first().copied().unwrap_or(zero),
                a.get(1).copied().unwrap_or(zero),
            ),
            "barrier0.popc" | "barrier0.and" | "barrier0.or" => {
                let kind = if n.ends_with("popc") {
                    1
                } else if n.ends_with("and") {
                    2
                } else {
                    3
                };
                (kind, a[0], zero, zero)
            }
            _ => return None,
        },
    };
    let mut args = lead.all();
    args.extend([id, count, b.i32(kind), pred, b.i64(site_number(i))]);
    let r = runtime(m, "kerf_barrier", i32t, &args, b);
    if i.ty().is_void() {
        return Some(r);
    }
    if i.ty().int_bits() == 1 {
        return Some(b.icmp(IntPred::LLVMIntNE, r, zero));
    }
    Some(r)
}

/// Rounding mode suffix to the runtime's function suffix.
fn directed(mode: &str) -> Option<&'static str> {
    match mode {
        "rz" => Some("rz"),
        "rm" => Some("rm"),
        "rp" => Some("rp"),
        _ => None,
    }
}

fn round_to(b: &Builder, v: Value, mode: &str) -> Value {
    let name = match mode {
        "rn" => "llvm.roundeven",
        "rz" => "llvm.trunc",
        "rm" => "llvm.floor",
        _ => "llvm.ceil",
    };
    b.intrinsic(name, &[v.ty()], &[v])
}

/// `add.rn.ftz.f` and its family.
fn arithmetic(m: &Module, b: &Builder, i: Value, n: &str) -> Option<Value> {
    let parts: Vec<&str> = n.split('.').collect();
    let (op, mode) = (*parts.first()?, *parts.get(1)?);
    if !matches!(op, "add" | "sub" | "mul" | "div" | "fma" | "sqrt" | "rcp")
        || !matches!(mode, "rn" | "rz" | "rm" | "rp")
    {
        return None;
    }
    if parts.iter().any(|p| matches!(*p, "sat" | "relu" | "oob")) {
        return None;
    }
    let ftz = parts.contains(&"ftz");
    let t = i.ty();
    let mut a = i.args();
    if ftz {
        a = a.iter().map(|v| flush(b, *v)).collect();
    }
    if op == "rcp" {
        a.insert(0, t.real(1.0));
    }
    let r = if mode == "rn" {
        match op {
            "add" => b.bin(Opcode::LLVMFAdd, a[0], a[1]),
            "sub" => b.bin(Opcode::LLVMFSub, a[0], a[1]),
            "mul" => b.bin(Opcode::LLVMFMul, a[0], a[1]),
            "div" | "rcp" => b.bin(Opcode::LLVMFDiv, a[0], a[1]),
            "sqrt" => b.intrinsic("llvm.sqrt", &[t], &[a[0]]),
            _ => match shape(t).0 {
                Format::F16 | Format::Bf16 => per_lane(b, t, &a, &|x| small_fma(m, b, x)),
                _ => b.intrinsic("llvm.fma", &[t], &a),
            },
        }
    } else {
        let f = match t.format()? {
            Format::F64 => "f64",
            Format::F32 => "f32",
            _ => return None,
        };
        let base = if op == "rcp" { "div" } else { op };
        pure_runtime(m, &format!("kerf_{base}_{}_{f}", directed(mode)?), t, &a, b)
    };
    Some(if ftz { flush(b, r) } else { r })
}

/// `d2i.rz`, `f2ull.rn.ftz`, `ll2d.rn`, `d2f.rm` and their family.
fn conversion(m: &Module, b: &Builder, i: Value, n: &str) -> Option<Value> {
    let mut parts = n.split('.');
    let (what, mode) = (parts.next()?, parts.next()?);
    let ftz = n.ends_with(".ftz");
    let (from, to) = what.split_once('2')?;
    let mut v = *i.args().first()?;
    let t = i.ty();
    match (from, to) {
        ("d" | "f", "i" | "ui" | "ll" | "ull") => {
            if !matches!(mode, "rn" | "rz" | "rm" | "rp") {
                return None;
            }
            if ftz {
                v = flush(b, v);
            }
            Some(to_int(b, round_to(b, v, mode), t, !to.starts_with('u')))
        }
        ("i" | "ui" | "ll" | "ull", "d" | "f") => {
            let signed = !from.starts_with('u');
            if mode == "rn" || (to == "d" && from.len() <= 2 && from != "ll") {
                let op = if signed {
                    Opcode::LLVMSIToFP
                } else {
                    Opcode::LLVMUIToFP
                };
                return Some(b.cast(op, v, t));
            }
            let i64t = b.int_ty(64);
            let wide = if signed {
                b.sext_or_trunc(v, i64t)
            } else {
                b.zext_or_trunc(v, i64t)
            };
            let s = if signed { "i64" } else { "u64" };
            let f = if to == "d" { "f64" } else { "f32" };
            Some(pure_runtime(
                m,
                &format!("kerf_{s}_to_{f}_{}", directed(mode)?),
                t,
                &[wide],
                b,
            ))
        }
        ("d", "f") => {
            let r = match directed(mode) {
                None => b.cast(Opcode::LLVMFPTrunc, v, t),
                Some(d) => pure_runtime(m, &format!("kerf_f64_to_f32_{d}"), t, &[v], b),
            };
            Some(if ftz { flush(b, r) } else { r })
        }
        ("f", "h") => {
            let h = b.cast(
                Opcode::LLVMFPTrunc,
                if ftz { flush(b, v) } else { v },
                b.float_ty(Format::F16),
            );
            Some(b.bitcast(h, t))
        }
        _ => None,
    }
}

fn halves(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let (i32t, i64t) = (b.int_ty(32), b.int_ty(64));
    let a = i.args();
    Some(match n {
        "d2i.lo" => b.zext_or_trunc(b.bitcast(a[0], i64t), i32t),
        "d2i.hi" => {
            let w = b.bitcast(a[0], i64t);
            b.zext_or_trunc(b.lshr(w, b.i64(32)), i32t)
        }
        "lohi.i2d" => {
            let hi = b.shl(b.zext_or_trunc(a[1], i64t), b.i64(32));
            b.bitcast(b.or(hi, b.zext_or_trunc(a[0], i64t)), i.ty())
        }
        "bitcast.d2ll" | "bitcast.ll2d" | "bitcast.f2i" | "bitcast.i2f" => b.bitcast(a[0], i.ty()),
        _ => return None,
    })
}

fn integer(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let a = i.args();
    let t = i.ty();
    let wide = |signed: bool| {
        let bits = t.int_bits();
        let w = b.int_ty(bits * 2);
        let ext = |v| {
            if signed {
                b.sext_or_trunc(v, w)
            } else {
                b.zext_or_trunc(v, w)
            }
        };
        let p = b.mul(ext(a[0]), ext(a[1]));
        b.zext_or_trunc(b.lshr(p, w.int(u64::from(bits))), t)
    };
    Some(match n {
        "mulhi.i" | "mulhi.ll" | "mulhi.s" => wide(true),
        "mulhi.ui" | "mulhi.ull" | "mulhi.us" => wide(false),
        "mul24.i" | "mul24.ui" => {
            let shift = b.i32(8);
            let op = if n == "mul24.i" {
                Opcode::LLVMAShr
            } else {
                Opcode::LLVMLShr
            };
            let cut = |v| b.bin(op, b.shl(v, shift), shift);
            b.mul(cut(a[0]), cut(a[1]))
        }
        "sad.i" | "sad.ui" => {
            let p = if n == "sad.i" {
                IntPred::LLVMIntSLT
            } else {
                IntPred::LLVMIntULT
            };
            let less = b.icmp(p, a[0], a[1]);
            let d = b.select(less, b.sub(a[1], a[0]), b.sub(a[0], a[1]));
            b.add(a[2], d)
        }
        "prmt" => {
            let w = b.int_ty(64);
            let lo = b.zext_or_trunc(a[0], w);
            let all = b.or(lo, b.shl(b.zext_or_trunc(a[1], w), b.i64(32)));
            let mut out = t.zero();
            for k in 0..4 {
                let sel = b.and(b.lshr(a[2], b.i32(4 * k)), b.i32(15));
                let pick = b.shl(b.and(sel, b.i32(7)), b.i32(3));
                let byte = b.and(
                    b.zext_or_trunc(b.lshr(all, b.zext_or_trunc(pick, w)), t),
                    b.i32(255),
                );
                let sign = b.and(b.sub(b.i32(0), b.lshr(byte, b.i32(7))), b.i32(255));
                let replicate = b.icmp(IntPred::LLVMIntNE, b.and(sel, b.i32(8)), b.i32(0));
                out = b.or(out, b.shl(b.select(replicate, sign, byte), b.i32(8 * k)));
            }
            out
        }
        _ => return None,
    })
}

fn simple_float(m: &Module, b: &Builder, i: Value, n: &str) -> Option<Value> {
    let t = i.ty();
    let mut a = i.args();
    let ftz = n.contains(".ftz");
    if ftz {
        a = a.iter().map(|v| flush(b, *v)).collect();
    }
    let base = n.split('.').next()?;
    let nan = n.contains(".nan");
    let r = match base {
        "fabs" => b.intrinsic("llvm.fabs", &[t], &[a[0]]),
        "floor" => b.intrinsic("llvm.floor", &[t], &[a[0]]),
        "ceil" => b.intrinsic("llvm.ceil", &[t], &[a[0]]),
        "trunc" => b.intrinsic("llvm.trunc", &[t], &[a[0]]),
        "round" => b.intrinsic("llvm.roundeven", &[t], &[a[0]]),
        "fmin" | "fmax" if !n.contains("xorsign") => {
            let r = extreme(b, a[0], a[1], base == "fmin");
            if nan {
                let bad = b.fcmp(RealPred::LLVMRealUNO, a[0], a[1]);
                b.select(bad, b.bin(Opcode::LLVMFAdd, a[0], a[1]), r)
            } else {
                r
            }
        }
        // NaN saturates to +0.
        "saturate" => extreme(b, extreme(b, a[0], t.zero(), false), t.real(1.0), true),
        "neg" => b.fneg(a[0]),
        _ => return approx::lower(m, b, i, n),
    };
    Some(if ftz && matches!(base, "fmin" | "fmax" | "saturate") {
        flush(b, r)
    } else {
        r
    })
}

fn scoped_atomic(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let op = n.strip_prefix("atomic.")?.split('.').next()?;
    let a = i.args();
    let float = i.ty().is_float();
    let rmw = match op {
        "add" if float => RmwOp::LLVMAtomicRMWBinOpFAdd,
        "add" => RmwOp::LLVMAtomicRMWBinOpAdd,
        "exch" => RmwOp::LLVMAtomicRMWBinOpXchg,
        "max" => RmwOp::LLVMAtomicRMWBinOpMax,
        "min" => RmwOp::LLVMAtomicRMWBinOpMin,
        "inc" => RmwOp::LLVMAtomicRMWBinOpUIncWrap,
        "dec" => RmwOp::LLVMAtomicRMWBinOpUDecWrap,
        "and" => RmwOp::LLVMAtomicRMWBinOpAnd,
        "or" => RmwOp::LLVMAtomicRMWBinOpOr,
        "xor" => RmwOp::LLVMAtomicRMWBinOpXor,
        "cas" => return Some(b.extract(b.cmpxchg(a[0], a[1], a[2]), 0)),
        _ => return None,
    };
    Some(b.atomic_rmw(rmw, a[0], a[1]))
}

fn is_space(b: &Builder, lead: &Lead, p: Value, n: &str) -> Value {
    let i64t = b.int_ty(64);
    let base = field(b, lead.ctx, offset::SHARED, i64t);
    let bytes = field(b, lead.ctx, offset::SHARED_BYTES, i64t);
    let at = b.sub(b.cast(Opcode::LLVMPtrToInt, p, i64t), base);
    let shared = b.icmp(IntPred::LLVMIntULT, at, bytes);
    match n {
        "isspacep.shared" => shared,
        "isspacep.global" => b.xor(shared, b.int_ty(1).int(1)),
        _ => b.int_ty(1).zero(),
    }
}

fn nvvm(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
    if let Some(s) = n.strip_prefix("read.ptx.sreg.") {
        return special_register(b, lead, s, i.ty());
    }
    if n.starts_with("membar") || n.starts_with("fence") {
        return Some(b.fence());
    }
    if n.starts_with("isspacep.") {
        return Some(is_space(b, lead, i.args()[0], n));
    }
    if n.starts_with("ptr.") || n.starts_with("mapa") {
        let a = *i.args().first()?;
        return Some(if a.ty() == i.ty() {
            a
        } else {
            b.cast(Opcode::LLVMAddrSpaceCast, a, i.ty())
        });
    }
    if n == "nanosleep" || n.starts_with("prefetch") || n == "exit" {
        return (n != "exit").then(|| b.i32(0));
    }
    if n.starts_with("atomic.") {
        return scoped_atomic(b, i, n);
    }
    halves(b, i, n)
        .or_else(|| collective(m, b, lead, i, n))
        .or_else(|| arithmetic(m, b, i, n))
        .or_else(|| conversion(m, b, i, n))
        .or_else(|| integer(b, i, n))
        .or_else(|| simple_float(m, b, i, n))
}

fn trap(m: &Module, b: &Builder, lead: &Lead, i: Value, text: Value) -> Value {
    let mut a = lead.all();
    a.extend([text, b.i64(site_number(i))]);
    runtime(m, "kerf_trap", m.void_ty(), &a, b)
}

/// printf of OpenCL: a variadic call becomes CUDA's form, a format and a packed buffer.
fn pack_printf(m: &Module, b: &Builder, i: Value) -> (Value, Value) {
    let args = i.args();
    let ptr = b.ptr_ty(0);
    let flat = |v: Value| {
        if v.ty().space() == 0 {
            v
        } else {
            b.cast(Opcode::LLVMAddrSpaceCast, v, ptr)
        }
    };
    let fields: Vec<Value> = args[1..]
        .iter()
        .map(|v| {
            if v.ty().is_float() && v.ty().format() != Some(Format::F64) {
                b.cast(Opcode::LLVMFPExt, *v, b.float_ty(Format::F64))
            } else if v.ty().is_ptr() {
                flat(*v)
            } else {
                *v
            }
        })
        .collect();
    let t = b.struct_ty(&fields.iter().map(|v| v.ty()).collect::<Vec<_>>());
    let first = i.block().function().blocks()[0].instructions()[0];
    let buf = Builder::before(first).alloca(t);
    for (k, v) in fields.iter().enumerate() {
        let at = b.offset(buf, b.i64(m.field_offset(t, k as u32)));
        b.store(*v, at);
    }
    (flat(args[0]), buf)
}

fn external(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
    let a = i.args();
    let i32t = b.int_ty(32);
    Some(match n {
        "vprintf" | "printf" => {
            let (fmt, buf) = if n == "vprintf" {
                (a[0], a[1])
            } else {
                pack_printf(m, b, i)
            };
            let mut args = lead.all();
            args.extend([fmt, buf]);
            runtime(m, "kerf_printf", i32t, &args, b)
        }
        "__assertfail" | "__assert_fail" => {
            let line = b.zext_or_trunc(a[2], i32t);
            let mut args = lead.all();
            args.extend([a[0], a[1], line, a[3]]);
            runtime(m, "kerf_assert", m.void_ty(), &args, b)
        }
        "abort" => trap(m, b, lead, i, b.string("abort() was called")),
        "llvm.trap" | "llvm.ubsantrap" | "llvm.debugtrap" => {
            trap(m, b, lead, i, b.string("the kernel trapped"))
        }
        "malloc" => runtime(
            m,
            "kerf_malloc",
            i.ty(),
            &[b.zext_or_trunc(a[0], b.int_ty(64))],
            b,
        ),
        "free" => runtime(m, "kerf_free", m.void_ty(), &[a[0]], b),
        _ => return None,
    })
}

fn generic(m: &Module, b: &Builder, i: Value, n: &str) -> Option<Value> {
    let t = i.ty();
    let a = i.args();
    let base = n.strip_prefix("llvm.")?.split('.').next()?;
    Some(match base {
        "minnum" | "minimumnum" => extreme(b, a[0], a[1], true),
        "maxnum" | "maximumnum" => extreme(b, a[0], a[1], false),
        "fma" | "fmuladd" if matches!(shape(t).0, Format::F16 | Format::Bf16) => {
            per_lane(b, t, &a, &|x| small_fma(m, b, x))
        }
        "tanh" if shape(t).0 == Format::F32 => per_lane(b, t, &a, &|x| {
            pure_runtime(m, "kerf_tanh_f32", x[0].ty(), x, b)
        }),
        "convert" if n.contains("from.fp16") => {
            let h = b.bitcast(a[0], b.float_ty(Format::F16));
            if t.format() == Some(Format::F16) {
                h
            } else {
                b.cast(Opcode::LLVMFPExt, h, t)
            }
        }
        "convert" => {
            let h = b.cast(Opcode::LLVMFPTrunc, a[0], b.float_ty(Format::F16));
            b.bitcast(h, t)
        }
        _ => return None,
    })
}

/// Lowers one instruction in place.
pub(super) fn lower(m: &Module, f: Value, lead: &Lead, i: Value) -> Result<(), LlvmError> {
    let _ = f;
    let b = Builder::before(i);
    let new = match i.opcode() {
        Some(Opcode::LLVMFPToSI) => Some(to_int(&b, i.operand(0), i.ty(), true)),
        Some(Opcode::LLVMFPToUI) => Some(to_int(&b, i.operand(0), i.ty(), false)),
        Some(Opcode::LLVMSDiv | Opcode::LLVMUDiv | Opcode::LLVMSRem | Opcode::LLVMURem) => {
            guard_division(&b, i)
        }
        Some(Opcode::LLVMCall) => {
            let Some(n) = i.callee_name() else {
                if i.callee().is_inline_asm() {
                    return Err(LlvmError(format!(
                        "inline PTX `{}` has no CPU form",
                        i.callee().asm_text().0.trim()
                    )));
                }
                return Ok(());
            };
            if let Some(rest) = n.strip_prefix("llvm.nvvm.") {
                match nvvm(m, &b, lead, i, rest) {
                    Some(v) => Some(v),
                    None => return Err(LlvmError(format!("{n} has no CPU form"))),
                }
            } else {
                external(m, &b, lead, i, &n).or_else(|| generic(m, &b, i, &n))
            }
        }
        _ => None,
    };
    if let Some(v) = new {
        if i.ty().is_void() || i.users().is_empty() {
            i.erase();
        } else {
            i.become_value(v);
        }
    }
    Ok(())
}
