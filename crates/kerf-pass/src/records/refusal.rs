//! Why a buffer's records cannot be stored in another way.

/// Why the records of a buffer cannot be stored as a plan says. Types are as LLVM prints them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordRefusal {
    /// The plan's name means nothing.
    #[error("the kernel has no such pointer parameter; it has {}", have.join(", "))]
    Unknown {
        /// The names that there are.
        have: Vec<String>,
    },
    /// Two names of the plan mean it.
    #[error("the plan names it twice")]
    NamedTwice,
    /// Fewer than two fields, or too many.
    #[error("a record has 2 to {most} fields, not {count}")]
    FieldCount {
        /// As the plan has it.
        count: usize,
        /// The most that there may be.
        most: usize,
    },
    /// The fields leave gaps.
    #[error(
        "byte {offset} of a record is no place for {bytes} bytes; records with gaps between fields, or after the last, stay as they are"
    )]
    Unaligned {
        /// Where.
        offset: usize,
        /// Bytes of what would begin there, a field or the next record.
        bytes: usize,
    },
    /// It is held in codes or another format, and has fields of several.
    #[error("its fields have several types, and the plan holds it in one format")]
    MixedFormats,
    /// An access that touches parts of fields.
    #[error("{access} of {accessed} at byte {offset} of a record touches a part of a field")]
    PartOfField {
        /// Load, store or atomic operation.
        access: &'static str,
        /// Its type.
        accessed: String,
        /// Where it begins.
        offset: i64,
    },
    /// A computed index decides which field is accessed, and fields differ in size.
    #[error("a computed index decides which field is accessed, and fields differ in size")]
    ComputedField,
    /// An access that is no multiple of the fields' size.
    #[error("it is accessed as {accessed}, and its fields have {bytes} bytes")]
    OtherSize {
        /// Type of the access.
        accessed: String,
        /// Bytes of each field.
        bytes: usize,
    },
    /// Something that memory holds and that cannot be taken apart.
    #[error("it is accessed as {accessed}")]
    AccessedAs {
        /// Type of the access.
        accessed: String,
    },
    /// A volatile or atomic access of several fields at once.
    #[error("several fields of it are accessed at once, in an atomic or volatile access")]
    Indivisible,
    /// An access that does not say that it begins at a multiple of a field.
    #[error("an access to it is aligned to {bytes} bytes only")]
    LowAlignment {
        /// What the access says.
        bytes: u32,
    },
    /// A copy or a filling that is long, or of a length that is not known, or volatile, or begins at a computed field.
    #[error("it is copied or filled in one piece")]
    CopiedWhole,
    /// A filling with another value than zero.
    #[error("it is filled byte by byte")]
    FilledBytes,
    /// A function that is not inlined gets its address.
    #[error("its address is given to {function}")]
    AddressGiven {
        /// The function.
        function: String,
    },
    /// Its address is put into memory.
    #[error("its address is stored")]
    AddressStored,
    /// Its address becomes an integer.
    #[error("its address is computed with")]
    AddressComputed,
    /// An instruction uses its address in a way that is not followed.
    #[error("its address is used by {instruction}")]
    AddressUsed {
        /// Opcode.
        instruction: String,
    },
    /// A pointer may lead to it or to something else.
    #[error("a pointer leads to it or to something else")]
    Connected,
}

/// Records that a plan cannot have as it says.
#[derive(Debug)]
pub(crate) struct RefusedRecords {
    /// As the plan names the buffer.
    pub name: String,
    pub why: RecordRefusal,
}
