//! Types of `.npy` files.

use std::fmt;

use super::NpyProblem;
use super::literal::Literal;
use crate::elem::ElemType;
use crate::scalar::Scalar;

/// Most scalars one element of a struct may have.
const MAX_SCALARS: usize = 1 << 16;

/// Where the scalars of one item are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileType {
    pub(crate) size: usize,
    pub(crate) scalars: Vec<FileScalar>,
    /// Whether this is a structured type.
    structured: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FileScalar {
    offset: usize,
    scalar: Scalar,
    big_endian: bool,
}

impl FileType {
    /// Reads a `descr`: a type string, or a list of fields.
    pub(crate) fn parse(descr: &Literal) -> Result<FileType, NpyProblem> {
        let mut parsed = FileType {
            size: 0,
            scalars: Vec::new(),
            structured: matches!(descr, Literal::Sequence(_)),
        };
        parsed.append(descr, 1)?;
        if parsed.scalars.is_empty() {
            return Err(NpyProblem::Type(show(descr)));
        }
        Ok(parsed)
    }

    fn append(&mut self, descr: &Literal, times: u64) -> Result<(), NpyProblem> {
        let refuse = || NpyProblem::Type(show(descr));
        match descr {
            Literal::Str(name) => {
                let basic = basic(name).ok_or_else(refuse)?;
                if self.scalars.len() as u64 + times > MAX_SCALARS as u64 {
                    return Err(NpyProblem::Header("too many fields".into()));
                }
                for _ in 0..times {
                    self.scalars.push(FileScalar {
                        offset: self.size,
                        scalar: basic.0,
                        big_endian: basic.1,
                    });
                    self.size += basic.0.bytes();
                }
                Ok(())
            }
            Literal::Sequence(fields) => {
                if times != 1 {
                    return Err(refuse()); // an array of structs inside a struct
                }
                fields.iter().try_for_each(|f| self.field(f))
            }
            _ => Err(refuse()),
        }
    }

    /// Appends a field `(name, type)` or `(name, type, shape)`.
    fn field(&mut self, field: &Literal) -> Result<(), NpyProblem> {
        let refuse = || NpyProblem::Type(show(field));
        let Literal::Sequence(parts) = field else {
            return Err(refuse());
        };
        let (name, descr, shape) = match parts.as_slice() {
            [name, descr] => (name, descr, None),
            [name, descr, shape] => (name, descr, Some(shape)),
            _ => return Err(refuse()),
        };
        if let (Literal::Str(name), Literal::Str(descr)) = (name, descr) {
            // Padding is a void field without a name.
            let bytes = descr.strip_prefix("|V").and_then(|v| v.parse().ok());
            if let (true, Some(bytes)) = (name.is_empty(), bytes) {
                let size = self.size.checked_add(bytes).filter(|s| *s <= 1 << 30);
                self.size = size.ok_or_else(refuse)?;
                return Ok(());
            }
        }
        let times = match shape {
            None => 1,
            Some(Literal::Int(n)) => u64::try_from(*n).map_err(|_| refuse())?,
            Some(Literal::Sequence(extents)) => extents
                .iter()
                .try_fold(1u64, |product, e| match e {
                    Literal::Int(n) => product.checked_mul(u64::try_from(*n).ok()?),
                    _ => None,
                })
                .ok_or_else(refuse)?,
            Some(_) => return Err(refuse()),
        };
        self.append(descr, times)
    }

    /// The type a file for `elem` has.
    pub(crate) fn for_element(elem: &ElemType) -> FileType {
        let scalars = elem
            .scalars()
            .into_iter()
            .map(|(offset, scalar)| FileScalar {
                offset,
                scalar,
                big_endian: false,
            });
        FileType {
            size: elem.size(),
            scalars: scalars.collect(),
            structured: true,
        }
    }

    /// The only scalar of an item that is no structure.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match self.scalars.as_slice() {
            [only] if !self.structured => Some(only.scalar),
            _ => None,
        }
    }

    /// How many items of the file make one element of `elem`; `None` if the types differ.
    pub(crate) fn items_per(&self, elem: &ElemType) -> Option<u64> {
        match (elem, self.scalars.as_slice()) {
            (ElemType::Scalar(s) | ElemType::Vector(s, _), [only]) if !self.structured => {
                (only.scalar == *s).then_some(elem.scalar_count() as u64)
            }
            (ElemType::Struct(_), scalars) => {
                let wanted = elem.scalars();
                let same = wanted
                    .iter()
                    .zip(scalars)
                    .all(|((offset, s), f)| f.offset == *offset && f.scalar == *s);
                (same && wanted.len() == scalars.len() && self.size == elem.size()).then_some(1)
            }
            _ => None,
        }
    }

    pub(crate) fn make_little_endian(&self, bytes: &mut [u8]) {
        if !self.scalars.iter().any(|s| s.big_endian) {
            return;
        }
        for item in bytes.chunks_exact_mut(self.size.max(1)) {
            for s in self.scalars.iter().filter(|s| s.big_endian) {
                if let Some(bytes) = item.get_mut(s.offset..s.offset + s.scalar.bytes()) {
                    bytes.reverse();
                }
            }
        }
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ([only], false) = (self.scalars.as_slice(), self.structured) {
            return write!(f, "{}", only.scalar);
        }
        let shown: Vec<String> = self
            .scalars
            .iter()
            .take(16)
            .map(|s| format!("{} at {}", s.scalar, s.offset))
            .collect();
        let more = if self.scalars.len() > 16 { ", ..." } else { "" };
        write!(f, "[{}{more}] of {} bytes", shown.join(", "), self.size)
    }
}

/// A type string: the scalar, and whether it is big endian.
fn basic(name: &str) -> Option<(Scalar, bool)> {
    let (big_endian, kind) = match name.split_at_checked(1)? {
        ("<" | "|" | "=", kind) => (false, kind),
        (">", kind) => (true, kind),
        _ => return None,
    };
    let scalar = match kind {
        "f8" => Scalar::F64,
        "f4" => Scalar::F32,
        "f2" => Scalar::F16,
        "V2" => Scalar::Bf16,
        "i1" => Scalar::I8,
        "u1" | "b1" => Scalar::U8,
        "i2" => Scalar::I16,
        "u2" => Scalar::U16,
        "i4" => Scalar::I32,
        "u4" => Scalar::U32,
        "i8" => Scalar::I64,
        "u8" => Scalar::U64,
        _ => return None,
    };
    Some((scalar, big_endian))
}

/// The type string numpy uses.
pub(crate) fn type_string(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F64 => "<f8",
        Scalar::F32 => "<f4",
        Scalar::F16 => "<f2",
        Scalar::Bf16 => "|V2",
        Scalar::I8 => "|i1",
        Scalar::U8 => "|u1",
        Scalar::I16 => "<i2",
        Scalar::U16 => "<u2",
        Scalar::I32 => "<i4",
        Scalar::U32 => "<u4",
        Scalar::I64 => "<i8",
        Scalar::U64 => "<u8",
    }
}

/// A type this does not read, in words.
fn show(descr: &Literal) -> String {
    let Literal::Str(name) = descr else {
        return "that is neither a type string nor a list of fields".into();
    };
    let kind = match name.trim_start_matches(['<', '>', '|', '=']).chars().next() {
        Some('O') => " (Python objects)",
        Some('c') => " (complex numbers)",
        Some('S' | 'a') => " (byte strings)",
        Some('U') => " (text)",
        Some('M' | 'm') => " (dates and times)",
        Some('V') => " (raw bytes)",
        _ => "",
    };
    format!("`{}`{kind}", name.escape_debug())
}
