//! The reference device library: bitcode of `device/reference.cu`, linked into modules that carry a
//! shadow.
//!
//! A value of the shadow is a vector `<2 x double>`, element 0 the high word. A function `NAME` is called
//! `kerf_dd_NAME`. It uses only operations that IEEE 754 defines to the last bit, so the executors give
//! the same bits. Arithmetic is bit for bit that of [`kerf_num::Dd`] and is inlined; the elementary
//! functions have a relative error below `2^-95`, also next to their zeros, wherever the result is not
//! so small that its low word underflows. Only `lgamma` next to its zeros below -2, and `j0`, `j1`, `y0`,
//! `y1` next to theirs, have errors that are small beside `|x log |x||` and `1/sqrt(x)` instead.
use kerf_llvm::{LlvmError, Module};

/// The library as LLVM bitcode for NVPTX.
pub const BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/reference.bc"));

/// What the name of a function in a module begins with.
pub const PREFIX: &str = "kerf_dd_";

/// The functions, by the names of [`shadow::FUNCTIONS`](crate::shadow::FUNCTIONS) where they are listed
/// there. Beyond those: `powi` and `ldexp` of a pair and an `i32`; `from_i64` and `from_u64`; `compare` of
/// two pairs to an `i32`, which is 1 for equal, 2 for greater, 4 for less, 8 for unordered.
pub const FUNCTIONS: &[&str] = &[
    "add",
    "sub",
    "mul",
    "div",
    "fma",
    "neg",
    "fabs",
    "sqrt",
    "rcp",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "round",
    "fmin",
    "fmax",
    "copysign",
    "fdim",
    "saturate",
    "norm3d",
    "rnorm3d",
    "from_i64",
    "from_u64",
    "ldexp",
    "compare",
    "hypot",
    "rhypot",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "pow",
    "powi",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sin",
    "cos",
    "tan",
    "sinpi",
    "cospi",
    "asin",
    "acos",
    "atan",
    "atan2",
    "rsqrt",
    "cbrt",
    "rcbrt",
    "erf",
    "erfc",
    "erfcx",
    "normcdf",
    "fmod",
    "remainder",
    "erfinv",
    "erfcinv",
    "normcdfinv",
    "tgamma",
    "lgamma",
    "j0",
    "j1",
    "y0",
    "y1",
];

/// Whether the library has a function.
pub fn has(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// Links the functions of the library that a module declares.
pub fn link(m: &Module) -> Result<(), LlvmError> {
    crate::device_library::link(m, BITCODE, "reference")
}
