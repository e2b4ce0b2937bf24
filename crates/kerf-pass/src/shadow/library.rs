//! Calls of functions that the module only declares: libdevice, LLVM's and NVVM's intrinsics.
use super::functions::function_of;
use super::runtime::Place;
use super::{Dd, Pass, lanes};
use kerf_llvm::{Builder, Value};

impl Pass<'_> {
    fn untracked(&mut self, what: &str) {
        self.needs_host(format!("{what}, which has no high-precision version"));
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

    /// Shadows of the results that a math function leaves in memory.
    fn store_results(&mut self, name: &str, args: &[Value], after: &Builder) {
        for (function, at) in Self::stored_results(name) {
            let s = self.apply(after, function, &args[..1]);
            let t = args[0].ty();
            let v = after.load(t, args[*at]);
            self.write_shadow(after, Place::plain(args[*at]), v, s[0]);
        }
    }

    /// A function of a number and an integer: a power, or a number times a power of two.
    fn with_integer(&mut self, base: &str, args: &[Value], after: &Builder) -> Dd {
        let s = self.get(after, args[0])[0];
        let e = after.sext_or_trunc(args[1], after.int_ty(32));
        let f = if base.starts_with("pow") {
            "powi"
        } else {
            "ldexp"
        };
        self.call_pair(after, &format!("kerf_dd_{f}"), &[self.pair(after, s), e])
    }

    /// Gives the result a shadow: computed where the function is known, found by its bits otherwise.
    pub(super) fn call_library(&mut self, i: Value, name: &str, after: &Builder) {
        let args = i.args();
        let shape = lanes(i.ty());
        if self.reinterpret(i, name, after)
            || self.shuffle(i, name, after)
            || self.range(name, &args, after)
        {
            return;
        }
        self.store_results(name, &args, after);
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
        if let Some(f) = function_of(name)
            && f.arguments as usize == floats.len()
            && floats.len() == args.len()
        {
            let s = self.apply(after, f.name, &floats);
            self.shadows.insert(i, s);
            return;
        }
        // ldexp, scalbn and powi take an integer; shuffles move a value between threads.
        let base = name.trim_start_matches("__nv_").trim_end_matches('f');
        if matches!(base, "ldexp" | "scalbn" | "powi" | "pown")
            && args.len() == 2
            && args[1].ty().is_int()
        {
            let r = self.with_integer(base, &args, after);
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
            self.untracked(name);
        }
        let s = self.recall(after, i);
        self.shadows.insert(i, s);
    }
}
