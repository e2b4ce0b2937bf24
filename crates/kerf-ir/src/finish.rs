//! The finished module: libdevice linked in and everything optimised, still for NVPTX.
//!
//! Both executors start from this same module. PTX is emitted from a copy; the CPU executor
//! lowers a copy to x86. Neither changes rounding any more. What goes round faults of NVIDIA's
//! assembler is done to the copy that becomes PTX.
use kerf_llvm::compute_capability;
use kerf_llvm::{Builder, LlvmError, Module, PassOptions, TargetMachine};
use std::collections::BTreeSet;

/// What libdevice may ask about the compilation (`__nvvm_reflect`).
#[derive(Debug, Clone, Copy)]
pub struct Reflect {
    /// `__CUDA_FTZ`: flush f32 subnormals.
    pub ftz: bool,
    /// `__CUDA_PREC_SQRT`: correctly rounded f32 square root.
    pub precise_sqrt: bool,
    /// `__CUDA_PREC_DIV`: correctly rounded f32 division.
    pub precise_div: bool,
}

impl Default for Reflect {
    /// nvcc's defaults.
    fn default() -> Self {
        Reflect {
            ftz: false,
            precise_sqrt: true,
            precise_div: true,
        }
    }
}

/// Answers every `__nvvm_reflect` call with a constant. Left to LLVM, the unknown ones become 0 and
/// `sqrtf` turns into an approximation.
fn answer_reflect(m: &Module, reflect: Reflect, capability: u64) {
    let cuda_arch = capability * 10;
    for name in [
        "__nvvm_reflect",
        "llvm.nvvm.reflect",
        "llvm.nvvm.reflect.p0",
    ] {
        let Some(f) = m.function(name) else { continue };
        for call in f.users() {
            if call.callee_name().as_deref() != Some(name) {
                continue;
            }
            let what = call.operand(0).underlying();
            let text = what.is_global_var().then(|| what.initializer()).flatten();
            let text = text.and_then(|t| t.const_string()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let answer = match text.trim_end_matches('\0') {
                "__CUDA_FTZ" => u64::from(reflect.ftz),
                "__CUDA_PREC_SQRT" => u64::from(reflect.precise_sqrt),
                "__CUDA_PREC_DIV" => u64::from(reflect.precise_div),
                "__CUDA_ARCH" => cuda_arch,
                _ => 0,
            };
            call.become_value(call.ty().int(answer));
        }
        if f.users().is_empty() {
            f.delete_function();
        }
    }
}

/// Functions of libdevice that a module calls.
pub fn needed(m: &Module) -> Vec<String> {
    let all = m.functions();
    let open = all.iter().filter(|f| f.is_declaration());
    open.map(|f| f.name())
        .filter(|n| n.starts_with("__nv_"))
        .collect()
}

/// libdevice with only some functions and what they call: read and linked in a fraction of the time. Names that it
/// does not have are passed over.
pub fn trim(libdevice: &[u8], roots: &BTreeSet<String>, arch: &str) -> Result<Vec<u8>, LlvmError> {
    let roots: Vec<String> = roots.iter().cloned().collect();
    let m = Module::parse_part(libdevice, "libdevice", &roots)?;
    let machine = TargetMachine::nvptx(arch)?;
    machine.adopt(&m);
    for f in m.functions() {
        if !f.is_declaration() && !roots.contains(&f.name()) {
            f.set_linkage(kerf_llvm::Linkage::LLVMInternalLinkage);
        }
    }
    machine.run_passes(&m, "globaldce", PassOptions::default())?;
    Ok(m.bitcode())
}

/// Links libdevice into a prepared module and optimises.
pub fn finish(m: &Module, libdevice: &[u8], arch: &str, reflect: Reflect) -> Result<(), LlvmError> {
    finish_with(m, libdevice, arch, reflect, Ptx::Lifted)
}

/// What becomes of inline PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ptx {
    /// It becomes IR, which both executors understand.
    Lifted,
    /// It stays as written: a probe of an instruction must reach the assembler untouched.
    Kept,
}

