//! The reference execution: every floating-point value is accompanied by a double-double one.
//!
//! The pass works on a prepared module, where math calls are still visible. Beside each
//! floating-point value v it computes a shadow (hi, lo) of about 106 bits from the shadows of v's
//! operands; conversions between formats leave shadows alone, so the shadow is what exact
//! arithmetic on the same inputs would give, up to double-double rounding. Memory has shadows too,
//! tagged with the original bits: a value that was overwritten behind the pass's back (an integer
//! copy, a memset) is recognised by its tag and starts afresh from its bits. Values that travel as
//! integers (shuffles, halves, compare-and-swap loops) are followed through the integer operations,
//! and where that fails found again by their bits. Control flow follows
//! the original program; comparisons whose shadow disagrees are counted. The design follows that of
//! numerical sanitizers (Courbet, NSan 2021).
mod aggregates;
mod words;

use kerf_ir::llvm::{Block, Builder, LlvmError, Module, Opcode, RealPred, RmwOp, Type, Value};
use kerf_ir::sites::{Location, location};
use kerf_num::Format;
use std::collections::BTreeMap;

/// What the pass put in.
#[derive(Debug, Default, Clone)]
pub struct ShadowMap {
    /// Source positions of the comparisons, by number.
    pub comparisons: Vec<Option<Location>>,
    /// Operations without a shadow of their own: they start afresh from the original bits.
    pub untracked: Vec<String>,
}

/// Number of a format, as the runtime knows it.
pub fn format_number(f: Format) -> u32 {
    match f {
        Format::F64 => 0,
        Format::F32 => 1,
        Format::F16 => 2,
        Format::Bf16 => 3,
    }
}

/// Elementary functions that the runtime evaluates, by number, with their argument count.
pub const FUNCTIONS: &[(&str, u32)] = &[
    ("exp", 1),
    ("exp2", 1),
    ("exp10", 1),
    ("expm1", 1),
    ("log", 1),
    ("log2", 1),
    ("log10", 1),
    ("log1p", 1),
    ("sin", 1),
    ("cos", 1),
    ("tan", 1),
    ("asin", 1),
    ("acos", 1),
    ("atan", 1),
    ("sinh", 1),
    ("cosh", 1),
    ("tanh", 1),
    ("asinh", 1),
    ("acosh", 1),
    ("atanh", 1),
    ("sqrt", 1),
    ("rsqrt", 1),
    ("cbrt", 1),
    ("rcbrt", 1),
    ("rcp", 1),
    ("erf", 1),
    ("erfc", 1),
    ("erfcx", 1),
    ("normcdf", 1),
    ("tgamma", 1),
    ("lgamma", 1),
    ("j0", 1),
    ("j1", 1),
    ("y0", 1),
    ("y1", 1),
    ("sinpi", 1),
    ("cospi", 1),
    ("fabs", 1),
    ("floor", 1),
    ("ceil", 1),
    ("trunc", 1),
    ("rint", 1),
    ("round", 1),
    ("saturate", 1),
    ("neg", 1),
    ("add", 2),
    ("sub", 2),
    ("mul", 2),
    ("div", 2),
    ("fmod", 2),
    ("pow", 2),
    ("atan2", 2),
    ("hypot", 2),
    ("rhypot", 2),
    ("fmin", 2),
    ("fmax", 2),
    ("fdim", 2),
    ("copysign", 2),
    ("remainder", 2),
    ("fma", 3),
    ("norm3d", 3),
    ("rnorm3d", 3),
    ("erfinv", 1),
    ("erfcinv", 1),
    ("normcdfinv", 1),
];

