//! The double-word device library: bitcode of `device/doubleword.cu`, linked into modules that use it.
//!
//! A double word is a vector `<2 x float>` or `<2 x double>`, element 0 the high word. Functions are
//! named `kerf_dw32_add`, `kerf_dw64_exp`, ...; the formulas of composite precision as published end in
//! `_cmp`. The header `device/doubleword.h` is the same library for C++ device code.
use crate::site_format::SiteFormat;
use kerf_llvm::{Builder, Linkage, LlvmError, Module, PassOptions, TargetMachine, Type, Value};

/// The library as LLVM bitcode for NVPTX.
pub const BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/doubleword.bc"));

/// Links the functions of the library that a module declares.
pub fn link(m: &Module) -> Result<(), LlvmError> {
    let defined: Vec<String> = m
        .functions()
        .iter()
        .filter(|f| !f.is_declaration())
        .map(|f| f.name())
        .collect();
    m.link(BITCODE, "doubleword")?;
    for f in m.functions() {
        if !f.is_declaration() && !defined.contains(&f.name()) {
            f.set_linkage(Linkage::LLVMInternalLinkage);
            // Attributes of the architecture that the library was compiled for would stop inlining.
            f.remove_fn_attr("target-cpu");
            f.remove_fn_attr("target-features");
            f.remove_fn_attr("frame-pointer");
        }
    }
    // What is not called goes again, and with it the need for libdevice that some of it has.
    TargetMachine::nvptx("sm_70")?.run_passes(m, "globaldce", PassOptions::default())
}

/// Calls `kerf_dwNN_NAME`, of the words that a format has.
pub(crate) fn library(
    m: &Module,
    b: &Builder,
    f: SiteFormat,
    name: &str,
    ret: Type,
    args: &[Value],
) -> Value {
    let dw = match f.word() {
        kerf_num::Format::F64 => "dw64",
        _ => "dw32",
    };
    let params: Vec<Type> = args.iter().map(|a| a.ty()).collect();
    let callee = m.declare(&format!("kerf_{dw}_{name}"), ret.function(&params));
    b.call(callee, args)
}