/// [`finish`], with a say in what becomes of inline PTX.
pub fn finish_with(
    m: &Module,
    libdevice: &[u8],
    arch: &str,
    reflect: Reflect,
    ptx: Ptx,
) -> Result<(), LlvmError> {
    let machine = TargetMachine::nvptx(arch)?;
    machine.adopt(m);
    let keep: Vec<String> = m
        .functions()
        .iter()
        .filter(|f| !f.is_declaration())
        .map(|f| f.name())
        .collect();
    let open = needed(m);
    if !open.is_empty() {
        // Purity marks were for the declaration; the definition's own attributes are exact.
        m.link_part(libdevice, "libdevice", &open)?;
        for f in m.functions() {
            if !f.is_declaration() && !keep.contains(&f.name()) {
                f.set_linkage(kerf_llvm::Linkage::LLVMInternalLinkage);
                f.remove_fn_attr("target-cpu");
                f.remove_fn_attr("target-features");
                // What it does not say of itself: without it a loop around a call counts as one that may not end.
                f.add_enum_attr("willreturn");
                f.add_enum_attr("nounwind");
            }
        }
    }
    answer_reflect(m, reflect, compute_capability(arch)?);
    if reflect.ftz {
        // Every function alike, or LLVM would not inline one into another.
        for f in m.functions().iter().filter(|f| !f.is_declaration()) {
            f.add_fn_attr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
        }
    }
    if ptx == Ptx::Lifted {
        let _unknown = kerf_ptx::lift(m);
    }
    machine.run_passes(m, "globaldce", PassOptions::default())?;
    crate::bf16_fence::raise(m);
    m.strict_math();
    if ptx == Ptx::Lifted {
        m.shape();
    }
    let options = PassOptions {
        unroll: true,
        vectorize: false,
        inline_threshold: Some(1000),
        // LLVM's 250 is less than one round over a few arrays of a thread.
        promote: Some(2000),
    };
    machine.run_passes(m, "default<O3>", options)?;
    if ptx == Ptx::Lifted {
        // Loops that unrolling made, and so did not meet.
        m.shape_rest();
        let passes = "function(loop-unroll<O3;no-partial;no-runtime;no-peeling>,early-cse<memssa>,simplifycfg,instcombine)";
        machine.run_passes(m, passes, options)?;
    }
    if reflect.ftz {
        crate::bf16_compare::widen(m);
    }
    m.strict_math();
    m.verify()
}

/// PTX of a finished module, without what the assembler is known to get wrong.
pub fn ptx(m: &Module, arch: &str) -> Result<String, LlvmError> {
    let copy = m.duplicate();
    copy.strip_debug();
    emit(&copy, arch)
}

/// [`ptx`] with the lines that [`Module::number_lines`] gave; the code is the same.
pub fn ptx_with_lines(m: &Module, arch: &str) -> Result<String, LlvmError> {
    emit(&m.duplicate(), arch)
}

fn emit(copy: &Module, arch: &str) -> Result<String, LlvmError> {
    emit_tanh(copy);
    let machine = TargetMachine::nvptx(arch)?;
    machine.adopt(copy);
    crate::bf16_fence::drop(copy);
    let capability = compute_capability(arch)?;
    crate::small_fma::expand(copy, capability);
    crate::assembler_faults::avoid(copy, capability);
    // Where pointers lead, which the backend would find out later.
    machine.run_passes(
        copy,
        "function(infer-address-spaces)",
        PassOptions::default(),
    )?;
    crate::constant_loads::spread(copy, capability);
    copy.shape_memory();
    copy.verify()?;
    machine.assembly(copy)
}

/// `llvm.tanh` stands for `tanh.approx`, for which NVVM has no name of its own. LLVM selects the
/// instruction only under a fast-math flag, and never the forms of the small formats.
fn emit_tanh(m: &Module) {
    for (suffix, constraint) in [("f32", "f"), ("f16", "h"), ("bf16", "h")] {
        let Some(f) = m.function(&format!("llvm.tanh.{suffix}")) else {
            continue;
        };
        for call in f.users() {
            let b = Builder::before(call);
            let word = b.int_ty(16);
            let small = constraint == "h";
            let x = call.operand(0);
            let x = if small { b.bitcast(x, word) } else { x };
            let r = b.asm(
                &format!("tanh.approx.{suffix} $0, $1;"),
                &format!("={constraint},{constraint}"),
                x.ty(),
                &[x],
            );
            call.become_value(if small { b.bitcast(r, call.ty()) } else { r });
        }
        f.delete_function();
    }
}

#[cfg(test)]
mod tests;
