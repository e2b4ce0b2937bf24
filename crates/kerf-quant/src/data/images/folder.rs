//! Folders of images: `train/CLASS/*.png` and `test/CLASS/*.png` (or .jpg), a folder a class, classes by name.
use super::{Augment, Images, Pixels};
use crate::data::DataError;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

fn corrupt(path: &Path, what: impl Into<String>) -> DataError {
    DataError::Corrupt {
        path: path.display().to_string(),
        what: what.into(),
    }
}

/// What a folder holds, sorted, so that no file system decides an order.
fn list(path: &Path) -> Result<Vec<PathBuf>, DataError> {
    let failed = |source| DataError::File {
        path: path.display().to_string(),
        source,
    };
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let p = entry.map_err(failed)?.path();
        let hidden = p
            .file_name()
            .is_none_or(|n| n.to_string_lossy().starts_with('.'));
        if !hidden {
            all.push(p);
        }
    }
    all.sort();
    Ok(all)
}

fn is_image(path: &Path) -> bool {
    let end = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    matches!(end.as_deref(), Some("png" | "jpg" | "jpeg"))
}

/// Names of the classes: the folders of the training set.
pub fn classes(folder: &Path) -> Result<Vec<String>, DataError> {
    let train = folder.join("train");
    let folders = list(&train)?.into_iter().filter(|p| p.is_dir());
    let names: Vec<String> = folders
        .filter_map(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
        .collect();
    if names.len() < 2 {
        return Err(corrupt(
            &train,
            format!(
                "{} folders of classes; at least two are needed",
                names.len()
            ),
        ));
    }
    Ok(names)
}

/// A decoded image, values interleaved.
struct Decoded {
    width: usize,
    height: usize,
    channels: usize,
    values: Vec<u8>,
}

/// Why an image cannot be decoded.
#[derive(Debug, thiserror::Error)]
enum ImageError {
    #[error(transparent)]
    Png(#[from] png::DecodingError),
    #[error("{0}")]
    Jpeg(zune_jpeg::errors::DecodeErrors),
    #[error("it is too large")]
    TooLarge,
    #[error("it has no size")]
    NoSize,
    #[error("neither PNG nor JPEG")]
    OtherFormat,
}

fn decode_png(bytes: &[u8]) -> Result<Decoded, ImageError> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    // Palettes and few bits become 8-bit grey or colour, with opacity if there is any.
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = reader.output_buffer_size().ok_or(ImageError::TooLarge)?;
    let mut values = vec![0; size];
    let info = reader.next_frame(&mut values)?;
    values.truncate(info.buffer_size());
    Ok(Decoded {
        width: info.width as usize,
        height: info.height as usize,
        channels: info.color_type.samples(),
        values,
    })
}

fn decode_jpeg(bytes: &[u8]) -> Result<Decoded, ImageError> {
    use zune_jpeg::JpegDecoder;
    use zune_jpeg::zune_core::bytestream::ZCursor;
    let mut decoder = JpegDecoder::new(ZCursor::new(bytes));
    let values = decoder.decode().map_err(ImageError::Jpeg)?;
    let (width, height) = decoder.dimensions().ok_or(ImageError::NoSize)?;
    Ok(Decoded {
        width,
        height,
        channels: values.len() / (width * height).max(1),
        values,
    })
}

/// Decodes a file by what it begins with, whatever its name.
fn decode(path: &Path) -> Result<Decoded, DataError> {
    let bytes = super::super::read_file(path)?;
    let image = match bytes.first_chunk::<2>() {
        Some([0x89, b'P']) => decode_png(&bytes),
        Some([0xff, 0xd8]) => decode_jpeg(&bytes),
        _ => Err(ImageError::OtherFormat),
    };
    let image = image.map_err(|e| corrupt(path, format!("not a readable image: {e}")))?;
    if image.channels == 0 || image.values.len() != image.width * image.height * image.channels {
        return Err(corrupt(path, "not a readable image: its parts do not fit"));
    }
    Ok(image)
}

impl Decoded {
    /// Whether colours may differ from grey.
    fn colour(&self) -> bool {
        self.channels >= 3
    }
    /// One plane of grey, or three of red, green and blue. Opacity is left out.
    fn planes(&self, grey: bool) -> Vec<u8> {
        let at = |k: usize| self.values.iter().skip(k).step_by(self.channels).copied();
        match (grey, self.colour()) {
            (true, false) => at(0).collect(),
            (false, false) => at(0).chain(at(0)).chain(at(0)).collect(),
            (false, true) => at(0).chain(at(1)).chain(at(2)).collect(),
            // The luma of ITU-R BT.601.
            (true, true) => at(0)
                .zip(at(1).zip(at(2)))
                .map(|(r, (g, b))| {
                    let sum = 299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b);
                    ((sum + 500) / 1000) as u8
                })
                .collect(),
        }
    }
}

fn read(
    folder: &Path,
    set: &str,
    classes: &[String],
    grey: bool,
    name: &str,
) -> Result<Images, DataError> {
    let root = folder.join(set);
    let mut files = Vec::new();
    for p in list(&root)?.into_iter().filter(|p| p.is_dir()) {
        let class = p
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        let Some(label) = classes.iter().position(|c| *c == class) else {
            return Err(corrupt(&p, "a class that the training set does not have"));
        };
        let images = list(&p)?.into_iter().filter(|f| is_image(f));
        files.extend(images.map(|f| (f, label as u32)));
    }
    let Some((first, _)) = files.first() else {
        return Err(corrupt(
            &root,
            "there are no .png or .jpg images in folders of classes",
        ));
    };
    let one = decode(first)?;
    let (w, h) = (one.width, one.height);
    let parts: Result<Vec<Vec<u8>>, DataError> = files
        .par_iter()
        .map(|(path, _)| {
            let image = decode(path)?;
            let (x, y) = (image.width, image.height);
            if (x, y) == (w, h) {
                return Ok(image.planes(grey));
            }
            let what = format!(
                "{x}x{y} pixels; {} is {w}x{h}. All images have to be of one size",
                first.display()
            );
            Err(corrupt(path, what))
        })
        .collect();
    let labels = files.iter().map(|(_, l)| *l).collect();
    let channels = if grey { 1 } else { 3 };
    let shape = [channels, h, w];
    let from = root.display().to_string();
    Images::new(
        name,
        &from,
        shape,
        Pixels::Bytes(parts?.concat()),
        labels,
        classes.len(),
    )
}

/// Training and test set. Grey if the first image of the training set is. Crops and mirror images as for photographs.
pub fn load(folder: &Path, name: &str) -> Result<(Images, Images), DataError> {
    let classes = classes(folder)?;
    let mut first = None;
    for class in &classes {
        let files = list(&folder.join("train").join(class))?;
        first = files.into_iter().find(|f| is_image(f));
        if first.is_some() {
            break;
        }
    }
    let grey = match &first {
        Some(path) => !decode(path)?.colour(),
        None => false,
    };
    let train = read(folder, "train", &classes, grey, &format!("{name} train"))?;
    let test = read(folder, "test", &classes, grey, &format!("{name} test"))?;
    if train.shape() != test.shape() {
        let what = format!(
            "images of {:?}; those of the training set are {:?}",
            test.shape(),
            train.shape()
        );
        return Err(corrupt(&folder.join("test"), what));
    }
    let test = test.normalised_as(&train);
    let pad = train.shape()[1] / 8;
    let augment = Augment {
        pad,
        flip: true,
        cutout: 0,
    };
    Ok((train.augmented(augment), test))
}