/// The function that a callee computes: position in [`FUNCTIONS`].
pub fn function_of(callee: &str) -> Option<u32> {
    let mut n = callee
        .strip_prefix("__nv_")
        .or_else(|| callee.strip_prefix("llvm.nvvm."))
        .or_else(|| callee.strip_prefix("llvm."))?;
    n = n.strip_prefix("fast_").unwrap_or(n);
    let head = n.split('.').next().unwrap_or(n);
    let by = |name: &str| FUNCTIONS.iter().position(|f| f.0 == name).map(|i| i as u32);
    // Directed intrinsics: __nv_dadd_rz, __nv_fmul_rn, __nv_fmaf_ru, __nv_drcp_rn, __nv_fsqrt_rn ...
    if let Some((op, mode)) = head.rsplit_once('_')
        && matches!(mode, "rn" | "rz" | "ru" | "rd")
    {
        return match op {
            "dadd" | "fadd" => by("add"),
            "dsub" | "fsub" => by("sub"),
            "dmul" | "fmul" => by("mul"),
            "ddiv" | "fdiv" => by("div"),
            "fma" | "fmaf" => by("fma"),
            "drcp" | "frcp" => by("rcp"),
            "dsqrt" | "fsqrt" => by("sqrt"),
            "frsqrt" => by("rsqrt"),
            _ => None,
        };
    }
    let alias = |s: &str| match s {
        "ex2" => Some("exp2"),
        "lg2" => Some("log2"),
        "fdivide" | "fdividef" => Some("div"),
        "nearbyint" | "roundeven" => Some("rint"),
        "minnum" | "minimumnum" | "minimum" => Some("fmin"),
        "maxnum" | "maximumnum" | "maximum" => Some("fmax"),
        "fmuladd" => Some("fma"),
        "norm" => None,
        _ => None,
    };
    // llvm.nvvm.round is the round-to-even of cvt.rni; libdevice's round goes away from zero.
    if callee.starts_with("llvm.nvvm.round") {
        return by("rint");
    }
    let try_name = |s: &str| by(s).or_else(|| alias(s).and_then(by));
    try_name(head).or_else(|| head.strip_suffix('f').and_then(try_name))
}

#[derive(Clone, Copy, PartialEq)]
struct Dd {
    hi: Value,
    lo: Value,
}

struct Pass<'m> {
    m: &'m Module,
    shadows: BTreeMap<Value, Vec<Dd>>,
    /// Floats in integers.
    words: BTreeMap<Value, Vec<words::Field>>,
    /// Shadows that went through a shuffle, by block, shuffle and value.
    journeys: Vec<(words::Journey, Dd)>,
    /// Floats in structs that are values, by their paths.
    aggregates: BTreeMap<Value, BTreeMap<Vec<u32>, Dd>>,
    map: ShadowMap,
    main: String,
    f64t: Type,
}

fn lanes(t: Type) -> Option<(Format, u32)> {
    kerf_ir::sites::float_shape(t)
}

