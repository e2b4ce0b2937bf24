//! The prepared module: what sites are numbered in and plans are applied to.
//!
//! clang's output becomes SSA with device functions inlined and inline PTX lifted, math calls still
//! visible as `__nv_*`; multiply-adds are fused once, here ([`crate::fuse`]), and every fast-math
//! flag is dropped, so that no backend decides anything about rounding later. Loops are not
//! unrolled unless the source says so: a site stays one site.
use kerf_clang::compile::Purpose;
use kerf_llvm::{Builder, LlvmError, Module, Opcode, PassOptions, RmwOp, TargetMachine, Value};
use kerf_ptx::Unlifted;

/// Named metadata that says a module has been through [`prepare`].
const MARK: &std::ffi::CStr = c"kerf.prepared";

/// Is the module prepared already?
pub fn is_prepared(m: &Module) -> bool {
    // SAFETY: the module is live and the name is a C string.
    unsafe {
        !kerf_llvm::sys::LLVMGetNamedMetadata(m.raw(), MARK.as_ptr(), MARK.count_bytes()).is_null()
    }
}

fn set_mark(m: &Module) {
    // SAFETY: as above; creates the node.
    unsafe {
        kerf_llvm::sys::LLVMGetOrInsertNamedMetadata(m.raw(), MARK.as_ptr(), MARK.count_bytes());
    }
}

/// Before the names of functions with the code of a math function that was made for a range: a plan puts them into the
/// prepared module, where they count as functions of libdevice do.
pub const MADE_FUNCTIONS: &str = "__nv_kerf_made.";

/// Has the function the code of a math function that was made for a range?
pub fn is_made_function(f: Value) -> bool {
    f.name().starts_with(MADE_FUNCTIONS)
}

/// Is it a pure libdevice function (no pointer parameters), or one that was made in its place?
pub fn is_pure_math(f: Value) -> bool {
    (f.is_declaration() || is_made_function(f))
        && f.name().starts_with("__nv_")
        && f.global_type().params().iter().all(|t| !t.is_ptr())
}

/// OpenCL `__local` pointer parameters: the argument is an offset into dynamic shared memory, on
/// both executors alike. The parameter becomes an integer (the driver refuses kernels with shared
/// pointers) and an attribute remembers what it was.
fn place_local_params(m: &Module) {
    for mut k in m.kernel_functions() {
        let local = |p: &Value| p.ty().is_ptr() && p.ty().space() == kerf_llvm::space::SHARED;
        let which: Vec<u32> = (0u32..)
            .zip(k.params())
            .filter(|(_, p)| local(p))
            .map(|(i, _)| i)
            .collect();
        if which.is_empty() {
            continue;
        }
        let dynamic = m.global(LOCAL_BASE).unwrap_or_else(|| {
            let g = m.add_global(m.int_ty(8).array(0), LOCAL_BASE, kerf_llvm::space::SHARED);
            g.set_align(16);
            g
        });
        for i in &which {
            k = k.param_to_int(*i);
            let offset = k.params()[*i as usize];
            // The one use: the cast back to a pointer.
            for cast in offset.users() {
                let b = Builder::before(cast);
                let placed = b.offset(dynamic, offset);
                cast.become_value(placed);
            }
        }
        let list: Vec<String> = which.iter().map(u32::to_string).collect();
        k.add_fn_attr(LOCAL_PARAMS, &list.join(","));
    }
}

/// The same of PTX that was made of such a kernel: an integer that is only ever added to where the local arguments live.
fn recognise_local_params(m: &Module) {
    let Some(base) = m.global(LOCAL_BASE) else {
        return;
    };
    for k in m.kernel_functions() {
        if k.fn_attr(LOCAL_PARAMS).is_some() {
            continue;
        }
        let placed = |u: &Value| {
            u.opcode() == Some(Opcode::LLVMGetElementPtr)
                && u.gep_type() == m.int_ty(8)
                && u.operand(0).underlying() == base
        };
        let local = |p: &Value| {
            let users = p.users();
            p.ty() == m.int_ty(64) && !users.is_empty() && users.iter().all(placed)
        };
        let which: Vec<String> = (0u32..)
            .zip(k.params())
            .filter(|(_, p)| local(p))
            .map(|(i, _)| i.to_string())
            .collect();
        if !which.is_empty() {
            k.add_fn_attr(LOCAL_PARAMS, &which.join(","));
        }
    }
}

/// Function attribute: positions of parameters that are offsets into dynamic shared memory.
pub const LOCAL_PARAMS: &str = "kerf-local-params";

/// Dynamic shared memory that OpenCL local arguments live in.
const LOCAL_BASE: &str = "kerf_local";

