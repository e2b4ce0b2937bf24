//! Why a site cannot be computed in a format that is not its own.
use crate::site_format::SiteFormat;
use kerf_num::Format;

/// Why a site cannot be computed in a format that is not its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatRefusal {
    /// Not an operation on numbers.
    #[error("it computes nothing")]
    NoComputation,
    /// The format asked for has as many bytes as its own, or more.
    #[error("its format is {own}, which is no wider")]
    NoWider {
        /// Format of the site.
        own: Format,
    },
    /// A math function that exists in its own format only.
    #[error("{function} has no version in {format}")]
    NoVersion {
        /// As the module names it.
        function: String,
        /// Where it would have to exist.
        format: SiteFormat,
    },
    /// An operation that rounds to zero, up or down.
    #[error("directed rounding does not exist in {0}")]
    DirectedRounding(SiteFormat),
    /// Inline PTX that was not lifted.
    #[error("it is inline PTX, which keeps its formats")]
    InlinePtx,
    /// A call through a pointer.
    #[error("what is called is not known")]
    UnknownCallee,
    /// A device function that was not inlined.
    #[error(
        "{0} is a function of its own, which takes and gives what it declares; its sites are the ones to change"
    )]
    OwnFunction(String),
    /// An atomic operation.
    #[error("an atomic operation computes in the format of its buffer")]
    Atomic,
    /// An operand is a constant expression over addresses.
    #[error("an operand is a constant that only the linker knows")]
    LinkerConstant,
    /// A volatile load or store.
    #[error("it is volatile, so that others may look at the bytes")]
    Volatile,
    /// A conversion from or to an integer that no conversion of the target has.
    #[error("integers of {bits} bits are not converted")]
    WideInteger {
        /// Bits of the integer.
        bits: u32,
    },
    /// A function without an algorithm on pairs.
    #[error("{0} has no double-word algorithm")]
    NoPairAlgorithm(String),
    /// A load, store or atomic operation, asked to work on pairs.
    #[error("memory keeps the format of its buffer")]
    Memory,
    /// A vector, asked to become pairs.
    #[error("it works on a vector, {vector}, and only scalars become pairs")]
    Vector {
        /// Type of the vector.
        vector: String,
    },
    /// Operands of other types than floating point, asked to become pairs.
    #[error("not all of its operands are floating-point numbers")]
    NotNumbers,
    /// A format of 16 bits, asked to become pairs.
    #[error("its format is {own}, and pairs replace f32 and f64")]
    NoPairOf {
        /// Format of the site.
        own: Format,
    },
    /// A function that composite precision is not defined for.
    #[error("composite precision has no published formula for {function}")]
    NoFormula {
        /// As the library of pairs names it.
        function: &'static str,
    },
}
