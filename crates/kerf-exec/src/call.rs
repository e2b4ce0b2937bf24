//! What host code needs to call kernels of a program of its own: arguments and scratch memory.
use crate::{Arg, BufferId, ExecError, Executor};

/// A struct that a kernel takes by value.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    pointers: Vec<(usize, BufferId, u64)>,
}

impl Record {
    /// Adds the address of a buffer.
    pub fn pointer(&mut self, id: BufferId) {
        self.pointer_at(id, 0);
    }

    /// Adds an address within a buffer.
    pub fn pointer_at(&mut self, id: BufferId, offset: u64) {
        self.pointers.push((self.bytes.len(), id, offset));
        self.word(0);
    }

    /// Adds 64 bits.
    pub fn word(&mut self, word: u64) {
        self.bytes.extend(word.to_le_bytes());
    }

    /// Adds the bits of a float.
    pub fn float(&mut self, value: f64) {
        self.word(value.to_bits());
    }

    /// Adds twice 32 bits.
    pub fn halves(&mut self, first: u32, second: u32) {
        self.bytes.extend(first.to_le_bytes());
        self.bytes.extend(second.to_le_bytes());
    }

    /// As an argument.
    pub fn arg(self) -> Arg {
        Arg::Composite {
            bytes: self.bytes,
            pointers: self.pointers,
        }
    }
}

/// An argument of 64 bits.
pub fn word(value: usize) -> Arg {
    Arg::Bytes((value as u64).to_le_bytes().to_vec())
}

/// A float as an argument.
pub fn float(value: f64) -> Arg {
    Arg::Bytes(value.to_bits().to_le_bytes().to_vec())
}

/// The address of a buffer as an argument.
pub fn start_of(id: BufferId) -> Arg {
    Arg::Buffer { id, offset: 0 }
}

/// A buffer that is replaced by a larger one where it is too small. Executors free buffers only when they end, so sizes
/// are doubled.
#[derive(Debug, Default)]
pub struct GrowingBuffer {
    buffer: Option<(BufferId, usize)>,
}

impl GrowingBuffer {
    /// A buffer of at least so many bytes.
    pub fn with(&mut self, exec: &mut dyn Executor, bytes: usize) -> Result<BufferId, ExecError> {
        if let Some((id, have)) = self.buffer
            && have >= bytes
        {
            return Ok(id);
        }
        let bytes = bytes.max(1024).next_power_of_two();
        let id = exec.alloc("partial results", bytes, 8)?;
        self.buffer = Some((id, bytes));
        Ok(id)
    }
}
