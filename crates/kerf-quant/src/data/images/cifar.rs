//! CIFAR-10's binary batches: a label and 3 * 32 * 32 bytes a record (Krizhevsky, 2009).
use super::{Augment, Images, Pixels};
use crate::data::DataError;
use std::path::Path;

const SHAPE: [usize; 3] = [3, 32, 32];
const RECORD: usize = 1 + 3 * 32 * 32;

/// Names of the training batches.
pub const TRAIN: [&str; 5] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
];
/// Name of the test batch.
pub const TEST: &str = "test_batch.bin";

/// Training and test set from the folder of the batches, with the usual crops and mirror images.
pub fn load(folder: &Path) -> Result<(Images, Images), DataError> {
    let train = read(folder, &TRAIN, "cifar10 train")?;
    let test = read(folder, &[TEST], "cifar10 test")?.normalised_as(&train);
    let augment = Augment {
        pad: 4,
        flip: true,
        cutout: 0,
    };
    Ok((train.augmented(augment), test))
}

fn read(folder: &Path, files: &[&str], name: &str) -> Result<Images, DataError> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for file in files {
        let path = folder.join(file);
        let bytes = super::super::read_file(&path)?;
        if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD) {
            return Err(DataError::Corrupt {
                path: path.display().to_string(),
                what: format!(
                    "{} bytes are no whole number of records of {RECORD} bytes",
                    bytes.len()
                ),
            });
        }
        for r in bytes.chunks_exact(RECORD) {
            labels.push(u32::from(r[0]));
            pixels.extend(&r[1..]);
        }
    }
    let from = folder.display().to_string();
    Images::new(name, &from, SHAPE, Pixels::Bytes(pixels), labels, 10)
}
