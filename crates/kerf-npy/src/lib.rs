//! Element types of arrays, and `.npy` files of them: versions 1 to 3, in C order.
//!
//! A bf16 is written as the void type `|V2`, which is what numpy makes of it too; read it back with
//! `a.view(ml_dtypes.bfloat16)` or `a.view('<u2')`. A vector is one more extent of its scalar. A
//! struct is a structured type with fields `f0, f1, ...` and its padding spelled out.
#![warn(missing_docs)]

pub mod elem;
mod header;
mod literal;
pub mod scalar;
mod types;
mod write;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use header::NpyHeader;
pub use write::write;

/// What is wrong with a `.npy` file.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct NpyError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub problem: NpyProblem,
}

/// What can be wrong with a `.npy` file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NpyProblem {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It does not start as a `.npy` file does.
    #[error("not a .npy file")]
    Magic,
    /// Its version is none this reads.
    #[error("version {major}.{minor}, not 1.0, 2.0 or 3.0")]
    Version {
        /// First part of the version.
        major: u8,
        /// Second part.
        minor: u8,
    },
    /// It ends inside the header or before the last element.
    #[error("truncated: {has} bytes where {needs} are needed")]
    Truncated {
        /// Bytes there are.
        has: u64,
        /// Bytes the header asks for.
        needs: u64,
    },
    /// Its header is longer than any real one.
    #[error("header of {0} bytes")]
    HeaderLength(u64),
    /// Its header says something this does not understand.
    #[error("header: {0}")]
    Header(String),
    /// Its elements are in Fortran order.
    #[error("in Fortran order")]
    Fortran,
    /// Its type is none this reads.
    #[error("type {0}")]
    Type(String),
    /// Its type is not the buffer's.
    #[error("type {has}, not {wants}")]
    OtherType {
        /// The file's type.
        has: String,
        /// The buffer's type.
        wants: String,
    },
    /// Its number of elements is not the buffer's.
    #[error("shape {shape:?} has {has} scalars, not {wants}")]
    OtherCount {
        /// The file's shape.
        shape: Vec<usize>,
        /// Its number of scalars.
        has: u64,
        /// The buffer's.
        wants: u64,
    },
    /// There is not enough memory for it.
    #[error("no memory for {0} bytes")]
    Memory(u64),
    /// The bytes to be written are not what the shape asks for.
    #[error("{has} bytes for shape {shape:?} of {elem}")]
    Shape {
        /// Bytes given.
        has: usize,
        /// The shape.
        shape: Vec<usize>,
        /// The element type.
        elem: String,
    },
}

impl NpyError {
    /// What is wrong with a file.
    pub fn new(path: &Path, problem: impl Into<NpyProblem>) -> NpyError {
        NpyError {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}

impl NpyProblem {
    /// What is wrong and what would be right, without the path.
    pub fn parts(&self) -> (String, String) {
        let expected = match self {
            NpyProblem::OtherType { wants, .. } => format!("type {wants}"),
            NpyProblem::OtherCount { wants, .. } => format!("{wants} scalars"),
            NpyProblem::Fortran => "C order".into(),
            NpyProblem::Truncated { .. } => "a complete .npy file".into(),
            _ => "a .npy file of a scalar type or struct".into(),
        };
        (self.to_string(), expected)
    }

    /// How to make the file usable.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            NpyProblem::Fortran => "save `numpy.ascontiguousarray(a)`",
            NpyProblem::Magic => "save it with `numpy.save`",
            NpyProblem::Truncated { .. } => "save or copy it again",
            NpyProblem::OtherCount { .. } => "change `len`, or save an array of that size",
            NpyProblem::OtherType { wants, .. } if wants.starts_with('[') => {
                "give `numpy.dtype` these `offsets` and this `itemsize`"
            }
            NpyProblem::OtherType { wants, .. } if wants == "bf16" => {
                "save a `ml_dtypes.bfloat16` array, or `a.view('V2')`"
            }
            NpyProblem::OtherType { .. } => "change `type`, or save `a.astype(..)`",
            _ => return None,
        };
        Some(help.into())
    }
}

/// An array read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyArray {
    /// Its type and shape.
    pub header: NpyHeader,
    /// Its elements, little endian, in C order.
    pub bytes: Vec<u8>,
}

/// Reads type and shape of a file, and checks that it is complete.
pub fn inspect(path: &Path) -> Result<NpyHeader, NpyError> {
    open(path)
        .map(|(_, header)| header)
        .map_err(|p| NpyError::new(path, p))
}

/// Reads a file.
pub fn read(path: &Path) -> Result<NpyArray, NpyError> {
    let load = || {
        let (mut file, header) = open(path)?;
        // The file is known to be at least this long, so a header cannot ask for much memory.
        let length = header.data_bytes();
        let too_much = || NpyProblem::Memory(length);
        let wanted = usize::try_from(length).map_err(|_| too_much())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(wanted).map_err(|_| too_much())?;
        file.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() < wanted {
            return Err(NpyProblem::Truncated {
                has: bytes.len() as u64,
                needs: length,
            });
        }
        header.make_little_endian(&mut bytes);
        Ok(NpyArray { header, bytes })
    };
    load().map_err(|p| NpyError::new(path, p))
}

fn open(path: &Path) -> Result<(File, NpyHeader), NpyProblem> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let header = header::read(&mut file)?;
    let needs = header.data_start().checked_add(header.data_bytes());
    let needs = needs.unwrap_or(u64::MAX);
    if needs > length {
        return Err(NpyProblem::Truncated { has: length, needs });
    }
    Ok((file, header))
}
