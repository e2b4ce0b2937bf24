//! The functions through which the executor runs a kernel: for a whole block, and for one thread.
use super::lead::field;
use super::{LoweredKernel, STRUCT_SUFFIX, ThreadMode};
use crate::cpu::context::offset;
use crate::cpu::regions;
use kerf_llvm::{Builder, IntPred, Linkage, Module, Value};

/// The entry that runs all threads of a block in loops over z, y, x.
fn loop_entry(m: &Module, body: Value, name: &str) -> Value {
    let (ptr, i32t) = (m.ptr_ty(0), m.int_ty(32));
    let f = m.add_function(name, m.void_ty().function(&[ptr, ptr]));
    let (ctx, args) = (f.params()[0], f.params()[1]);
    let entry = m.append_block(f, "entry");
    let b = Builder::at_end(entry);
    let bounds: Vec<Value> = (0..3)
        .map(|d| field(&b, ctx, offset::NTID + 4 * d, i32t))
        .collect();
    let values = load_args(&b, body, args);
    let zero = b.i32(0);
    let heads: Vec<_> = ["z", "y", "x"].iter().map(|n| b.new_block(f, n)).collect();
    let latches: Vec<_> = ["z.next", "y.next", "x.next"]
        .iter()
        .map(|n| b.new_block(f, n))
        .collect();
    let exit = b.new_block(f, "exit");
    b.br(heads[0]);
    let mut indices = Vec::new();
    for level in 0..3 {
        b.move_to_end(heads[level]);
        let i = b.phi(i32t);
        i.add_incoming(&[(zero, if level == 0 { entry } else { heads[level - 1] })]);
        indices.push(i);
        if level < 2 {
            b.br(heads[level + 1]);
        }
    }
    let mut call_args = vec![ctx, indices[2], indices[1], indices[0]];
    call_args.extend(values);
    b.call(body, &call_args);
    b.br(latches[2]);
    for level in (0..3).rev() {
        b.move_to_end(latches[level]);
        let n = b.add(indices[level], b.i32(1));
        n.set_no_wrap();
        indices[level].add_incoming(&[(n, latches[level])]);
        let more = b.icmp(IntPred::LLVMIntULT, n, bounds[2 - level]);
        let done = if level == 0 { exit } else { latches[level - 1] };
        let br = b.cond_br(more, heads[level], done);
        if level == 2 {
            br.mark_parallel(body);
        }
    }
    b.move_to_end(exit);
    b.ret(None);
    f
}

/// The entry that runs one thread.
fn thread_entry(m: &Module, body: Value, name: &str) -> Value {
    let (ptr, i32t) = (m.ptr_ty(0), m.int_ty(32));
    let f = m.add_function(name, m.void_ty().function(&[ptr, ptr, i32t, i32t, i32t]));
    let p = f.params();
    let b = Builder::at_end(m.append_block(f, "entry"));
    let mut call_args = vec![p[0], p[2], p[3], p[4]];
    call_args.extend(load_args(&b, body, p[1]));
    b.call(body, &call_args);
    b.ret(None);
    f
}

/// Arguments of a kernel: `args[i]` points at the storage of argument i.
fn load_args(b: &Builder, body: Value, args: Value) -> Vec<Value> {
    let ptr = b.ptr_ty(0);
    body.params()
        .iter()
        .skip(4)
        .enumerate()
        .map(|(i, p)| {
            let slot = b.index(ptr, args, b.i64(i as u64));
            let at = b.load(ptr, slot);
            at.mark("invariant.load");
            if body_param_is_struct(body, i) {
                return at;
            }
            let v = b.load(p.ty(), at);
            v.mark("invariant.load");
            v
        })
        .collect()
}

/// Was the parameter a struct by value? Its pointer then is the argument's storage itself.
fn body_param_is_struct(body: Value, i: usize) -> bool {
    body.params()[4 + i].name().ends_with(STRUCT_SUFFIX)
}

/// The entries of a kernel, by its mode.
pub(super) fn make_entries(m: &Module, k: &mut LoweredKernel, body: Value) {
    let export = |f: Value| f.set_linkage(Linkage::LLVMExternalLinkage);
    if k.mode == ThreadMode::Regions {
        match regions::split(m, body, &k.symbol) {
            Some(r) => {
                for (i, f) in r.functions.iter().enumerate() {
                    f.set_linkage(Linkage::LLVMInternalLinkage);
                    export(loop_entry(m, *f, &format!("{}.r{i}", k.entry)));
                    export(thread_entry(m, *f, &format!("{}.t{i}", k.entry)));
                    f.add_enum_attr("alwaysinline");
                }
                k.regions = r.functions.len();
                k.frame_bytes = r.frame_bytes;
                return;
            }
            None => k.mode = ThreadMode::Coroutine,
        }
    }
    if k.mode == ThreadMode::Loop {
        export(loop_entry(m, body, &k.entry));
        body.add_enum_attr("alwaysinline");
    } else {
        export(thread_entry(m, body, &k.entry));
    }
}
