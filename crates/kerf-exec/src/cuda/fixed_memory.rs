//! Memory of a GPU at addresses that are the same in every process: a reserved range, with physical memory mapped into it
//! in granules.
//!
//! Small allocations share granules, which stay mapped; large ones have their own, which go back when they are freed.
use super::driver::check;
use crate::ExecError;
use crate::fixed_range::{AddressRange, BASE, BYTES, GRANULE, is_large, taken};
use cudarc::driver::sys;
use std::collections::BTreeMap;

/// The range with what is mapped into it.
pub struct CudaFixedMemory {
    device: i32,
    addresses: AddressRange,
    /// Physical memory by its address: handle and bytes.
    mapped: BTreeMap<u64, (u64, u64)>,
}

impl CudaFixedMemory {
    /// Reserves the range on a device, whose context is current; gives out addresses from `first` on.
    pub fn new(device: i32, first: u64) -> Result<CudaFixedMemory, ExecError> {
        let mut at = 0;
        // SAFETY: the out pointer is valid; a reservation takes nothing but addresses.
        let r = unsafe { sys::cuMemAddressReserve(&mut at, BYTES as usize, 0, BASE, 0) };
        check("reserving addresses", r)?;
        if at != BASE {
            // SAFETY: the reservation that was just made.
            let _ = unsafe { sys::cuMemAddressFree(at, BYTES as usize) };
            return Err(ExecError::Memory(format!(
                "addresses from {BASE:#x} on are taken"
            )));
        }
        Ok(CudaFixedMemory {
            device,
            addresses: AddressRange::new(first),
            mapped: BTreeMap::new(),
        })
    }

    fn location(&self) -> sys::CUmemLocation {
        sys::CUmemLocation {
            type_: sys::CUmemLocationType_enum::CU_MEM_LOCATION_TYPE_DEVICE,
            id: self.device,
        }
    }

    /// Puts physical memory behind addresses that have none.
    fn map(&mut self, at: u64, bytes: u64) -> Result<(), ExecError> {
        let location = self.location();
        // SAFETY: a plain struct of numbers and a pointer that may be null.
        let mut properties: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
        properties.type_ = sys::CUmemAllocationType_enum::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = location;
        let access = sys::CUmemAccessDesc {
            location,
            flags: sys::CUmemAccess_flags_enum::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        let size = bytes as usize;
        let mut handle = 0;
        // SAFETY: out pointers are valid; the addresses are inside the reservation, and nothing is mapped there.
        unsafe {
            let r = sys::cuMemCreate(&mut handle, size, &properties, 0);
            check("allocating memory", r)?;
            let r = sys::cuMemMap(at, size, 0, handle, 0);
            let what = format!("mapping {size} bytes of memory at {at:#x}");
            if let Err(e) = check(&what, r) {
                let _ = sys::cuMemRelease(handle);
                return Err(e);
            }
            let r = sys::cuMemSetAccess(at, size, &access, 1);
            let what = format!("opening {size} bytes of memory at {at:#x}");
            if let Err(e) = check(&what, r) {
                let _ = sys::cuMemUnmap(at, size);
                let _ = sys::cuMemRelease(handle);
                return Err(e);
            }
        }
        self.mapped.insert(at, (handle, bytes));
        Ok(())
    }

    /// Memory at an address of the range, zeroed.
    pub fn alloc_at(&mut self, at: u64, bytes: usize) -> Result<(), ExecError> {
        let size = taken(bytes as u64);
        match is_large(bytes as u64) {
            true => self.map(at, size)?,
            false => {
                let first = at / GRANULE * GRANULE;
                for granule in (first..at + size).step_by(GRANULE as usize) {
                    if !self.mapped.contains_key(&granule) {
                        self.map(granule, GRANULE)?;
                    }
                }
            }
        }
        // Streams that do not wait for the default one must find it cleared.
        // SAFETY: memory that was just mapped, or that nobody has; the default stream.
        unsafe {
            let r = sys::cuMemsetD8_v2(at, 0, bytes.max(1));
            check("clearing memory", r)?;
            let r = sys::cuStreamSynchronize(std::ptr::null_mut());
            check("clearing memory", r)
        }
    }

    /// Memory at the next address.
    pub fn alloc(&mut self, bytes: usize) -> Result<u64, ExecError> {
        let at = self.addresses.alloc(bytes as u64);
        let at = at.ok_or_else(|| ExecError::Memory("the range of addresses is used up".into()))?;
        match self.alloc_at(at, bytes) {
            Ok(()) => Ok(at),
            Err(e) => {
                self.addresses.free(at, bytes as u64);
                Err(e)
            }
        }
    }

    /// Takes memory back.
    pub fn free(&mut self, at: u64, bytes: usize) -> Result<(), ExecError> {
        self.addresses.free(at, bytes as u64);
        // Small ones share granules, which stay.
        if !is_large(bytes as u64) {
            return Ok(());
        }
        if let Some((handle, size)) = self.mapped.remove(&at) {
            // SAFETY: mapped by us, and nothing runs that uses it: the caller waits for the device.
            unsafe {
                check("freeing memory", sys::cuMemUnmap(at, size as usize))?;
                check("freeing memory", sys::cuMemRelease(handle))?;
            }
        }
        Ok(())
    }

    /// Is an address of the range?
    pub fn holds(at: u64) -> bool {
        (BASE..BASE + BYTES).contains(&at)
    }

    /// The first address that was never given out.
    pub fn end(&self) -> u64 {
        self.addresses.end()
    }
}
