//! Formats that operations and memory may be lowered to, and those that operations may be raised to.
use kerf_num::scaled::{ElementCode, ScaledFormat};
use kerf_num::{Format, StorageFormat};
use kerf_pass::SiteFormat;

/// Formats that a site, or memory, may be lowered to on any device.
pub const NARROW: [SiteFormat; 3] = [SiteFormat::F32, SiteFormat::F16, SiteFormat::Bf16];

/// The same with pairs of f32, which operations in f64 may be lowered to; memory holds no pairs.
pub const LOWER: [SiteFormat; 4] = [
    SiteFormat::Dw32,
    SiteFormat::F32,
    SiteFormat::F16,
    SiteFormat::Bf16,
];

/// A code's format, before anything is known of the values that it stands for.
pub fn unscaled(code: ElementCode) -> StorageFormat {
    ScaledFormat { code, exponent: 0 }.into()
}

/// Formats that memory may be held in on any device; what stands against a scaled one is the same at every scale.
pub fn stored_formats() -> Vec<StorageFormat> {
    let float = NARROW.into_iter().filter_map(SiteFormat::storage);
    float.chain(ElementCode::ALL.map(unscaled)).collect()
}

/// Significant bits.
pub fn precision(f: Format) -> u32 {
    match f {
        Format::F64 => 53,
        Format::F32 => 24,
        Format::F16 => 11,
        Format::Bf16 => 8,
    }
}

/// Significant bits of every result, by proven bounds: of a pair those that its division keeps, 15 u^2 (Joldes, Muller, Popescu
/// 2017).
pub fn significant_bits(f: SiteFormat) -> u32 {
    match f.is_pair() {
        true => 2 * precision(f.word()) - 3,
        false => precision(f.word()),
    }
}

/// Formats that an operation may be raised to, the least precise first.
pub fn wider(own: Format) -> &'static [SiteFormat] {
    match own {
        Format::F64 => &[SiteFormat::Dw64],
        Format::F32 => &[SiteFormat::Dw32, SiteFormat::F64],
        Format::F16 | Format::Bf16 => &[],
    }
}
