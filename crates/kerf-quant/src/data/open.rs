//! Data by name or by folder.
use super::images::{Images, cifar, folder, idx, npy};
use super::{DataError, Dataset};
use std::path::Path;

/// A set of samples of any kind.
pub type Boxed = Box<dyn Dataset + Send + Sync>;

/// Sets that `kerf quantize data` fetches, each into the folder of its name.
pub const NAMED: [&str; 3] = ["cifar10", "fashion-mnist", "mnist"];

/// Training and test set, a square of side `cutout` blanked in images of training (0 for none).
///
/// `spec` is one of [`NAMED`], in `store`, or a folder: CIFAR's batches, IDX files, `train_x.npy` and so on, or
/// `train/CLASS/*.png`.
pub fn open(spec: &str, store: &Path, cutout: usize) -> Result<(Boxed, Boxed), DataError> {
    let (train, test) = images(spec, store)?;
    Ok((Box::new(train.cutout(cutout)), Box::new(test)))
}

/// Likewise, as images.
pub fn images(spec: &str, store: &Path) -> Result<(Images, Images), DataError> {
    let named = match spec {
        "cifar-10" => "cifar10",
        s => s,
    };
    if let Some(name) = NAMED.iter().find(|n| **n == named) {
        let path = store.join(name);
        if !path.is_dir() {
            return Err(DataError::Absent {
                name: (*name).to_owned(),
                path: path.display().to_string(),
            });
        }
        return match *name {
            "cifar10" => cifar::load(&path),
            _ => idx::load(&path, name, *name == "fashion-mnist"),
        };
    }
    let path = Path::new(spec);
    let name = path
        .file_name()
        .map_or(spec.into(), |n| n.to_string_lossy());
    let has = |file: &str| path.join(file).exists();
    if has(cifar::TEST) {
        cifar::load(path)
    } else if has("train-images-idx3-ubyte") || has("train-images-idx3-ubyte.gz") {
        idx::load(path, &name, false)
    } else if has("train_x.npy") {
        npy::load(path, &name)
    } else if path.join("train").is_dir() {
        folder::load(path, &name)
    } else if path.is_dir() {
        Err(DataError::Corrupt {
            path: path.display().to_string(),
            what:
                "no data that is known: test_batch.bin (CIFAR-10), train-images-idx3-ubyte (IDX), \
                   train_x.npy or train/CLASS/*.png was looked for"
                    .into(),
        })
    } else {
        Err(DataError::Unknown {
            name: spec.to_owned(),
            list: NAMED.join(", "),
        })
    }
}
