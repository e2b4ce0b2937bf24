//! Headers of `.npy` files.

use std::io::Read;

use super::NpyProblem;
use super::literal::{self, Literal};
use super::types::FileType;
use crate::elem::ElemType;
use crate::scalar::Scalar;

/// Longest header read. Real ones have a few hundred bytes, a long list of struct fields a few
/// thousand.
const MAX_HEADER: u64 = 1 << 20;

/// Most extents of a shape, which is more than numpy allows.
const MAX_RANK: usize = 64;

pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Type and shape of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyHeader {
    /// Extents, outermost first; empty for a single number.
    pub shape: Vec<usize>,
    file_type: FileType,
    count: u64,
    start: u64,
}

pub(crate) fn read(from: &mut impl Read) -> Result<NpyHeader, NpyProblem> {
    let mut fixed = [0; 8];
    fill(from, &mut fixed, 0)?;
    let [.., major, minor] = fixed;
    if !fixed.starts_with(MAGIC) {
        return Err(NpyProblem::Magic);
    }
    let (length, start) = match (major, minor) {
        (1, 0) => {
            let mut bytes = [0; 2];
            fill(from, &mut bytes, 8)?;
            (u64::from(u16::from_le_bytes(bytes)), 10)
        }
        (2 | 3, 0) => {
            let mut bytes = [0; 4];
            fill(from, &mut bytes, 8)?;
            (u64::from(u32::from_le_bytes(bytes)), 12)
        }
        _ => return Err(NpyProblem::Version { major, minor }),
    };
    if length > MAX_HEADER {
        return Err(NpyProblem::HeaderLength(length));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(NpyProblem::Truncated {
            has: start + bytes.len() as u64,
            needs: start + length,
        });
    }
    // Version 1 and 2 are Latin-1, but everything this understands is ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let literal = literal::parse(&text).map_err(|e| NpyProblem::Header(e.to_string()))?;
    from_literal(&literal, start + length)
}

/// Reads exactly; a file that ends is truncated, or no `.npy` file at all if it ends in the magic.
fn fill(from: &mut impl Read, to: &mut [u8], at: u64) -> Result<(), NpyProblem> {
    from.read_exact(to).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof if at == 0 => NpyProblem::Magic,
        std::io::ErrorKind::UnexpectedEof => NpyProblem::Truncated {
            has: at,
            needs: at + to.len() as u64,
        },
        _ => NpyProblem::Io(e),
    })
}

fn from_literal(literal: &Literal, start: u64) -> Result<NpyHeader, NpyProblem> {
    let bad = |what: &str| NpyProblem::Header(what.into());
    let Literal::Dict(entries) = literal else {
        return Err(bad("not a dictionary"));
    };
    let get = |key: &str| {
        let found = entries.iter().find(|(k, _)| k == key);
        found
            .map(|(_, v)| v)
            .ok_or_else(|| bad(&format!("no `{key}`")))
    };
    let file_type = FileType::parse(get("descr")?)?;
    let Literal::Bool(fortran) = get("fortran_order")? else {
        return Err(bad("`fortran_order` is neither True nor False"));
    };
    let Literal::Sequence(extents) = get("shape")? else {
        return Err(bad("`shape` is not a tuple"));
    };
    if extents.len() > MAX_RANK {
        return Err(bad(&format!("shape of rank {}", extents.len())));
    }
    let shape: Option<Vec<usize>> = extents
        .iter()
        .map(|e| match e {
            Literal::Int(v) => usize::try_from(*v).ok(),
            _ => None,
        })
        .collect();
    let shape = shape.ok_or_else(|| bad("`shape` has an extent that is no count"))?;
    // An order only shows if two extents are more than 1.
    if *fortran && shape.iter().filter(|e| **e != 1).count() > 1 {
        return Err(NpyProblem::Fortran);
    }
    let count = shape
        .iter()
        .try_fold(1u64, |product, e| product.checked_mul(*e as u64));
    let bytes = count.and_then(|c| c.checked_mul(file_type.size as u64));
    match (count, bytes) {
        (Some(count), Some(_)) => Ok(NpyHeader {
            shape,
            file_type,
            count,
            start,
        }),
        _ => Err(bad("shape with too many elements")),
    }
}

impl NpyHeader {
    /// The file's type, in the words workload files use where they have some.
    pub fn type_name(&self) -> String {
        self.file_type.to_string()
    }

    /// The type of its elements where they are scalars; none for structures.
    pub fn scalar(&self) -> Option<Scalar> {
        self.file_type.scalar()
    }

    pub(crate) fn data_start(&self) -> u64 {
        self.start
    }

    pub(crate) fn data_bytes(&self) -> u64 {
        self.count * self.file_type.size as u64
    }

    pub(crate) fn make_little_endian(&self, bytes: &mut [u8]) {
        self.file_type.make_little_endian(bytes);
    }

    /// Checks that the file holds `len` elements of type `elem`. Its shape does not matter.
    pub fn check(&self, elem: &ElemType, len: usize) -> Result<(), NpyProblem> {
        let Some(per_item) = self.file_type.items_per(elem) else {
            return Err(NpyProblem::OtherType {
                has: self.type_name(),
                wants: match elem {
                    ElemType::Struct(_) => FileType::for_element(elem).to_string(),
                    _ => elem.to_string(),
                },
            });
        };
        let scalars = elem.scalar_count() as u64;
        let wants = (len as u64).saturating_mul(scalars);
        let items = (len as u64).saturating_mul(per_item);
        if items == self.count {
            return Ok(());
        }
        let each = self.file_type.scalars.len() as u64;
        Err(NpyProblem::OtherCount {
            shape: self.shape.clone(),
            has: self.count.saturating_mul(each),
            wants,
        })
    }
}
