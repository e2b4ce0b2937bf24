//! Calls, and how shadows travel in and out of the functions that the module defines.
use super::{Pass, ShadowRuntime, lanes};
use kerf_llvm::{Builder, Opcode, Value};

impl Pass<'_> {
    pub(super) fn call(&mut self, i: Value, after: &Builder) {
        let Some(name) = i.callee_name() else {
            self.needs_host("calls through pointers");
            if lanes(i.ty()).is_some() {
                let s = self.recall(after, i);
                self.shadows.insert(i, s);
            }
            return;
        };
        if let Some(form) = kerf_ir::tensor_core::multiply(i) {
            self.multiply_matrices(i, form, after);
        } else if i.callee().is_declaration() {
            self.call_library(i, &name, after);
        } else {
            self.call_defined(i, after);
        }
    }

    /// Leaves the arguments' shadows for the callee, and fetches the result's.
    fn call_defined(&mut self, i: Value, after: &Builder) {
        let args = i.args();
        let shape = lanes(i.ty());
        let callee = i.callee();
        if self.runtime == ShadowRuntime::Device {
            return self.needs_host("calls of functions that are not inlined");
        }
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
    }

    /// Notes what the parameters of a kernel are.
    pub(super) fn note_params(&mut self, kernel: Value) {
        for (k, p) in kernel.params().into_iter().enumerate() {
            self.kernel_params.insert(p);
            if kernel.byval(k as u32).is_some() {
                self.exact_params.insert(p);
            } else if p.ty().is_ptr() && matches!(p.ty().space(), 0 | 1) {
                self.global_params.insert(p);
            }
        }
    }

    /// Fetches the shadows of a function's parameters. Those of a kernel come from the host, which
    /// has none.
    pub(super) fn parameters(&mut self, f: Value, is_kernel: bool) {
        let Some(first) = f.blocks().first().and_then(|b| b.first_non_phi()) else {
            return;
        };
        if self.runtime == ShadowRuntime::Device {
            return;
        }
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

    /// Leaves the result's shadow for the caller.
    pub(super) fn ret(&self, b: &Builder, i: Value) {
        if self.runtime == ShadowRuntime::Device {
            return;
        }
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
    }
}
