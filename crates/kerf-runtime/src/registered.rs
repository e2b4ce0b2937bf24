//! What the application registers: device code, and the functions and variables that host code names.
use crate::error::CallFailure;
use crate::planned_launch::PlannedLaunch;
use kerf_ir::blob::Meta;
use kerf_ir::kernels::KernelInfo;
use kerf_num::StorageFormat;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::rc::Rc;

/// A `__global__` function of the application.
#[derive(Clone)]
pub struct RegisteredFunction {
    /// Its module.
    pub module: usize,
    /// Its symbol there.
    pub symbol: String,
    /// Dynamic shared memory it may be launched with, as the application set it.
    pub shared_limit: usize,
    /// What launches need of it, once it was launched.
    pub ready: Option<Rc<Ready>>,
}

/// A `__device__` or `__constant__` variable of the application.
#[derive(Debug, Clone)]
pub struct RegisteredVariable {
    /// Its module.
    pub module: usize,
    /// Its symbol there.
    pub symbol: String,
    /// Bytes.
    pub bytes: usize,
    /// Where it is, once its module is loaded.
    pub address: Option<u64>,
}

/// Registered device code: one file's, or all files' that are linked with each other.
pub struct RegisteredUnit {
    /// What the compiler said of each part.
    pub meta: Vec<Meta>,
    /// Bitcode of each part.
    pub bitcode: Vec<Cow<'static, [u8]>>,
    /// Code that the compiler made of it, packed; of files that are not linked with others.
    pub kept: &'static [u8],
    /// Once it was needed.
    pub loaded: Option<Result<LoadedUnit, CallFailure>>,
}

/// A unit that is ready.
#[derive(Clone)]
pub struct LoadedUnit {
    /// Its number on the device.
    pub program: usize,
    /// Another one, with kernels that a plan changed.
    pub apart: Option<(usize, BTreeSet<String>)>,
    /// Its kernels, as the source has them.
    pub kernels: Vec<KernelInfo>,
    /// Last argument of kernels that run in two versions.
    pub lambda: BTreeMap<String, f32>,
    /// What the plan changes of launches, by kernel.
    pub planned: BTreeMap<String, PlannedLaunch>,
    /// Why the CPU cannot run some kernels.
    pub refused: BTreeMap<String, String>,
    /// Formats that the plan holds parameters in, by kernel.
    pub storage: BTreeMap<String, BTreeMap<String, StorageFormat>>,
}

impl LoadedUnit {
    /// The program that a kernel is in.
    pub fn program_of(&self, symbol: &str) -> usize {
        match &self.apart {
            Some((program, kernels)) if kernels.contains(symbol) => *program,
            _ => self.program,
        }
    }
}

/// What a launch needs of a function, found out once: programs launch the same few kernels many times.
pub struct Ready {
    /// Its unit.
    pub module: usize,
    /// Its symbol there.
    pub symbol: String,
    /// Its name in messages.
    pub name: CString,
    /// The program that it is in.
    pub program: usize,
    /// Where it is among the kernels of its unit.
    pub at: usize,
    /// Parameters that the application gives.
    pub parameters: usize,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Last argument, where it runs in two versions.
    pub lambda: Option<f32>,
    /// What the plan changes of its launches.
    pub planned: PlannedLaunch,
    /// Why the CPU cannot run it.
    pub refused: Option<String>,
}

impl Ready {
    /// Its name in messages.
    pub fn name(&self) -> &str {
        self.name.to_str().unwrap_or(&self.symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_kernels_are_in_a_program_of_their_own() {
        let mut l = LoadedUnit {
            program: 3,
            apart: None,
            kernels: Vec::new(),
            lambda: BTreeMap::new(),
            planned: BTreeMap::new(),
            refused: BTreeMap::new(),
            storage: BTreeMap::new(),
        };
        assert_eq!(l.program_of("a"), 3);
        l.apart = Some((4, BTreeSet::from(["a".to_owned()])));
        assert_eq!((l.program_of("a"), l.program_of("b")), (4, 3));
    }
}
