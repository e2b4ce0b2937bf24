//! IDX files, as MNIST and Fashion-MNIST come in; plain or gzip.
use super::{Augment, Images, Pixels};
use crate::data::DataError;
use std::io::Read;
use std::path::{Path, PathBuf};

fn corrupt(path: &Path, what: impl Into<String>) -> DataError {
    DataError::Corrupt {
        path: path.display().to_string(),
        what: what.into(),
    }
}

/// The file or its `.gz`, whichever is there.
fn find(folder: &Path, name: &str) -> PathBuf {
    let plain = folder.join(name);
    let packed = folder.join(format!("{name}.gz"));
    if !plain.exists() && packed.exists() {
        packed
    } else {
        plain
    }
}

/// Sizes and bytes of an IDX file of unsigned bytes.
pub fn read(path: &Path) -> Result<(Vec<usize>, Vec<u8>), DataError> {
    let mut bytes = super::super::read_file(path)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut out = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .read_to_end(&mut out)
            .map_err(|e| corrupt(path, format!("not a whole gzip file: {e}")))?;
        bytes = out;
    }
    let &[0, 0, kind, rank] = bytes.first_chunk::<4>().unwrap_or(&[1; 4]) else {
        return Err(corrupt(
            path,
            "not an IDX file: it does not begin with two zeros",
        ));
    };
    if kind != 8 {
        return Err(corrupt(
            path,
            format!("its elements are of IDX type {kind:#x}; unsigned bytes (0x8) are needed"),
        ));
    }
    let head = 4 + 4 * rank as usize;
    let Some(sizes) = bytes.get(4..head) else {
        return Err(corrupt(path, "cut off within its sizes"));
    };
    let sizes: Vec<usize> = sizes
        .chunks_exact(4)
        .map(|c| u32::from_be_bytes([c[0], c[1], c[2], c[3]]) as usize)
        .collect();
    let need = sizes.iter().try_fold(1usize, |a, &b| a.checked_mul(b));
    if need != Some(bytes.len() - head) {
        let found = bytes.len() - head;
        return Err(corrupt(
            path,
            format!("sizes {sizes:?}, but {found} bytes follow"),
        ));
    }
    bytes.drain(..head);
    Ok((sizes, bytes))
}

fn pair(folder: &Path, set: &str, name: &str) -> Result<Images, DataError> {
    let images = find(folder, &format!("{set}-images-idx3-ubyte"));
    let labels = find(folder, &format!("{set}-labels-idx1-ubyte"));
    let (sizes, pixels) = read(&images)?;
    let (count, classes) = read(&labels)?;
    let &[n, h, w] = &sizes[..] else {
        return Err(corrupt(
            &images,
            format!("sizes {sizes:?}; [images, height, width] are needed"),
        ));
    };
    if count != [n] {
        return Err(corrupt(&labels, format!("sizes {count:?} for {n} images")));
    }
    let from = images.display().to_string();
    let labels: Vec<u32> = classes.into_iter().map(u32::from).collect();
    let classes = labels.iter().max().map_or(0, |m| *m as usize + 1).max(10);
    Images::new(
        name,
        &from,
        [1, h, w],
        Pixels::Bytes(pixels),
        labels,
        classes,
    )
}

/// Training and test set from the folder of the four files. Images of clothes are mirrored (`flip`), digits are not.
pub fn load(folder: &Path, name: &str, flip: bool) -> Result<(Images, Images), DataError> {
    let train = pair(folder, "train", &format!("{name} train"))?;
    let test = pair(folder, "t10k", &format!("{name} test"))?.normalised_as(&train);
    let augment = Augment {
        pad: 2,
        flip,
        cutout: 0,
    };
    Ok((train.augmented(augment), test))
}
