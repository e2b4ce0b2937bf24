//! Writing into the program: calls of the shadow runtime, and the shadows of operands.
use super::{Dd, Pass, ShadowRuntime, format_number, lanes};
use crate::reference_library;
use kerf_llvm::{Builder, Opcode, Type, Value};

impl Pass<'_> {
    pub(super) fn zero(&self) -> Value {
        self.f64t.zero()
    }

    pub(super) fn lane(&self, b: &Builder, v: Value, l: u32) -> Value {
        if v.ty().is_vector() { b.lane(v, l) } else { v }
    }

    pub(super) fn widen(&self, b: &Builder, v: Value) -> Value {
        if v.ty() == self.f64t {
            v
        } else {
            b.cast(Opcode::LLVMFPExt, v, self.f64t)
        }
    }

    pub(super) fn bits(&self, b: &Builder, v: Value) -> Value {
        let t = v.ty();
        let w = t.format().map_or(64, |f| 8 * f.bytes() as u32);
        let i = b.bitcast(v, b.int_ty(w));
        b.zext_or_trunc(i, b.int_ty(64))
    }

    pub(super) fn fmt(&self, b: &Builder, t: Type) -> Value {
        b.i32(t.element().format().map_or(0, format_number))
    }

    pub(super) fn call_dd(&self, b: &Builder, name: &str, args: &[Value]) -> Dd {
        let pair = b.struct_ty(&[self.f64t, self.f64t]);
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let f = self.m.declare(name, pair.function(&types));
        let r = b.call(f, args);
        Dd {
            hi: b.extract(r, 0),
            lo: b.extract(r, 1),
        }
    }

    pub(super) fn call_void(&self, b: &Builder, name: &str, args: &[Value]) {
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        b.call(
            self.m.declare(name, self.m.void_ty().function(&types)),
            args,
        );
    }

    /// Shadow of any operand, at a point where the operand is available.
    pub(super) fn get(&self, b: &Builder, v: Value) -> Vec<Dd> {
        if let Some(s) = self.shadows.get(&v) {
            return s.clone();
        }
        let n = lanes(v.ty()).map_or(1, |s| s.1);
        (0..n).map(|l| self.exact(b, self.lane(b, v, l))).collect()
    }

    pub(super) fn recall(&self, b: &Builder, v: Value) -> Vec<Dd> {
        let n = lanes(v.ty()).map_or(1, |s| s.1);
        (0..n)
            .map(|l| {
                let x = self.lane(b, v, l);
                if self.runtime == ShadowRuntime::Device {
                    return self.lost(b, x);
                }
                let fmt = self.fmt(b, x.ty());
                self.call_dd(b, "kerf_shadow_recall", &[self.bits(b, x), fmt])
            })
            .collect()
    }

    pub(super) fn remember(&self, b: &Builder, v: Value) {
        if self.runtime == ShadowRuntime::Device {
            return;
        }
        for (l, s) in self.get(b, v).into_iter().enumerate() {
            let x = self.lane(b, v, l as u32);
            self.call_void(
                b,
                "kerf_shadow_remember",
                &[self.bits(b, x), self.fmt(b, x.ty()), s.hi, s.lo],
            );
        }
    }

    /// A function of the reference library on the shadows of values, lane by lane.
    pub(super) fn apply(&self, b: &Builder, function: &str, args: &[Value]) -> Vec<Dd> {
        let shadows: Vec<Vec<Dd>> = args.iter().map(|a| self.get(b, *a)).collect();
        let lanes = shadows.first().map_or(0, Vec::len);
        let name = format!("{}{function}", reference_library::PREFIX);
        (0..lanes)
            .map(|l| {
                let pairs: Vec<Value> = shadows.iter().map(|s| self.pair(b, s[l])).collect();
                self.call_pair(b, &name, &pairs)
            })
            .collect()
    }
}
