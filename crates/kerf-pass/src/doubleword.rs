//! The double-word device library: bitcode of `device/doubleword.cu`, linked into modules that use it.
//!
//! A double word is a vector `<2 x float>` or `<2 x double>`, element 0 the high word. Functions are
//! named `kerf_dw32_add`, `kerf_dw64_exp`, ...; the formulas of composite precision as published end in
//! `_cmp`. The header `device/doubleword.h` is the same library for C++ device code.
use crate::site_format::SiteFormat;
use kerf_llvm::{Builder, LlvmError, Module, Type, Value};

/// The library as LLVM bitcode for NVPTX.
pub const BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/doubleword.bc"));

/// Links the functions of the library that a module declares.
pub fn link(m: &Module) -> Result<(), LlvmError> {
    crate::device_library::link(m, BITCODE, "doubleword")
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
