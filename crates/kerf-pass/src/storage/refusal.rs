//! Why an object cannot be held in another format.
use kerf_num::scaled::ScaleOutOfRange;
use kerf_num::{Format, StorageFormat};

/// What an instruction does with a number of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessVerb {
    /// A load.
    Read,
    /// A store.
    Written,
    /// An atomic operation.
    Updated,
}

impl std::fmt::Display for AccessVerb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AccessVerb::Read => "read",
            AccessVerb::Written => "written",
            AccessVerb::Updated => "updated",
        })
    }
}

/// Why an object (a buffer, an array or a variable of the program) cannot be held in another format. Types are as LLVM
/// prints them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageRefusal {
    /// It is accessed as something that is no number.
    #[error("it is {verb} as {accessed}")]
    AccessedAs {
        /// What is done with it.
        verb: AccessVerb,
        /// Type of the access.
        accessed: String,
    },
    /// Its numbers have two formats.
    #[error("it holds both {first} and {second}")]
    MixedFormats {
        /// Of an access.
        first: Format,
        /// Of another one.
        second: Format,
    },
    /// A load or store is atomic.
    #[error("it is read or written atomically")]
    AtomicAccess,
    /// An atomic operation that exists in no such format.
    #[error("an atomic operation on it is not available in {0}")]
    AtomicFormat(StorageFormat),
    /// An atomic operation on more than numbers.
    #[error("an atomic operation on it has no narrower form")]
    AtomicOperation,
    /// `memset` with another value than zero, or of a length that is not known.
    #[error("it is filled byte by byte")]
    FilledBytes,
    /// `memcpy` of a length that is not known.
    #[error("it is copied byte by byte")]
    CopiedBytes,
    /// A function that is not inlined gets its address.
    #[error("its address is given to {function}")]
    AddressGiven {
        /// The function.
        function: String,
    },
    /// Its address is put into memory.
    #[error("its address is stored")]
    AddressStored,
    /// A compare-and-swap.
    #[error("it is compared and exchanged")]
    CompareExchange,
    /// Its address becomes an integer.
    #[error("its address is computed with")]
    AddressComputed,
    /// An instruction uses its address in a way that is not followed.
    #[error("its address is used by {instruction}")]
    AddressUsed {
        /// Opcode.
        instruction: String,
    },
    /// A constant expression contains its address.
    #[error("its address is part of a constant")]
    AddressInConstant,
    /// It is copied in words that hold parts of numbers.
    #[error("it is copied as {word}")]
    CopiedAs {
        /// Type of the word.
        word: String,
    },
    /// A copy or a filling ends inside of a number.
    #[error("a part of an element is copied or filled")]
    PartOfElement,
    /// A variable's first content has more than numbers.
    #[error("its first content is more than numbers")]
    MixedContent,
    /// Its type has more than numbers of one format.
    #[error("it is declared as {declared}")]
    DeclaredAs {
        /// Its type.
        declared: String,
    },
    /// It is copied, and neither accesses nor types say what it holds.
    #[error("it is only copied, and nothing says what it holds")]
    Untyped,
    /// A parameter whose bytes are copied, with no type that says that they are numbers.
    #[error("it is copied as bytes, and nothing says what they are")]
    UntypedBytes,
    /// The format asked for has as many bytes as its own, or more.
    #[error("it holds {own}, which is no wider")]
    NoWider {
        /// Format of its numbers.
        own: Format,
    },
    /// An address computation over structs of several types.
    #[error("its elements are {element}")]
    Elements {
        /// Type of the elements.
        element: String,
    },
    /// A constant step that is no multiple of an element.
    #[error("a step of {bytes} bytes leads into an element")]
    StepIntoElement {
        /// The step.
        bytes: i64,
    },
    /// A variable step of which no multiple is known.
    #[error("a step in units of {unit} bytes may lead into an element")]
    StepInUnits {
        /// Bytes of a unit.
        unit: u64,
    },
    /// A pointer or a copy connects it with something else.
    #[error("it shares a pointer or a copy with something that is not held in the same format")]
    Connected,
    /// A scale with which it would not hold all numbers exactly.
    #[error(transparent)]
    Scale(#[from] ScaleOutOfRange),
    /// A variable's first content has a number that a scaled format has no code for.
    #[error("its first content has {value}, which the format does not hold")]
    ContentNotHeld {
        /// The number, as its decimal text.
        value: String,
    },
    /// Two names of the plan mean it.
    #[error("the plan names it twice")]
    NamedTwice,
    /// The plan's number is that of another parameter.
    #[error("parameter {parameter} is no pointer")]
    NoPointer {
        /// Number of the parameter.
        parameter: usize,
    },
    /// The plan's name means nothing.
    #[error("the kernel has no such parameter, array or variable; it has {}", have.join(", "))]
    Unknown {
        /// The names that there are.
        have: Vec<String>,
    },
    /// The plan's name means several objects.
    #[error("several parameters or arrays have this name; name a parameter by its number")]
    Ambiguous,
    /// No name tells it from another array.
    #[error("another array of the kernel has the same name")]
    SameName,
}

/// An object that a plan cannot have as it says.
#[derive(Debug)]
pub(crate) struct RefusedObject {
    /// As the plan names it.
    pub name: String,
    /// Format asked for.
    pub format: StorageFormat,
    pub why: StorageRefusal,
}
