//! Memory on a GPU that belongs to no program.
use super::driver;
use crate::ExecError;

/// Bytes on the device of the current context, freed when dropped.
#[derive(Debug)]
pub struct DeviceMemory {
    /// Where they begin.
    pub(super) address: u64,
    /// How many.
    pub(super) bytes: usize,
}

impl DeviceMemory {
    /// Memory filled with zeros; `what` is for messages. It is a multiple of 16 bytes long, and not empty, so that an
    /// address is one's own.
    pub fn zeroed(bytes: usize, what: &str) -> Result<DeviceMemory, ExecError> {
        let bytes = bytes.max(16).next_multiple_of(16);
        let address = driver::alloc(bytes, what)?;
        let memory = DeviceMemory { address, bytes };
        driver::fill(address, 0, bytes)?;
        Ok(memory)
    }

    /// Memory that begins with these bytes, zeros after them.
    pub fn with_bytes(data: &[u8], what: &str) -> Result<DeviceMemory, ExecError> {
        let memory = DeviceMemory::zeroed(data.len(), what)?;
        driver::to_device(memory.address, data)?;
        Ok(memory)
    }

    /// Memory that begins with a copy of bytes elsewhere on the device, zeros after them.
    pub fn copy_of(address: u64, bytes: usize, what: &str) -> Result<DeviceMemory, ExecError> {
        let memory = DeviceMemory::zeroed(bytes, what)?;
        driver::on_device(memory.address, address, bytes)?;
        Ok(memory)
    }

    /// Where the bytes begin.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Bytes on the device of the current context, copied to the host. The caller knows that they are there.
pub fn read_device(address: u64, bytes: usize) -> Result<Vec<u8>, ExecError> {
    driver::to_host(address, bytes)
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        driver::free(self.address);
    }
}
