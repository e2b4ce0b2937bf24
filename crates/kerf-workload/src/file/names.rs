//! Names: which there are, and which an expression may use where.

use std::collections::{BTreeMap, BTreeSet};

/// All names of a file.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Sizes; `None` for one whose definition is wrong.
    pub(super) sizes: BTreeMap<String, Option<i64>>,
    /// Sizes whose definitions come later.
    pub(super) later: BTreeSet<String>,
    /// Launch-space parameters.
    pub(super) params: BTreeSet<String>,
    /// Buffers, by name, with what checks of steps need to know.
    pub(super) buffers: BTreeMap<String, BufferFacts>,
}

/// What steps need to know of a buffer; `None` where its definition is wrong.
#[derive(Debug, Clone, Default)]
pub(super) struct BufferFacts {
    pub(super) elem: Option<crate::elem::ElemType>,
    pub(super) len: Option<usize>,
    pub(super) symbol: bool,
}

/// The names an expression may use besides the sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visible<'v> {
    pub(super) params: bool,
    pub(super) loops: &'v [String],
    /// `i` and `rand`, in an `expr` init.
    pub(super) element: bool,
}

impl Visible<'_> {
    pub(super) const SIZES: Visible<'static> = Visible {
        params: false,
        loops: &[],
        element: false,
    };
}

/// Names an `expr` init gives a meaning of its own.
pub(super) const ELEMENT: [&str; 2] = ["i", "rand"];

/// Whether expressions can mention this name.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
