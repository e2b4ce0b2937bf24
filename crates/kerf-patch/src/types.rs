//! Types of the source by their text: scalars, CUDA's vectors, and what pointers are of.
use kerf_num::Format;

/// A type without qualifiers.
fn bare(t: &str) -> String {
    let words: Vec<&str> = t
        .split_whitespace()
        .filter(|w| {
            !matches!(
                *w,
                "const"
                    | "volatile"
                    | "__restrict"
                    | "__restrict__"
                    | "restrict"
                    | "__global"
                    | "__local"
                    | "__private"
                    | "__constant"
                    | "struct"
            )
        })
        .collect();
    words.join(" ").replace("__restrict", "")
}

/// Format of a scalar type.
pub fn scalar(t: &str) -> Option<Format> {
    match bare(t).as_str() {
        "double" => Some(Format::F64),
        "float" => Some(Format::F32),
        _ => None,
    }
}

/// Format and length of one of CUDA's vectors.
pub fn vector(t: &str) -> Option<(Format, u8)> {
    let t = bare(t);
    let (f, n) = match t.strip_prefix("double") {
        Some(n) => (Format::F64, n),
        None => (Format::F32, t.strip_prefix("float")?),
    };
    let n = n
        .strip_suffix("_16a")
        .or(n.strip_suffix("_32a"))
        .unwrap_or(n);
    let n: u8 = n.parse().ok()?;
    (1..=4).contains(&n).then_some((f, n))
}

/// Format of what a pointer, array or reference is of, at any depth.
pub fn element(t: &str) -> Option<Format> {
    let t = bare(t);
    let cut = t.find(['*', '[', '&', '('])?;
    scalar(&t[..cut]).or_else(|| vector(&t[..cut]).map(|v| v.0))
}

/// Numbers in a vector, or in those that a pointer, array or reference is of.
pub(crate) fn lanes(t: &str) -> Option<u8> {
    let t = bare(t);
    let cut = t.find(['*', '[', '&', '(']).unwrap_or(t.len());
    vector(&t[..cut]).map(|v| v.1)
}

/// The record that a type, or a pointer to it, names.
pub(crate) fn record_name(t: &str) -> String {
    let t = bare(t);
    let cut = t.find(['*', '[', '&', '(']).unwrap_or(t.len());
    t[..cut].trim().to_owned()
}
