//! Moves of matrices, and asynchronous copies, by the names of their intrinsics.
use super::{Fragment, MatrixElement, MatrixOperand, Shape, WMMA_SHAPES, accumulator, has_shape};

/// A move of a matrix between memory and registers, or a copy into shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixMove {
    /// `ldmatrix` of 1, 2 or 4 matrices of 8 by 8 halves.
    LoadRows {
        /// Matrices.
        count: u32,
        /// Are rows and columns exchanged?
        transposed: bool,
    },
    /// `stmatrix` of as many.
    StoreRows {
        /// Matrices.
        count: u32,
        /// Are rows and columns exchanged?
        transposed: bool,
    },
    /// `wmma.load`.
    Load {
        /// What is loaded.
        fragment: Fragment,
        /// Is it stored row by row?
        row_major: bool,
        /// Is the distance of rows or columns an operand?
        strided: bool,
    },
    /// `wmma.store`.
    Store {
        /// What is stored.
        fragment: Fragment,
        /// Is it stored row by row?
        row_major: bool,
        /// Is the distance of rows or columns an operand?
        strided: bool,
    },
    /// `cp.async` from global to shared memory.
    CopyAsync {
        /// Bytes.
        bytes: u32,
        /// Is the number of bytes that are read an operand?
        partial: bool,
    },
    /// Commits or waits for such copies.
    CopyGroup,
}

impl MatrixMove {
    /// By the name of its intrinsic.
    pub fn parse(intrinsic: &str) -> Option<MatrixMove> {
        let name = intrinsic.strip_prefix("llvm.nvvm.")?;
        let parts: Vec<&str> = name.split('.').collect();
        match parts.as_slice() {
            [
                kind @ ("ldmatrix" | "stmatrix"),
                "sync",
                "aligned",
                "m8n8",
                rest @ ..,
            ] => {
                let (count, rest) = rest.split_first()?;
                let count = count.strip_prefix('x')?.parse().ok()?;
                let transposed = match rest {
                    ["trans", "b16", ..] => true,
                    ["b16", ..] => false,
                    _ => return None,
                };
                Some(match *kind {
                    "ldmatrix" => MatrixMove::LoadRows { count, transposed },
                    _ => MatrixMove::StoreRows { count, transposed },
                })
            }
            ["wmma", shape, "load", matrix, rest @ ..] => {
                let matrix = match *matrix {
                    "a" => MatrixOperand::A,
                    "b" => MatrixOperand::B,
                    _ => MatrixOperand::C,
                };
                let (fragment, row_major, strided) = wmma_move(shape, matrix, rest)?;
                Some(MatrixMove::Load {
                    fragment,
                    row_major,
                    strided,
                })
            }
            ["wmma", shape, "store", "d", rest @ ..] => {
                let (fragment, row_major, strided) = wmma_move(shape, MatrixOperand::C, rest)?;
                Some(MatrixMove::Store {
                    fragment,
                    row_major,
                    strided,
                })
            }
            [
                "cp",
                "async",
                "ca" | "cg",
                "shared",
                "global",
                bytes,
                rest @ ..,
            ] => {
                let partial = match rest {
                    [] => false,
                    ["s"] => true,
                    _ => return None,
                };
                let bytes = bytes.parse().ok()?;
                Some(MatrixMove::CopyAsync { bytes, partial })
            }
            ["cp", "async", "commit" | "wait", "group" | "all"] => Some(MatrixMove::CopyGroup),
            _ => None,
        }
    }
}

/// The rest of a `wmma.load` or `wmma.store`: layout, perhaps `stride`, element, address space.
fn wmma_move(shape: &str, matrix: MatrixOperand, rest: &[&str]) -> Option<(Fragment, bool, bool)> {
    let (layout, rest) = rest.split_first()?;
    let (strided, rest) = match rest.split_first()? {
        (&"stride", rest) => (true, rest),
        _ => (false, rest),
    };
    let element = MatrixElement::parse(rest.first()?)?;
    let has = |e: &MatrixElement| has_shape(&WMMA_SHAPES, *e, shape);
    let known = match matrix {
        MatrixOperand::C => {
            let factors = [
                MatrixElement::F16,
                MatrixElement::Tf32,
                MatrixElement::S8,
                MatrixElement::F64,
            ];
            let mut made = factors.iter().filter(|e| has(e));
            element == MatrixElement::F16 && has(&MatrixElement::F16)
                || made.any(|e| accumulator(*e) == element)
        }
        _ => has(&element),
    };
    let fragment = Fragment {
        shape: Shape::parse(shape)?,
        matrix,
        element,
        wmma: true,
    };
    known.then_some((fragment, *layout == "row", strided))
}
