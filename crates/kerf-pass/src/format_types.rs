//! Types of numbers in the formats of sites.
use crate::site_format::SiteFormat;
use kerf_ir::sites::float_shape;
use kerf_llvm::{Module, Type, Value};

/// Type of a number in a format.
pub fn type_of(m: &Module, f: SiteFormat) -> Type {
    let word = m.float_ty(f.word());
    if f.is_pair() { word.vector(2) } else { word }
}

/// Type of what is now of type `like`, a number or a vector of them, in a format.
pub fn typed(m: &Module, f: SiteFormat, like: Type) -> Type {
    match like.is_vector() && !f.is_pair() {
        true => m.float_ty(f.word()).vector(like.lanes()),
        false => type_of(m, f),
    }
}

/// Format of a value's type.
pub fn format_of(v: Value) -> Option<SiteFormat> {
    float_shape(v.ty()).map(|(f, _)| SiteFormat::from(f))
}
