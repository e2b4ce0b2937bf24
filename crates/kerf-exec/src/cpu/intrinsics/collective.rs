//! What the threads of a warp or a block do together: warp operations and barriers.
use super::calls::{runtime, site_number};
use crate::cpu::block;
use crate::cpu::lower::Lead;
use kerf_llvm::{Builder, IntPred, Module, Value};

/// Kinds of warp operation, as the runtime numbers them.
pub(in crate::cpu) mod warp_kind {
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
    /// Added to a shuffle: of shadows, for which lanes that take no part are undefined.
    pub const SHADOW: u32 = 64;
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

/// `shfl.sync.up.i32`, `vote.any.sync`, `redux.sync.add`, `barrier0` and their families.
pub(super) fn lower(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
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

/// A shuffle of shadows (`kerf_pass::sanitize`).
pub(super) fn shadow_shuffle(
    m: &Module,
    b: &Builder,
    lead: &Lead,
    i: Value,
    direction: &str,
) -> Option<Value> {
    use warp_kind::*;
    let kind = match direction {
        "up" => SHFL_UP,
        "down" => SHFL_DOWN,
        "bfly" => SHFL_BFLY,
        _ => SHFL_IDX,
    };
    let a = i.args();
    let v = b.zext_or_trunc(a[1], b.int_ty(64));
    Some(warp_call(m, b, lead, i, kind | SHADOW, a[0], v, a[2], a[3]))
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
        Some(r) if r.starts_with("arrive.") => (block::ARRIVE, zero, a[0], *a.get(1)?),
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
