//! Formats that operations and memory may be narrowed to.
use kerf_num::Format;
use kerf_pass::SiteFormat;

/// Formats that a site may be lowered to.
pub const NARROW: [SiteFormat; 3] = [SiteFormat::F32, SiteFormat::F16, SiteFormat::Bf16];

/// Significant bits.
pub fn precision(f: Format) -> u32 {
    match f {
        Format::F64 => 53,
        Format::F32 => 24,
        Format::F16 => 11,
        Format::Bf16 => 8,
    }
}
