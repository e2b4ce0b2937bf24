//! Functions that CUDA and OpenCL programs find on the device: printf, assert, trap, malloc.
use super::calls::{runtime, site_number};
use crate::cpu::context::offset;
use crate::cpu::lead::{Lead, field};
use crate::cpu::sanitize::inlined_checks::RUNTIME;
use kerf_llvm::{Builder, Module, Opcode, Value};
use kerf_num::Format;
use kerf_pass::sanitize;

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

/// The thread's number in its block.
fn linear_thread(b: &Builder, lead: &Lead) -> Value {
    let i32t = b.int_ty(32);
    let extent = |d: u64| field(b, lead.ctx, offset::NTID + 4 * d, i32t);
    let [x, y, z] = lead.tid;
    let rows = b.add(y, b.mul(extent(1), z));
    b.add(x, b.mul(extent(0), rows))
}

pub(super) fn lower(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
    let a = i.args();
    let i32t = b.int_ty(32);
    if n.starts_with(kerf_ir::undefined_locals::VALUE) {
        return Some(i.ty().zero());
    }
    if let Some(direction) = n.strip_prefix(sanitize::runtime::SHUFFLE) {
        return super::collective::shadow_shuffle(m, b, lead, i, direction);
    }
    if let Some((_, to)) = RUNTIME.iter().find(|(name, _)| *name == n) {
        let mut args = match n == sanitize::runtime::ACCESS {
            true => vec![lead.ctx, linear_thread(b, lead)],
            false => lead.all(),
        };
        args.extend(a);
        return Some(runtime(m, to, i.ty(), &args, b));
    }
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
