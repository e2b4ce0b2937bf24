//! What debug info says of a value, through the shim.
use crate::shim;
use crate::value::Value;

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl Value {
    /// `file:line` where the variable that lives in this alloca is declared.
    pub fn variable_place(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_variable_place(self.0) })
    }
    /// Name of the source variable that holds this value.
    pub fn variable_name(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_variable_name(self.0) })
    }
    /// Parameters by debug info; see the shim for the layout.
    pub fn debug_params(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_debug_params(self.0) })
    }
    /// Name, type and scalars of a global by debug info.
    pub fn debug_global(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_debug_global(self.0) })
    }
    /// Source position; see the shim for the layout.
    pub fn location(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_location(self.0) })
    }
    /// The whole inlining chain, the innermost position first; see the shim for the layout.
    pub fn location_chain(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_location_chain(self.0) })
    }
    /// Innermost position on the inlining chain that lies in `file`.
    pub fn location_in(self, file: &str) -> Option<(u32, u32)> {
        let c = shim::cstring(file);
        let s = shim::take(unsafe { shim::kerf_location_in(self.0, c.as_ptr()) })?;
        let (l, c) = s.split_once('\t')?;
        Some((l.parse().ok()?, c.parse().ok()?))
    }
}