/// Unsigned `atomicMin_block` and its kin: clang 22 gives them the signed intrinsic, and only the name
/// of the header's wrapper, gone after inlining, still says which order is meant.
fn order_unsigned_atomics(m: &Module) {
    for f in m.functions() {
        let name = f.name();
        if !["__uAtomicM", "__ullAtomicM"]
            .iter()
            .any(|w| name.contains(w))
        {
            continue;
        }
        for i in f.instructions() {
            let op = match i.callee_name() {
                Some(n) if n.starts_with("llvm.nvvm.atomic.max.gen.i.") => {
                    RmwOp::LLVMAtomicRMWBinOpUMax
                }
                Some(n) if n.starts_with("llvm.nvvm.atomic.min.gen.i.") => {
                    RmwOp::LLVMAtomicRMWBinOpUMin
                }
                _ => continue,
            };
            let a = i.args();
            i.become_value(Builder::before(i).atomic_rmw(op, a[0], a[1]));
        }
    }
}

/// `new` and `delete` become `malloc` and `free`, as the CUDA runtime has them; clang leaves them
/// undefined unless the program includes <new>.
fn lower_new(m: &Module) {
    let malloc = ("malloc", m.ptr_ty(0).function(&[m.int_ty(64)]));
    let free = ("free", m.void_ty().function(&[m.ptr_ty(0)]));
    for name in ["_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"] {
        let Some(f) = m.function(name).filter(|f| f.is_declaration()) else {
            continue;
        };
        let (to, ty) = if name.starts_with("_Zn") {
            malloc
        } else {
            free
        };
        for call in f.users() {
            if call.callee_name().as_deref() != Some(name) {
                continue;
            }
            let r = Builder::before(call).call(m.declare(to, ty), &call.args()[..1]);
            if r.ty().is_void() {
                call.erase();
            } else {
                call.become_value(r);
            }
        }
    }
}

/// Calling conventions, linkage and attributes as a program for NVPTX has them.
fn adopt_functions(m: &Module) {
    for f in m.functions() {
        // Target attributes of another processor (an OpenCL front end's, an older file's) would
        // stop inlining between functions.
        f.remove_fn_attr("target-cpu");
        f.remove_fn_attr("target-features");
        f.remove_fn_attr("frame-pointer");
        // clang's OpenCL kernels are stubs around the real body.
        if f.name().starts_with("__clang_ocl_kern_imp_") {
            f.remove_enum_attr("noinline");
            f.add_enum_attr("alwaysinline");
        }
        if f.call_conv() == kerf_llvm::CC_SPIR_KERNEL {
            f.set_call_conv(kerf_llvm::CC_PTX_KERNEL);
        }
        if f.call_conv() == kerf_llvm::CC_SPIR_FUNC {
            f.set_call_conv(0);
            for u in f.users() {
                if u.callee_name().is_some() {
                    u.set_instr_call_conv(0);
                }
            }
        }
    }
    let kernels = m.kernel_functions();
    for f in m.functions() {
        if !f.is_declaration() && !kernels.contains(&f) {
            f.set_linkage(kerf_llvm::Linkage::LLVMInternalLinkage);
        }
        if is_pure_math(f) {
            f.mark_pure();
        }
    }
}

/// Prepares a module; gives the inline PTX that could not be lifted.
pub fn prepare(m: &Module, arch: &str) -> Result<Vec<Unlifted>, LlvmError> {
    prepare_for(m, arch, Purpose::Tuning)
}

/// [`prepare`], for a purpose. A module that is prepared already stays as it is.
pub fn prepare_for(m: &Module, arch: &str, purpose: Purpose) -> Result<Vec<Unlifted>, LlvmError> {
    let machine = TargetMachine::nvptx(arch)?;
    if is_prepared(m) {
        return Ok(Vec::new());
    }
    machine.adopt(m);
    m.drop_used();
    m.drop_unit_lists();
    adopt_functions(m);
    place_local_params(m);
    order_unsigned_atomics(m);
    lower_new(m);
    if purpose == Purpose::Sanitizing {
        crate::undefined_locals::mark_undefined_locals(m);
    }
    let options = PassOptions {
        inline_threshold: Some(1000),
        ..PassOptions::default()
    };
    // Addresses that asm takes as 32-bit integers are traced back to pointers, which needs SSA.
    let first = match purpose {
        Purpose::Tuning => PassOptions::default(),
        Purpose::Sanitizing => options,
    };
    let passes = match purpose {
        Purpose::Tuning => "always-inline,cgscc(inline),function(sroa,early-cse)",
        // Code that constants rule out may have constructs that only optimisation would remove.
        Purpose::Sanitizing => "always-inline,cgscc(inline),function(sroa,early-cse,sccp,adce)",
    };
    machine.run_passes(m, passes, first)?;
    let unlifted = kerf_ptx::lift(m);
    crate::tensor_core::keep_warps_whole(m);
    crate::half_overflow::limit_halves(m);
    if purpose == Purpose::Tuning {
        machine.run_passes(m, "default<O2>", options)?;
    }
    kerf_ptx::drop_unused(m);
    crate::fuse::fuse_multiply_adds(m);
    m.strict_math();
    machine.run_passes(m, "globaldce,adce", PassOptions::default())?;
    recognise_local_params(m);
    set_mark(m);
    m.verify()?;
    Ok(unlifted)
}
