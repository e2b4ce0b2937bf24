//! NumPy's `.npy` arrays: `train_x.npy`, `train_y.npy`, `test_x.npy`, `test_y.npy` in a folder.
//!
//! `x` is `[images, channels, height, width]` or `[images, height, width]` of `u1` (0 to 255), `f4` or `f8`; `y` is
//! `[images]` of whole numbers.
use super::{Images, Pixels};
use crate::data::DataError;
use std::path::Path;

fn corrupt(path: &Path, what: impl Into<String>) -> DataError {
    DataError::Corrupt {
        path: path.display().to_string(),
        what: what.into(),
    }
}

/// An array as it is in the file.
pub struct Array {
    /// Its sizes.
    pub shape: Vec<usize>,
    /// `|u1`, `<f4`, ...
    pub kind: String,
    /// Its elements, little endian.
    pub bytes: Vec<u8>,
}

/// What follows `'key':` in the header, up to a comma that is not in brackets.
fn field<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let at = header.find(&format!("'{key}'"))?;
    let rest = header[at..].split_once(':')?.1.trim_start();
    let mut depth = 0;
    for (i, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' | '}' if depth == 0 => return Some(rest[..i].trim()),
            _ => {}
        }
    }
    None
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Array, DataError> {
    let bytes = super::super::read_file(path)?;
    let bad = |what: &str| corrupt(path, what);
    if !bytes.starts_with(b"\x93NUMPY") || bytes.len() < 12 {
        return Err(bad("not a .npy file"));
    }
    let (head, length) = match bytes[6] {
        1 => (
            10usize,
            usize::from(u16::from_le_bytes([bytes[8], bytes[9]])),
        ),
        _ => (
            12,
            u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize,
        ),
    };
    let header = head
        .checked_add(length)
        .and_then(|end| bytes.get(head..end));
    let header = header.and_then(|h| std::str::from_utf8(h).ok());
    let header = header.ok_or_else(|| bad("its header is cut off"))?;
    let kind = field(header, "descr").map(|s| s.trim_matches(['\'', '"']).to_owned());
    let kind = kind.ok_or_else(|| bad("its header names no element type"))?;
    if field(header, "fortran_order") != Some("False") {
        return Err(bad(
            "its elements are in Fortran's order; save it with numpy.ascontiguousarray",
        ));
    }
    let shape = field(header, "shape").ok_or_else(|| bad("its header names no shape"))?;
    let shape: Result<Vec<usize>, _> = shape
        .trim_matches(['(', ')'])
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(str::parse)
        .collect();
    let shape = shape.map_err(|_| bad("its shape is not understood"))?;
    let width = match kind.as_str() {
        "|u1" | "|i1" | "|b1" => 1,
        "<u2" | "<i2" => 2,
        "<f4" | "<i4" | "<u4" => 4,
        "<f8" | "<i8" | "<u8" => 8,
        k => {
            return Err(corrupt(
                path,
                format!("elements of type {k} are not read; u1, f4, f8 or integers are"),
            ));
        }
    };
    let data = bytes[head + length..].to_vec();
    let need = shape
        .iter()
        .try_fold(width, |a: usize, &b| a.checked_mul(b));
    if need != Some(data.len()) {
        return Err(corrupt(
            path,
            format!(
                "{} bytes of data for the shape {shape:?} of {kind}",
                data.len()
            ),
        ));
    }
    Ok(Array {
        shape,
        kind,
        bytes: data,
    })
}

fn labels(path: &Path) -> Result<Vec<u32>, DataError> {
    let a = read(path)?;
    if a.shape.len() != 1 {
        return Err(corrupt(
            path,
            format!(
                "labels of shape {:?}; one for each image is needed",
                a.shape
            ),
        ));
    }
    let width = a.bytes.len() / a.shape[0].max(1);
    let signed = a.kind.contains('i');
    if a.kind.contains('f') {
        return Err(corrupt(
            path,
            format!("labels of type {}; whole numbers are needed", a.kind),
        ));
    }
    let one = |c: &[u8]| {
        let negative = signed && c.last().is_some_and(|b| b & 0x80 != 0);
        let v = c.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
        u32::try_from(v).ok().filter(|_| !negative)
    };
    let all: Option<Vec<u32>> = a.bytes.chunks_exact(width.max(1)).map(one).collect();
    all.ok_or_else(|| corrupt(path, "a label is negative or too large"))
}

fn pair(folder: &Path, set: &str, name: &str) -> Result<(Vec<u32>, Array, String), DataError> {
    let path = folder.join(format!("{set}_x.npy"));
    let a = read(&path)?;
    let y = labels(&folder.join(format!("{set}_y.npy")))?;
    if a.shape.first() != Some(&y.len()) {
        let what = format!(
            "its shape is {:?}, and {set}_y.npy has {} labels",
            a.shape,
            y.len()
        );
        return Err(corrupt(&path, what));
    }
    Ok((y, a, format!("{name} {set}")))
}

/// Training and test set. Nothing is done to images at random.
pub fn load(folder: &Path, name: &str) -> Result<(Images, Images), DataError> {
    let train = pair(folder, "train", name)?;
    let test = pair(folder, "test", name)?;
    let classes = train
        .0
        .iter()
        .chain(&test.0)
        .max()
        .map_or(0, |m| *m as usize + 1);
    let make = |(y, a, name): (Vec<u32>, Array, String), set: &str| {
        let path = folder.join(format!("{set}_x.npy"));
        let shape = match a.shape[..] {
            [_, h, w, c @ (1 | 3 | 4)] if h == w && h > 4 => {
                let what = format!(
                    "shape {:?} looks like [images, height, width, channels]; save it with \
                     numpy.ascontiguousarray(x.transpose(0, 3, 1, 2)), as [images, {c}, {h}, {w}]",
                    a.shape
                );
                return Err(corrupt(&path, what));
            }
            [_, c, h, w] => [c, h, w],
            [_, h, w] => [1, h, w],
            _ => {
                let what = format!(
                    "shape {:?}; [images, channels, height, width] is needed",
                    a.shape
                );
                return Err(corrupt(&path, what));
            }
        };
        let f4 = |c: &[u8]| f32::from_le_bytes([c[0], c[1], c[2], c[3]]);
        let f8 = |c: &[u8]| f64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]);
        let pixels = match a.kind.as_str() {
            "|u1" => Pixels::Bytes(a.bytes),
            "<f4" => Pixels::Reals(a.bytes.chunks_exact(4).map(f4).collect()),
            "<f8" => Pixels::Reals(a.bytes.chunks_exact(8).map(|c| f8(c) as f32).collect()),
            k => {
                return Err(corrupt(
                    &path,
                    format!("pixels of type {k}; u1, f4 or f8 are needed"),
                ));
            }
        };
        Images::new(name, &path.display().to_string(), shape, pixels, y, classes)
    };
    let train = make(train, "train")?;
    let test = make(test, "test")?;
    if train.shape() != test.shape() {
        let path = folder.join("test_x.npy");
        let what = format!(
            "images of {:?}; those of train_x.npy are {:?}",
            test.shape(),
            train.shape()
        );
        return Err(corrupt(&path, what));
    }
    let test = test.normalised_as(&train);
    Ok((train, test))
}
