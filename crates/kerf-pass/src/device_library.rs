//! Linking a device library, embedded as bitcode, into a module that declares functions of it.
use kerf_llvm::{CC_PTX_KERNEL, Linkage, LlvmError, Module, PassOptions, TargetMachine};

/// Links the functions of a library that a module declares; they become internal to it.
pub(crate) fn link(m: &Module, bitcode: &[u8], name: &str) -> Result<(), LlvmError> {
    let defined: Vec<String> = m
        .functions()
        .iter()
        .filter(|f| !f.is_declaration())
        .map(|f| f.name())
        .collect();
    m.link(bitcode, name)?;
    for f in m.functions() {
        if !f.is_declaration() && !defined.contains(&f.name()) {
            // The host launches kernels by their names.
            if f.call_conv() != CC_PTX_KERNEL {
                f.set_linkage(Linkage::LLVMInternalLinkage);
            }
            // Attributes of the architecture that the library was compiled for would stop inlining.
            f.remove_fn_attr("target-cpu");
            f.remove_fn_attr("target-features");
            f.remove_fn_attr("frame-pointer");
        }
    }
    // What is not called goes again, and with it the need for libdevice that some of it has.
    TargetMachine::nvptx("sm_70")?.run_passes(m, "globaldce", PassOptions::default())
}