impl Pass<'_> {
    fn zero(&self) -> Value {
        self.f64t.zero()
    }

    fn lane(&self, b: &Builder, v: Value, l: u32) -> Value {
        if v.ty().is_vector() { b.lane(v, l) } else { v }
    }

    fn widen(&self, b: &Builder, v: Value) -> Value {
        if v.ty() == self.f64t {
            v
        } else {
            b.cast(Opcode::LLVMFPExt, v, self.f64t)
        }
    }

    fn bits(&self, b: &Builder, v: Value) -> Value {
        let t = v.ty();
        let w = t.format().map_or(64, |f| 8 * f.bytes() as u32);
        let i = b.bitcast(v, b.int_ty(w));
        b.zext_or_trunc(i, b.int_ty(64))
    }

    fn fmt(&self, b: &Builder, t: Type) -> Value {
        b.i32(t.element().format().map_or(0, format_number))
    }

    fn call_dd(&self, b: &Builder, name: &str, args: &[Value]) -> Dd {
        let pair = b.struct_ty(&[self.f64t, self.f64t]);
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let f = self.m.declare(name, pair.function(&types));
        let r = b.call(f, args);
        Dd {
            hi: b.extract(r, 0),
            lo: b.extract(r, 1),
        }
    }

    fn call_void(&self, b: &Builder, name: &str, args: &[Value]) {
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        b.call(
            self.m.declare(name, self.m.void_ty().function(&types)),
            args,
        );
    }

    /// Shadow of any operand, at a point where the operand is available.
    fn get(&self, b: &Builder, v: Value) -> Vec<Dd> {
        if let Some(s) = self.shadows.get(&v) {
            return s.clone();
        }
        let n = lanes(v.ty()).map_or(1, |s| s.1);
        (0..n)
            .map(|l| Dd {
                hi: self.widen(b, self.lane(b, v, l)),
                lo: self.zero(),
            })
            .collect()
    }

    fn recall(&self, b: &Builder, v: Value) -> Vec<Dd> {
        let n = lanes(v.ty()).map_or(1, |s| s.1);
        (0..n)
            .map(|l| {
                let x = self.lane(b, v, l);
                let fmt = self.fmt(b, x.ty());
                self.call_dd(b, "kerf_shadow_recall", &[self.bits(b, x), fmt])
            })
            .collect()
    }

    fn remember(&self, b: &Builder, v: Value) {
        for (l, s) in self.get(b, v).into_iter().enumerate() {
            let x = self.lane(b, v, l as u32);
            self.call_void(
                b,
                "kerf_shadow_remember",
                &[self.bits(b, x), self.fmt(b, x.ty()), s.hi, s.lo],
            );
        }
    }

    fn apply(&self, b: &Builder, function: u32, args: &[Value]) -> Vec<Dd> {
        let shadows: Vec<Vec<Dd>> = args.iter().map(|a| self.get(b, *a)).collect();
        let n = shadows.first().map_or(0, Vec::len);
        (0..n)
            .map(|l| {
                let mut a = vec![b.i32(function)];
                for s in &shadows {
                    a.extend([s[l].hi, s[l].lo]);
                }
                self.call_dd(b, &format!("kerf_dd_apply{}", args.len()), &a)
            })
            .collect()
    }

    fn function(&self, name: &str) -> u32 {
        FUNCTIONS
            .iter()
            .position(|f| f.0 == name)
            .expect("the operation should be listed") as u32
    }

    fn address(&self, b: &Builder, p: Value, t: Type, lane: u32) -> Value {
        let flat = if p.ty().space() == 0 {
            p
        } else {
            b.cast(Opcode::LLVMAddrSpaceCast, p, b.ptr_ty(0))
        };
        let size = t.element().format().map_or(8, |f| f.bytes() as u64);
        if lane == 0 {
            flat
        } else {
            b.offset(flat, b.i64(size * u64::from(lane)))
        }
    }

    fn load(&self, b: &Builder, p: Value, v: Value) -> Vec<Dd> {
        let t = v.ty();
        (0..t.lanes())
            .map(|l| {
                let x = self.lane(b, v, l);
                let a = self.address(b, p, t, l);
                self.call_dd(b, "kerf_shadow_load", &[a, self.bits(b, x), self.fmt(b, t)])
            })
            .collect()
    }

    fn store(&self, b: &Builder, p: Value, v: Value) {
        let t = v.ty();
        for (l, s) in self.get(b, v).into_iter().enumerate() {
            let x = self.lane(b, v, l as u32);
            let a = self.address(b, p, t, l as u32);
            self.call_void(
                b,
                "kerf_shadow_store",
                &[a, self.bits(b, x), self.fmt(b, t), s.hi, s.lo],
            );
        }
    }

    fn compare(&mut self, b: &Builder, i: Value) {
        let site = self.map.comparisons.len() as u32;
        self.map.comparisons.push(location(i, &self.main));
        let (x, y) = (self.get(b, i.operand(0)), self.get(b, i.operand(1)));
        let pred = i.real_pred() as u32;
        if matches!(
            i.real_pred(),
            RealPred::LLVMRealPredicateTrue | RealPred::LLVMRealPredicateFalse
        ) {
            return;
        }
        for (l, (p, q)) in x.into_iter().zip(y).enumerate() {
            let r = self.lane(b, i, l as u32);
            let r = b.zext_or_trunc(r, b.int_ty(32));
            self.call_void(
                b,
                "kerf_shadow_compare",
                &[b.i32(site), b.i32(pred), r, p.hi, p.lo, q.hi, q.lo],
            );
        }
    }

    fn atomic(&self, b: &Builder, i: Value) -> Vec<Dd> {
        let (p, v) = (i.operand(0), i.operand(1));
        let op = i.rmw_op();
        let add = |o| b.bin(o, i, v);
        let (number, new) = match op {
            RmwOp::LLVMAtomicRMWBinOpFAdd => (0, add(Opcode::LLVMFAdd)),
            RmwOp::LLVMAtomicRMWBinOpFSub => (1, add(Opcode::LLVMFSub)),
            RmwOp::LLVMAtomicRMWBinOpFMax => (2, b.intrinsic("llvm.maxnum", &[i.ty()], &[i, v])),
            RmwOp::LLVMAtomicRMWBinOpFMin => (3, b.intrinsic("llvm.minnum", &[i.ty()], &[i, v])),
            _ => (4, v),
        };
        let s = self.get(b, v);
        let a = self.address(b, p, i.ty(), 0);
        let args = [
            b.i32(number),
            a,
            self.bits(b, i),
            self.bits(b, new),
            self.fmt(b, i.ty()),
            s[0].hi,
            s[0].lo,
        ];
        vec![self.call_dd(b, "kerf_shadow_atomic", &args)]
    }

    fn untracked(&mut self, what: &str) {
        if !self.map.untracked.iter().any(|u| u == what) {
            self.map.untracked.push(what.to_owned());
        }
    }

    /// Results that a math function leaves in memory: (function, argument position of the pointer).
    fn stored_results(name: &str) -> &'static [(&'static str, usize)] {
        match name
            .trim_start_matches("__nv_")
            .trim_start_matches("fast_")
            .trim_end_matches('f')
        {
            "sincos" => &[("sin", 1), ("cos", 2)],
            "sincospi" => &[("sinpi", 1), ("cospi", 2)],
            _ => &[],
        }
    }

    fn call(&mut self, i: Value, after: &Builder) {
        let args = i.args();
        let shape = lanes(i.ty());
        let Some(name) = i.callee_name() else {
            if shape.is_some() {
                let s = self.recall(after, i);
                self.shadows.insert(i, s);
            }
            return;
        };
        let callee = i.callee();
        if !callee.is_declaration() {
            let before = Builder::before(i);
            for (k, a) in args.iter().enumerate() {
                if lanes(a.ty()).is_some_and(|s| s.1 == 1) {
                    let s = self.get(&before, *a);
                    self.call_void(
                        &before,
                        "kerf_shadow_set_arg",
                        &[
                            before.i32(k as u32),
                            self.bits(&before, *a),
                            s[0].hi,
                            s[0].lo,
                        ],
                    );
                } else if lanes(a.ty()).is_some() {
                    self.remember(&before, *a);
                } else if callee.byval(k as u32).is_some() {
                    // The callee has a copy of its own; this is where its shadows are.
                    let from = self.address(&before, *a, self.f64t, 0);
                    let from = before.cast(Opcode::LLVMPtrToInt, from, before.int_ty(64));
                    self.call_void(
                        &before,
                        "kerf_shadow_set_arg",
                        &[before.i32(k as u32), from, self.zero(), self.zero()],
                    );
                }
            }
            if shape.is_some_and(|s| s.1 == 1) {
                let r = self.call_dd(
                    after,
                    "kerf_shadow_ret",
                    &[self.bits(after, i), self.fmt(after, i.ty())],
                );
                self.shadows.insert(i, vec![r]);
            } else if shape.is_some() {
                let s = self.recall(after, i);
                self.shadows.insert(i, s);
            } else if !i.ty().is_void() {
                self.returned_aggregate(after, i);
            }
            return;
        }
        if self.reinterpret(i, &name, after) || self.shuffle(i, &name, after) {
            return;
        }
        if name.starts_with("llvm.memset") {
            let d = self.address(after, args[0], self.f64t, 0);
            let n = after.zext_or_trunc(args[2], after.int_ty(64));
            self.call_void(after, "kerf_shadow_clear", &[d, n]);
            return;
        }
        if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") {
            let d = self.address(after, args[0], self.f64t, 0);
            let s = self.address(after, args[1], self.f64t, 0);
            let n = after.zext_or_trunc(args[2], after.int_ty(64));
            self.call_void(after, "kerf_shadow_copy", &[d, s, n]);
            return;
        }
        for (function, at) in Self::stored_results(&name) {
            let s = self.apply(after, self.function(function), &args[..1]);
            let t = args[0].ty();
            let v = after.load(t, args[*at]);
            let a = self.address(after, args[*at], t, 0);
            self.call_void(
                after,
                "kerf_shadow_store",
                &[a, self.bits(after, v), self.fmt(after, t), s[0].hi, s[0].lo],
            );
        }
        let Some((_, n)) = shape else {
            // An integer made from a float's bits, or a shuffle of halves: keep the way back.
            let before = Builder::before(i);
            for a in &args {
                if lanes(a.ty()).is_some() && !name.starts_with("llvm.lifetime") {
                    self.remember(&before, *a);
                }
            }
            return;
        };
        let floats: Vec<Value> = args
            .iter()
            .copied()
            .filter(|a| lanes(a.ty()).is_some_and(|s| s.1 == n))
            .collect();
        let is_conversion = name.contains("double2float")
            || name.contains("float2half")
            || name.contains("half2float")
            || name.contains(".d2f.");
        if is_conversion && floats.len() == 1 {
            let s = self.get(after, floats[0]);
            self.shadows.insert(i, s);
            return;
        }
        if let Some(f) = function_of(&name)
            && FUNCTIONS[f as usize].1 as usize == floats.len()
            && floats.len() == args.len()
        {
            let s = self.apply(after, f, &floats);
            self.shadows.insert(i, s);
            return;
        }
        // ldexp, scalbn and powi take an integer; shuffles move a value between threads.
        let base = name.trim_start_matches("__nv_").trim_end_matches('f');
        if matches!(base, "ldexp" | "scalbn" | "powi" | "pown")
            && args.len() == 2
            && args[1].ty().is_int()
        {
            let s = self.get(after, args[0])[0];
            let e = after.sext_or_trunc(args[1], after.int_ty(32));
            let f = if base.starts_with("pow") {
                "kerf_dd_powi"
            } else {
                "kerf_dd_ldexp"
            };
            let r = self.call_dd(after, f, &[s.hi, s.lo, e]);
            self.shadows.insert(i, vec![r]);
            return;
        }
        if name.starts_with("__nv_int2")
            || name.starts_with("__nv_uint2")
            || name.starts_with("__nv_ll2")
            || name.starts_with("__nv_ull2")
        {
            return; // exact enough: the original value is the conversion of an integer
        }
        let moves = name.contains("shfl")
            || name.contains("as_double")
            || name.contains("as_float")
            || name.contains("hiloint")
            || name.contains("lohi");
        let before = Builder::before(i);
        for a in &floats {
            self.remember(&before, *a);
        }
        if !moves {
            self.untracked(&name);
        }
        let s = self.recall(after, i);
        self.shadows.insert(i, s);
    }

    fn instruction(&mut self, i: Value) {
        use Opcode::*;
        let Some(op) = i.opcode() else { return };
        let after = match (op, i.next()) {
            (LLVMPHI | LLVMRet | LLVMBr | LLVMSwitch | LLVMUnreachable, _) | (_, None) => {
                Builder::before(i)
            }
            (_, Some(n)) => Builder::before(n),
        };
        let b = &after;
        let binary =
            |p: &Self, name: &str| p.apply(b, p.function(name), &[i.operand(0), i.operand(1)]);
        let shape = lanes(i.ty());
        let new = match op {
            LLVMFAdd => binary(self, "add"),
            LLVMFSub => binary(self, "sub"),
            LLVMFMul => binary(self, "mul"),
            LLVMFDiv => binary(self, "div"),
            LLVMFRem => binary(self, "fmod"),
            LLVMFNeg => self
                .get(b, i.operand(0))
                .into_iter()
                .map(|s| Dd {
                    hi: b.fneg(s.hi),
                    lo: b.fneg(s.lo),
                })
                .collect(),
            LLVMFPExt | LLVMFPTrunc | LLVMFreeze if shape.is_some() => self.get(b, i.operand(0)),
            LLVMSelect if shape.is_some() => {
                let (x, y) = (self.get(b, i.operand(1)), self.get(b, i.operand(2)));
                x.into_iter()
                    .zip(y)
                    .enumerate()
                    .map(|(l, (p, q))| {
                        let c = self.lane(b, i.operand(0), l as u32);
                        Dd {
                            hi: b.select(c, p.hi, q.hi),
                            lo: b.select(c, p.lo, q.lo),
                        }
                    })
                    .collect()
            }
            LLVMLoad if shape.is_some() => self.load(b, i.operand(0), i),
            LLVMLoad if i.ty().is_int() && matches!(i.ty().int_bits(), 16 | 32 | 64) => {
                if self.load_word(b, i) {
                    return;
                }
                // Floats that are moved as integers: tell the table what these bits stand for.
                let goes_on = i.users().iter().any(|u| {
                    matches!(
                        u.opcode(),
                        Some(LLVMBitCast | LLVMStore | LLVMTrunc | LLVMLShr | LLVMPHI)
                    ) || u.callee_name().is_some()
                });
                if goes_on {
                    let a = self.address(b, i.operand(0), self.f64t, 0);
                    let v = b.zext_or_trunc(i, b.int_ty(64));
                    self.call_void(b, "kerf_shadow_note", &[a, v, b.i32(i.ty().int_bits())]);
                }
                return;
            }
            LLVMStore => {
                let v = i.operand(0);
                if lanes(v.ty()).is_some() {
                    self.store(&Builder::before(i), i.operand(1), v);
                } else if !v.ty().is_ptr() {
                    self.store_word(i);
                }
                return;
            }
            LLVMAtomicRMW if shape.is_some() => self.atomic(b, i),
            LLVMAtomicCmpXchg => {
                self.compare_and_swap(b, i);
                return;
            }
            LLVMFCmp => {
                self.compare(&after, i);
                return;
            }
            LLVMSIToFP | LLVMUIToFP => {
                let v = i.operand(0);
                let signed = op == LLVMSIToFP;
                (0..i.ty().lanes())
                    .map(|l| {
                        let x = self.lane(b, v, l);
                        let i64t = b.int_ty(64);
                        let w = if signed {
                            b.sext_or_trunc(x, i64t)
                        } else {
                            b.zext_or_trunc(x, i64t)
                        };
                        self.call_dd(
                            b,
                            if signed {
                                "kerf_dd_from_i64"
                            } else {
                                "kerf_dd_from_u64"
                            },
                            &[w],
                        )
                    })
                    .collect()
            }
            LLVMBitCast => {
                let from = lanes(i.operand(0).ty());
                match (from, shape) {
                    (Some(a), Some(c)) if a == c => self.get(b, i.operand(0)),
                    (_, Some(c)) => {
                        if from.is_some() {
                            self.remember(b, i.operand(0));
                        }
                        self.read_as(i.operand(0), c)
                            .unwrap_or_else(|| self.recall(b, i))
                    }
                    (Some(a), None) => {
                        self.remember(b, i.operand(0));
                        let s = self.get(b, i.operand(0));
                        self.is_bits_of(i, a, &s);
                        return;
                    }
                    _ => {
                        self.integer(b, i);
                        return;
                    }
                }
            }
            LLVMExtractElement if shape.is_some() => match i.operand(1).const_int() {
                Some(l) => self
                    .get(b, i.operand(0))
                    .get(l as usize)
                    .map_or_else(|| self.recall(b, i), |s| vec![*s]),
                None => {
                    self.remember(b, i.operand(0));
                    self.recall(b, i)
                }
            },
            LLVMInsertElement if shape.is_some() => match i.operand(2).const_int() {
                Some(l) => {
                    let mut s = self.get(b, i.operand(0));
                    let x = self.get(b, i.operand(1))[0];
                    if let Some(slot) = s.get_mut(l as usize) {
                        *slot = x;
                    }
                    s
                }
                None => {
                    self.remember(b, i.operand(0));
                    self.remember(b, i.operand(1));
                    self.recall(b, i)
                }
            },
            LLVMShuffleVector if shape.is_some() => {
                let all: Vec<Dd> = [self.get(b, i.operand(0)), self.get(b, i.operand(1))].concat();
                let nothing = Dd {
                    hi: self.zero(),
                    lo: self.zero(),
                };
                i.shuffle_mask()
                    .into_iter()
                    .map(|l| {
                        l.and_then(|l| all.get(l as usize))
                            .copied()
                            .unwrap_or(nothing)
                    })
                    .collect()
            }
            LLVMCall => {
                self.call(i, &after);
                return;
            }
            LLVMRet => {
                if let Some(v) = i.operands().first()
                    && lanes(v.ty()).is_some()
                {
                    if lanes(v.ty()).is_some_and(|s| s.1 == 1) {
                        let s = self.get(b, *v)[0];
                        self.call_void(b, "kerf_shadow_set_ret", &[self.bits(b, *v), s.hi, s.lo]);
                    } else {
                        self.remember(b, *v);
                    }
                } else if let Some(v) = i.operands().first() {
                    self.return_aggregate(b, *v);
                }
                return;
            }
            LLVMExtractValue if shape.is_some() => self.extract_value(b, i),
            LLVMExtractValue => {
                self.found(i);
                return;
            }
            LLVMInsertValue => {
                self.insert_value(b, i);
                return;
            }
            _ => {
                self.integer(b, i);
                return;
            }
        };
        self.shadows.insert(i, new);
    }

    fn run(&mut self, f: Value, is_kernel: bool) {
        let blocks = reverse_postorder(f);
        let mut phis: Vec<(Value, Vec<Dd>, (Format, u32))> = Vec::new();
        for b in &blocks {
            for i in b.instructions() {
                if i.opcode() != Some(Opcode::LLVMPHI) {
                    break;
                }
                // An integer that is read as floats has a shadow too.
                let word = || {
                    if i.ty().is_int() {
                        self.read_later(i)
                            .filter(|(f, n)| 8 * f.bytes() as u32 * n == i.ty().int_bits())
                    } else {
                        None
                    }
                };
                let Some(shape) = lanes(i.ty()).or_else(word) else {
                    continue;
                };
                let at = Builder::before(i);
                let s: Vec<Dd> = (0..shape.1)
                    .map(|_| Dd {
                        hi: at.phi(self.f64t),
                        lo: at.phi(self.f64t),
                    })
                    .collect();
                if i.ty().is_int() {
                    self.is_bits_of(i, shape, &s);
                } else {
                    self.shadows.insert(i, s.clone());
                }
                phis.push((i, s, shape));
            }
        }
        let existing: Vec<Vec<Value>> = blocks.iter().map(|b| b.instructions()).collect();
        if let Some(first) = f.blocks().first().and_then(|b| b.first_non_phi()) {
            let b = Builder::before(first);
            for (k, p) in f.params().into_iter().enumerate() {
                if let Some(t) = f.byval(k as u32) {
                    let (a, n) = (self.address(&b, p, self.f64t, 0), b.i64(self.m.size_of(t)));
                    if is_kernel {
                        self.call_void(&b, "kerf_shadow_clear", &[a, n]);
                    } else {
                        self.call_void(&b, "kerf_shadow_byval", &[b.i32(k as u32), a, n]);
                    }
                }
                if is_kernel {
                    continue;
                }
                match lanes(p.ty()) {
                    Some((_, 1)) => {
                        let s = self.call_dd(
                            &b,
                            "kerf_shadow_arg",
                            &[b.i32(k as u32), self.bits(&b, p), self.fmt(&b, p.ty())],
                        );
                        self.shadows.insert(p, vec![s]);
                    }
                    Some(_) => {
                        let s = self.recall(&b, p);
                        self.shadows.insert(p, s);
                    }
                    None => {}
                }
            }
        }
        for i in existing.into_iter().flatten() {
            self.instruction(i);
        }
        for (phi, s, shape) in phis {
            for (v, from) in phi.incoming() {
                let at = from
                    .terminator()
                    .map_or_else(|| Builder::at_end(from), Builder::before);
                let shadows = if phi.ty().is_int() {
                    self.incoming_word(&at, v, shape)
                } else {
                    self.get(&at, v)
                };
                for (l, d) in shadows.into_iter().enumerate() {
                    s[l].hi.add_incoming(&[(d.hi, from)]);
                    s[l].lo.add_incoming(&[(d.lo, from)]);
                }
            }
        }
    }
}

