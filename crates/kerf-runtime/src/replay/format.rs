//! The record of a run: `index.json`, `calls.jsonl` with one call a line, and `data.bin` with the bytes that they refer to.
use kerf_ir::blob::Meta;
use serde::{Deserialize, Serialize};

/// Version of this layout.
pub const VERSION: u32 = 2;
/// The index.
pub const INDEX: &str = "index.json";
/// Calls, in order.
pub const CALLS: &str = "calls.jsonl";
/// Bytes of copies, arguments and device code.
pub const DATA: &str = "data.bin";
/// What comes back to the host, as the first replay saw it.
pub const COPIES: &str = "copies.json";
/// The bytes of it that the program got.
pub const COPIES_DATA: &str = "copies.bin";

/// Bytes of `data.bin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPiece {
    /// Where they begin.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A place on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In an allocation, which has the same address in a replay.
    Address(u64),
    /// In a variable of a module, which has another: the number of its shadow, and the byte in it.
    Variable(usize, u64),
}

/// A call that changes the device or reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum RecordedCall {
    /// New memory.
    Alloc {
        /// Where.
        address: u64,
        /// How much.
        bytes: usize,
        /// Number, in order of allocation.
        number: usize,
    },
    /// Memory goes back.
    Free {
        /// Where.
        address: u64,
    },
    /// Host to device.
    Upload {
        /// Target.
        to: Place,
        /// The bytes.
        data: DataPiece,
        /// Stream of the program.
        stream: u64,
    },
    /// Device to host.
    Download {
        /// Source.
        from: Place,
        /// How many bytes.
        bytes: u64,
        /// Stream of the program.
        stream: u64,
    },
    /// Device to device.
    Move {
        /// Target.
        to: Place,
        /// Source.
        from: Place,
        /// How many bytes.
        bytes: usize,
        /// Stream of the program.
        stream: u64,
    },
    /// Bytes are set.
    Fill {
        /// Target.
        to: Place,
        /// Each byte.
        value: u8,
        /// How many.
        bytes: usize,
        /// Stream of the program.
        stream: u64,
    },
    /// 32-bit words are set.
    FillWords {
        /// Target.
        to: Place,
        /// Each word.
        value: u32,
        /// How many.
        count: usize,
    },
    /// A kernel is launched.
    Launch {
        /// Number of the function's stub.
        function: usize,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Bytes of dynamic shared memory.
        shared: usize,
        /// Do all blocks run together?
        cooperative: bool,
        /// Bytes of all parameters, one behind the other.
        arguments: DataPiece,
        /// Stream of the program.
        stream: u64,
    },
}

/// A file's device code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedPart {
    /// What the compiler said of it.
    pub meta: Meta,
    /// Bitcode.
    pub bitcode: DataPiece,
}

/// Device code that is linked together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedUnit {
    /// Its files.
    pub parts: Vec<RecordedPart>,
    /// Code that the compiler made of it.
    pub kept: DataPiece,
}

/// A function or variable that host code names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedName {
    /// Its number: the address of its stub or shadow in the recorded process.
    pub number: usize,
    /// Its unit.
    pub unit: usize,
    /// Its symbol there.
    pub symbol: String,
    /// Bytes of a variable.
    #[serde(default)]
    pub bytes: usize,
}

/// `index.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordIndex {
    /// Version of this layout.
    pub version: u32,
    /// Version of Kerf.
    pub kerf: String,
    /// File of the runtime that recorded.
    pub runtime: String,
    /// `cpu` or `cuda`.
    pub device: String,
    /// Why the run cannot be replayed; empty if it can.
    pub refused: Vec<String>,
    /// Calls.
    pub calls: u64,
    /// Bytes of `data.bin`.
    pub bytes: u64,
    /// The first address above all allocations.
    pub end: u64,
    /// Device code.
    pub units: Vec<RecordedUnit>,
    /// Functions.
    pub functions: Vec<RecordedName>,
    /// Variables.
    pub variables: Vec<RecordedName>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_back_from_their_lines() {
        let piece = DataPiece {
            offset: 3,
            bytes: 5,
        };
        for call in [
            RecordedCall::Upload {
                to: Place::Variable(7, 8),
                data: piece,
                stream: 0,
            },
            RecordedCall::Launch {
                function: 1,
                grid: [1, 2, 3],
                block: [4, 5, 6],
                shared: 0,
                cooperative: true,
                arguments: piece,
                stream: 9,
            },
        ] {
            let line = serde_json::to_string(&call).expect("JSON");
            let read: RecordedCall = serde_json::from_str(&line).expect("a call");
            assert_eq!(read, call);
        }
    }
}
