//! Instruction types of PTX.
use kerf_llvm::{Builder, Type};
use kerf_num::Format;

/// A type of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ty {
    /// `.pred`
    Pred,
    /// `.b8` to `.b128`
    Bits(u32),
    /// `.u8` to `.u64`
    Uint(u32),
    /// `.s8` to `.s64`
    Sint(u32),
    /// `.f16`, `.bf16`, `.f32`, `.f64`
    Float(Format),
    /// `.f16x2`, `.bf16x2`
    Float2(Format),
    /// `.u16x2` or, if signed, `.s16x2`
    Int2(bool),
}

/// Bits of a format.
pub(super) fn bits(f: Format) -> u32 {
    match f {
        Format::F64 => 64,
        Format::F32 => 32,
        Format::F16 | Format::Bf16 => 16,
    }
}

/// Bits of a format's significand, the hidden one included.
pub(super) fn precision(f: Format) -> u32 {
    match f {
        Format::F64 => 53,
        Format::F32 => 24,
        Format::F16 => 11,
        Format::Bf16 => 8,
    }
}

/// Smallest positive normal number of a format.
pub(super) fn min_normal(f: Format) -> f64 {
    match f {
        Format::F64 => f64::MIN_POSITIVE,
        Format::F32 | Format::Bf16 => f64::from(f32::MIN_POSITIVE),
        Format::F16 => 6.103_515_625e-5,
    }
}

impl Ty {
    /// The type that a modifier names.
    pub fn parse(s: &str) -> Option<Ty> {
        Some(match s {
            "pred" => Ty::Pred,
            "f16" => Ty::Float(Format::F16),
            "bf16" => Ty::Float(Format::Bf16),
            "f32" => Ty::Float(Format::F32),
            "f64" => Ty::Float(Format::F64),
            "f16x2" => Ty::Float2(Format::F16),
            "bf16x2" => Ty::Float2(Format::Bf16),
            "u16x2" => Ty::Int2(false),
            "s16x2" => Ty::Int2(true),
            "b8" => Ty::Bits(8),
            "b16" => Ty::Bits(16),
            "b32" => Ty::Bits(32),
            "b64" => Ty::Bits(64),
            "b128" => Ty::Bits(128),
            "u8" => Ty::Uint(8),
            "u16" => Ty::Uint(16),
            "u32" => Ty::Uint(32),
            "u64" => Ty::Uint(64),
            "s8" => Ty::Sint(8),
            "s16" => Ty::Sint(16),
            "s32" => Ty::Sint(32),
            "s64" => Ty::Sint(64),
            _ => return None,
        })
    }
    /// Bits of a register that holds it.
    pub fn width(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::Bits(w) | Ty::Uint(w) | Ty::Sint(w) => w,
            Ty::Float(f) => bits(f),
            Ty::Float2(_) | Ty::Int2(_) => 32,
        }
    }
    /// Is it a pair of floating-point numbers?
    pub fn is_pair(self) -> bool {
        matches!(self, Ty::Float2(_))
    }
    /// Is it a signed integer type?
    pub fn signed(self) -> bool {
        matches!(self, Ty::Sint(_) | Ty::Int2(true))
    }
    /// Is it a scalar integer or untyped bits?
    pub fn is_int(self) -> bool {
        matches!(self, Ty::Bits(_) | Ty::Uint(_) | Ty::Sint(_))
    }
    /// Format of a floating-point type, packed or not.
    pub fn format(self) -> Option<Format> {
        match self {
            Ty::Float(f) | Ty::Float2(f) => Some(f),
            _ => None,
        }
    }
    /// The type in LLVM IR.
    pub fn llvm(self, b: &Builder) -> Type {
        match self {
            Ty::Pred => b.int_ty(1),
            Ty::Bits(w) | Ty::Uint(w) | Ty::Sint(w) => b.int_ty(w),
            Ty::Float(f) => b.float_ty(f),
            Ty::Float2(f) => b.float_ty(f).vector(2),
            Ty::Int2(_) => b.int_ty(16).vector(2),
        }
    }
}
