//! Writing `.npy` files.

use std::path::Path;

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
    kerf_files::write_whole_with(path, |file| {
        file.write_all(&header)?;
        file.write_all(bytes)
    })
    .map_err(|e| fail(NpyProblem::Io(e)))
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
