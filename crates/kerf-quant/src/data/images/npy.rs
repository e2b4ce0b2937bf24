//! NumPy's `.npy` arrays: `train_x.npy`, `train_y.npy`, `test_x.npy`, `test_y.npy` in a folder.
//!
//! `x` is `[images, channels, height, width]` or `[images, height, width]` of `u1` (0 to 255), `f4` or `f8`; `y` is
//! `[images]` of whole numbers.
use super::{Images, Pixels};
use crate::data::DataError;
use kerf_npy::{NpyArray, NpyProblem};
use std::path::Path;

fn corrupt(path: &Path, what: impl Into<String>) -> DataError {
    DataError::Corrupt {
        path: path.display().to_string(),
        what: what.into(),
    }
}

/// Reads a file; types are named as `u8`, `f32`.
fn read(path: &Path) -> Result<NpyArray, DataError> {
    kerf_npy::read(path).map_err(|e| match (e.problem.help(), e.problem) {
        (_, NpyProblem::Io(source)) => DataError::File {
            path: path.display().to_string(),
            source,
        },
        (Some(help), problem) => corrupt(path, format!("{problem}; {help}")),
        (None, problem) => corrupt(path, problem.to_string()),
    })
}

fn labels(path: &Path) -> Result<Vec<u32>, DataError> {
    let a = read(path)?;
    let (shape, kind) = (&a.header.shape, a.header.type_name());
    let [count] = shape[..] else {
        return Err(corrupt(
            path,
            format!("labels of shape {shape:?}; one for each image is needed"),
        ));
    };
    let signed = kind.starts_with('i');
    if !signed && !kind.starts_with('u') {
        return Err(corrupt(
            path,
            format!("labels of type {kind}; whole numbers are needed"),
        ));
    }
    let one = |c: &[u8]| {
        let negative = signed && c.last().is_some_and(|b| b & 0x80 != 0);
        let v = c.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
        u32::try_from(v).ok().filter(|_| !negative)
    };
    let width = (a.bytes.len() / count.max(1)).max(1);
    let all: Option<Vec<u32>> = a.bytes.chunks_exact(width).map(one).collect();
    all.ok_or_else(|| corrupt(path, "a label is negative or too large"))
}

/// Images of a set, and their labels.
fn pair(folder: &Path, set: &str) -> Result<(NpyArray, Vec<u32>), DataError> {
    let path = folder.join(format!("{set}_x.npy"));
    let a = read(&path)?;
    let y = labels(&folder.join(format!("{set}_y.npy")))?;
    let shape = &a.header.shape;
    if shape.first() != Some(&y.len()) {
        let what = format!(
            "its shape is {shape:?}, and {set}_y.npy has {} labels",
            y.len()
        );
        return Err(corrupt(&path, what));
    }
    Ok((a, y))
}

/// Channels, height and width of the images of a file.
fn image_shape(path: &Path, shape: &[usize]) -> Result<[usize; 3], DataError> {
    match *shape {
        [_, h, w, c @ (1 | 3 | 4)] if h == w && h > 4 => {
            let what = format!(
                "shape {shape:?} looks like [images, height, width, channels]; save it with \
                 numpy.ascontiguousarray(x.transpose(0, 3, 1, 2)), as [images, {c}, {h}, {w}]"
            );
            Err(corrupt(path, what))
        }
        [_, c, h, w] => Ok([c, h, w]),
        [_, h, w] => Ok([1, h, w]),
        _ => {
            let what = format!("shape {shape:?}; [images, channels, height, width] is needed");
            Err(corrupt(path, what))
        }
    }
}

/// Training and test set. Nothing is done to images at random.
pub fn load(folder: &Path, name: &str) -> Result<(Images, Images), DataError> {
    let train = pair(folder, "train")?;
    let test = pair(folder, "test")?;
    let labels = train.1.iter().chain(&test.1);
    let classes = labels.max().map_or(0, |m| *m as usize + 1);
    let make = |(a, y): (NpyArray, Vec<u32>), set: &str| {
        let path = folder.join(format!("{set}_x.npy"));
        let shape = image_shape(&path, &a.header.shape)?;
        let f4 = |c: &[u8]| f32::from_le_bytes([c[0], c[1], c[2], c[3]]);
        let f8 = |c: &[u8]| f64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]);
        let pixels = match a.header.type_name().as_str() {
            "u8" => Pixels::Bytes(a.bytes),
            "f32" => Pixels::Reals(a.bytes.chunks_exact(4).map(f4).collect()),
            "f64" => Pixels::Reals(a.bytes.chunks_exact(8).map(|c| f8(c) as f32).collect()),
            k => {
                let what = format!("pixels of type {k}; u8, f32 or f64 are needed");
                return Err(corrupt(&path, what));
            }
        };
        let name = format!("{name} {set}");
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
