//! The leading parameters of every lowered function: the block's context and the thread's indices.
use kerf_llvm::{Builder, Module, Opcode, Type, Value};
use std::collections::BTreeMap;

/// Leading parameters of every lowered function.
pub(super) struct Lead {
    pub ctx: Value,
    pub tid: [Value; 3],
}

impl Lead {
    /// Those of a function that has them.
    pub fn from_function(f: Value) -> Lead {
        let p = f.params();
        Lead {
            ctx: p[0],
            tid: [p[1], p[2], p[3]],
        }
    }
    pub fn all(&self) -> Vec<Value> {
        vec![self.ctx, self.tid[0], self.tid[1], self.tid[2]]
    }
}

/// A field of the context; constant while a block runs.
pub(super) fn field(b: &Builder, ctx: Value, at: u64, ty: Type) -> Value {
    let p = b.offset(ctx, b.i64(at));
    let v = b.load(ty, p);
    v.mark("invariant.load");
    v
}

/// Gives every defined function the four leading parameters, and rewrites all calls.
pub(super) fn add_lead(m: &Module) {
    let (ptr, i32t) = (m.ptr_ty(0), m.int_ty(32));
    let lead = [ptr, i32t, i32t, i32t];
    let old: Vec<Value> = m
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration())
        .collect();
    let mut map = BTreeMap::new();
    for f in old {
        // byval becomes a plain pointer: the caller of a kernel owns the copy.
        let byval: Vec<(u32, Type)> = (0..f.params().len() as u32)
            .filter_map(|i| Some((i, f.byval(i)?)))
            .collect();
        let n = f.prepend_params(&lead);
        n.set_call_conv(0);
        for (i, t) in byval {
            // Each thread may write its own copy of a struct argument.
            if let Some(first) = n.blocks().first().and_then(|b| b.first_non_phi()) {
                let b = Builder::before(first);
                let p = n.params()[4 + i as usize];
                let copy = b.alloca(t);
                copy.set_align(16);
                p.replace_with(copy);
                b.memcpy(copy, p, m.size_of(t), 1);
            }
        }
        map.insert(f, n);
    }
    for n in map.values() {
        let lead_values = Lead::from_function(*n).all();
        for i in n.instructions() {
            if i.opcode() != Some(Opcode::LLVMCall) {
                continue;
            }
            let callee = i.callee();
            if let Some(new) = map.get(&callee) {
                let c = i.prepend_args(*new, new.global_type(), &lead_values);
                c.set_instr_call_conv(0);
            } else if !callee.is_function() && !callee.is_inline_asm() {
                let t = i.called_type();
                let mut params = lead.to_vec();
                params.extend(t.params());
                i.prepend_args(callee, t.ret().function(&params), &lead_values);
            }
        }
    }
    for (f, n) in &map {
        f.replace_with(*n);
        f.delete_function();
    }
}
