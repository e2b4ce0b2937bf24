//! What the threads of a warp or a block do together: warp operations and barriers.
use super::calls::{runtime, site_number};
use crate::cpu::collective_kinds::{ARRIVE, warp as warp_kind};
use crate::cpu::lead::Lead;
use kerf_llvm::{Builder, IntPred, Module, Value};

/// A warp operation that is being lowered.
struct WarpOperation<'a> {
    m: &'a Module,
    b: &'a Builder,
    lead: &'a Lead,
    i: Value,
    args: Vec<Value>,
}

impl WarpOperation<'_> {
    /// The call of the runtime; its operands have the names of PTX's shuffle.
    fn call(&self, kind: u32, mask: Value, value: Value, [x, c]: [Value; 2]) -> Value {
        let b = self.b;
        let mut a = self.lead.all();
        let site = b.i64(site_number(self.i));
        a.extend([b.i32(kind), mask, value, x, c, site]);
        runtime(self.m, "kerf_warp", b.int_ty(64), &a, b)
    }

    /// The call of an operation with one operand.
    fn call_of_one(&self, kind: u32, mask: Value, value: Value) -> Value {
        self.call(kind, mask, value, [self.b.i32(0); 2])
    }

    fn wide(&self, v: Value) -> Value {
        self.b.zext_or_trunc(v, self.b.int_ty(64))
    }

    /// Lower half of what the runtime answered.
    fn low(&self, answer: Value) -> Value {
        self.b.zext_or_trunc(answer, self.b.int_ty(32))
    }

    /// The pair of a value and the predicate in the upper half of what the runtime answered.
    fn pair(&self, answer: Value, first: Value) -> Value {
        let b = self.b;
        let s = b.insert(self.i.ty().poison(), first, 0);
        let h = b.lshr(answer, b.i64(32));
        b.insert(s, b.zext_or_trunc(h, b.int_ty(1)), 1)
    }

    /// `up.i32`, `idx.f32p`.
    fn shuffle(&self, rest: &str) -> Option<Value> {
        use warp_kind::*;
        let (a, b) = (&self.args, self.b);
        let mut parts = rest.split('.');
        let kind = match parts.next()? {
            "up" => SHFL_UP,
            "down" => SHFL_DOWN,
            "bfly" => SHFL_BFLY,
            "idx" => SHFL_IDX,
            _ => return None,
        };
        let suffix = parts.next()?;
        let v = self.wide(b.bitcast(a[1], b.int_ty(32)));
        let r = self.call(kind, a[0], v, [a[2], a[3]]);
        let value = b.bitcast(self.low(r), a[1].ty());
        Some(if suffix.ends_with('p') {
            self.pair(r, value)
        } else {
            value
        })
    }

    /// `any.sync`, `ballot`.
    fn vote(&self, rest: &str) -> Option<Value> {
        use warp_kind::*;
        let (a, b) = (&self.args, self.b);
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
        let r = self.call_of_one(kind, mask, self.wide(p));
        Some(b.zext_or_trunc(r, self.i.ty()))
    }

    /// `any.sync.i32`, `all.sync.i64p`.
    fn matching(&self, rest: &str) -> Value {
        use warp_kind::*;
        let kind = if rest.starts_with("any") {
            MATCH_ANY
        } else {
            MATCH_ALL
        };
        let r = self.call_of_one(kind, self.args[0], self.wide(self.args[1]));
        if rest.ends_with('p') {
            self.pair(r, self.low(r))
        } else {
            self.low(r)
        }
    }

    /// `add`, `umin`.
    fn redux(&self, op: &str) -> Option<Value> {
        use warp_kind::*;
        let k = REDUX_OPS.iter().position(|o| *o == op)?;
        let v = self.wide(self.args[0]);
        let r = self.call_of_one(REDUX + k as u32, self.args[1], v);
        Some(self.low(r))
    }
}

/// `shfl.sync.up.i32`, `vote.any.sync`, `redux.sync.add`, `barrier0` and their families.
pub(super) fn lower(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
    use warp_kind::*;
    let args = i.args();
    let w = WarpOperation {
        m,
        b,
        lead,
        i,
        args,
    };
    if let Some(rest) = n.strip_prefix("shfl.sync.") {
        return w.shuffle(rest);
    }
    if let Some(rest) = n.strip_prefix("vote.") {
        return w.vote(rest);
    }
    if let Some(rest) = n.strip_prefix("match.") {
        return Some(w.matching(rest));
    }
    if let Some(op) = n.strip_prefix("redux.sync.") {
        return w.redux(op);
    }
    let nothing = b.i64(0);
    match n {
        "activemask" => {
            let r = w.call_of_one(ACTIVE, b.i32(u32::MAX), nothing);
            Some(w.low(r))
        }
        "elect.sync" => {
            let r = w.call_of_one(ELECT, w.args[0], nothing);
            Some(w.pair(r, w.low(r)))
        }
        "bar.warp.sync" => Some(w.call_of_one(SYNC, w.args[0], nothing)),
        _ => barrier(m, b, lead, i, n),
    }
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
    let args = i.args();
    let w = WarpOperation {
        m,
        b,
        lead,
        i,
        args,
    };
    let (a, v) = (&w.args, w.wide(w.args[1]));
    Some(w.call(kind | SHADOW, a[0], v, [a[2], a[3]]))
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
        Some(r) if r.starts_with("arrive.") => (ARRIVE, zero, a[0], *a.get(1)?),
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
