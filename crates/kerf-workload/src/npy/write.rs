//! Writing `.npy` files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::header::MAGIC;
use super::types::type_string;
use super::{NpyError, NpyProblem};
use crate::elem::ElemType;

/// Where the data starts is a multiple of this, as numpy has it.
const ALIGN: usize = 64;

/// Writes an array. `shape` counts elements; a vector's width becomes one more extent. A reader
/// sees either what was at `path` before or the whole file, never a part of it.
pub fn write(path: &Path, elem: &ElemType, shape: &[usize], bytes: &[u8]) -> Result<(), NpyError> {
    let fail = |p| NpyError::new(path, p);
    let count = shape
        .iter()
        .try_fold(elem.size(), |product, e| product.checked_mul(*e));
    if count != Some(bytes.len()) {
        return Err(fail(NpyProblem::Shape {
            has: bytes.len(),
            shape: shape.to_vec(),
            elem: elem.to_string(),
        }));
    }
    let header = header(elem, shape);
    let temporary = temporary_name(path);
    let save = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create_new(&temporary)?);
        file.write_all(&header)?;
        file.write_all(bytes)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?;
        fs::rename(&temporary, path)
    };
    save().map_err(|e| {
        // Best effort: the first error is the one worth reporting.
        let _ = fs::remove_file(&temporary);
        fail(NpyProblem::Io(e))
    })
}

/// A name in the same directory, so that renaming works, that nobody else is using.
fn temporary_name(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}.{unique}.part", std::process::id()));
    path.with_file_name(name)
}

fn header(elem: &ElemType, shape: &[usize]) -> Vec<u8> {
    let mut extents = shape.to_vec();
    if let ElemType::Vector(_, width) = elem {
        extents.push(*width as usize);
    }
    let shape = match extents.as_slice() {
        [only] => format!("({only},)"),
        many => {
            let listed: Vec<String> = many.iter().map(usize::to_string).collect();
            format!("({})", listed.join(", "))
        }
    };
    let dict = format!(
        "{{'descr': {}, 'fortran_order': False, 'shape': {shape}, }}",
        descr(elem)
    );
    // The length takes two bytes in version 1 and four in version 2; the line end counts.
    let total = |fixed: usize| (fixed + dict.len() + 1).next_multiple_of(ALIGN);
    let mut out = MAGIC.to_vec();
    let total = match u16::try_from(total(10) - 10) {
        Ok(length) => {
            out.extend([1, 0]);
            out.extend(length.to_le_bytes());
            total(10)
        }
        Err(_) => {
            out.extend([2, 0]);
            out.extend(((total(12) - 12) as u32).to_le_bytes());
            total(12)
        }
    };
    out.extend(dict.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out
}

/// The type as a header has it.
fn descr(elem: &ElemType) -> String {
    match elem {
        ElemType::Scalar(s) | ElemType::Vector(s, _) => format!("'{}'", type_string(*s)),
        ElemType::Struct(_) => fields(elem),
    }
}

/// A structured type with its padding as void fields without names.
fn fields(elem: &ElemType) -> String {
    let ElemType::Struct(types) = elem else {
        return descr(elem);
    };
    let mut list = Vec::new();
    let mut end = 0;
    let pad = |bytes: usize, list: &mut Vec<String>| {
        if bytes > 0 {
            list.push(format!("('', '|V{bytes}')"));
        }
    };
    for (i, (field, offset)) in types.iter().zip(elem.field_offsets()).enumerate() {
        pad(offset - end, &mut list);
        end = offset + field.size();
        let shape = match field {
            ElemType::Vector(_, width) => format!(", ({width},)"),
            _ => String::new(),
        };
        list.push(format!("('f{i}', {}{shape})", descr(field)));
    }
    pad(elem.size() - end, &mut list);
    format!("[{}]", list.join(", "))
}