/// Blocks of a function that can be reached, definitions before uses but for phis.
pub(crate) fn reverse_postorder(f: Value) -> Vec<Block> {
    let mut order = Vec::new();
    let mut seen: Vec<Block> = Vec::new();
    let Some(entry) = f.blocks().first().copied() else {
        return order;
    };
    let mut stack = vec![(entry, 0usize)];
    seen.push(entry);
    while let Some((b, k)) = stack.pop() {
        let next = b.terminator().map(|t| t.successors()).unwrap_or_default();
        if let Some(s) = next.get(k) {
            stack.push((b, k + 1));
            if !seen.contains(s) {
                seen.push(*s);
                stack.push((*s, 0));
            }
        } else {
            order.push(b);
        }
    }
    order.reverse();
    order
}

/// Instruments a prepared module.
pub fn instrument(m: &Module) -> Result<ShadowMap, LlvmError> {
    let kernels = m.kernel_functions();
    let defined: Vec<Value> = m
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration())
        .collect();
    let mut p = Pass {
        m,
        shadows: BTreeMap::new(),
        words: BTreeMap::new(),
        journeys: Vec::new(),
        aggregates: BTreeMap::new(),
        map: ShadowMap::default(),
        main: m.source_name(),
        f64t: m.f64_ty(),
    };
    for f in defined {
        p.run(f, kernels.contains(&f));
    }
    m.verify()?;
    Ok(p.map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_map_to_functions() {
        let name = |c: &str| function_of(c).map(|i| FUNCTIONS[i as usize].0);
        assert_eq!(name("__nv_exp"), Some("exp"));
        assert_eq!(name("__nv_expf"), Some("exp"));
        assert_eq!(name("__nv_fast_expf"), Some("exp"));
        assert_eq!(name("__nv_erf"), Some("erf"));
        assert_eq!(name("__nv_erff"), Some("erf"));
        assert_eq!(name("__nv_dadd_rz"), Some("add"));
        assert_eq!(name("__nv_fast_fdividef"), Some("div"));
        assert_eq!(name("llvm.fma.f64"), Some("fma"));
        assert_eq!(name("llvm.nvvm.ex2.approx.ftz.f32"), Some("exp2"));
        assert_eq!(name("llvm.minnum.f32"), Some("fmin"));
        assert_eq!(name("__nv_fmodf"), Some("fmod"));
        assert_eq!(name("__nv_popc"), None);
    }
}
