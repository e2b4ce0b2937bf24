//! Rewriting of functions, and analyses for it, that the C API lacks: through the shim.
use crate::block::Block;
use crate::shim;
use crate::types::Type;
use crate::value::Value;

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl Value {
    /// Loop depth of each block, in block order.
    pub fn loop_depths(self) -> Vec<u32> {
        let mut d = vec![0; self.blocks().len()];
        unsafe { shim::kerf_loop_depths(self.0, d.as_mut_ptr()) };
        d
    }
    /// The object a pointer is derived from.
    pub fn underlying(self) -> Value {
        Value(unsafe { shim::kerf_underlying(self.0) })
    }
    /// A function with extra leading parameters that takes over this one's body and name.
    pub fn prepend_params(self, types: &[Type]) -> Value {
        let mut t: Vec<_> = types.iter().map(|t| t.0).collect();
        Value(unsafe { shim::kerf_prepend_params(self.0, t.as_mut_ptr(), t.len() as u32) })
    }
    /// This kernel with pointer parameter `i` taken as a 64-bit integer.
    pub fn param_to_int(self, i: u32) -> Value {
        Value(unsafe { shim::kerf_param_to_int(self.0, i) })
    }
    /// This kernel with one more parameter at its end.
    pub fn append_param(self, ty: Type, name: &str) -> Value {
        let c = shim::cstring(name);
        Value(unsafe { shim::kerf_append_param(self.0, ty.0, c.as_ptr()) })
    }
    /// Makes this function a declaration again.
    pub fn delete_body(self) {
        unsafe { shim::kerf_delete_body(self.0) }
    }
    /// The called function's body in place of this call; false where LLVM cannot.
    pub fn inline_call(self) -> bool {
        unsafe { shim::kerf_inline(self.0) }
    }
    /// A call with extra leading arguments in place of this call.
    pub fn prepend_args(self, callee: Value, ty: Type, args: &[Value]) -> Value {
        let mut a: Vec<_> = args.iter().map(|v| v.0).collect();
        Value(unsafe {
            shim::kerf_prepend_args(self.0, callee.0, ty.0, a.as_mut_ptr(), a.len() as u32)
        })
    }
    /// A copy of this function under another name.
    pub fn clone_function(self, name: &str) -> Value {
        let c = shim::cstring(name);
        Value(unsafe { shim::kerf_clone_function(self.0, c.as_ptr()) })
    }
    /// Drops what this function's instructions promise of their operands (`nsw`, `inbounds`, `nonnull`, ...), so that
    /// nothing is concluded from a promise that a faulty program breaks.
    pub fn drop_poison_flags(self) {
        unsafe { shim::kerf_drop_poison_flags(self.0) }
    }
    /// Splits the block so that this instruction begins a new one, which is returned.
    pub fn split_before(self) -> Block {
        Block(unsafe { shim::kerf_split_before(self.0) })
    }
    /// A new first block of this function that jumps to the old one.
    pub fn add_prologue(self) -> Block {
        Block(unsafe { shim::kerf_add_prologue(self.0) })
    }
    /// Deletes the blocks of this function that cannot be reached.
    pub fn remove_unreachable(self) {
        unsafe { shim::kerf_remove_unreachable(self.0) }
    }
    /// Keeps this instruction's value in an alloca of block `at`; gives the alloca, or none where
    /// the value had no use.
    pub fn demote(self, at: Block) -> Option<Value> {
        let a = unsafe { shim::kerf_demote(self.0, at.0) };
        (!a.is_null()).then_some(Value(a))
    }
    /// Makes SSA values of those allocas of this function that are only loaded and stored.
    pub fn promote(self, allocas: &[Value]) {
        let mut a: Vec<_> = allocas.iter().map(|v| v.0).collect();
        unsafe { shim::kerf_promote(self.0, a.as_mut_ptr(), a.len() as u32) }
    }
    /// Marks the loop of this latch branch as one that is not to be unrolled.
    pub fn keep_rolled(self) {
        unsafe { shim::kerf_keep_rolled(self.0) }
    }
    /// Has the body of the loop of this latch branch laid out so many times.
    pub fn unroll_by(self, factor: u32) {
        unsafe { shim::kerf_unroll_by(self.0, factor) }
    }
    /// Moves this instruction to the end of a block, before its terminator.
    pub fn move_to(self, at: Block) {
        unsafe { shim::kerf_move_to(self.0, at.0) }
    }
    /// Turns constant expressions that use this global into instructions.
    pub fn expand_constant_users(self) {
        unsafe { shim::kerf_expand_constant_users(self.0) }
    }
    /// Makes a global variable what another one is in all but type, content and name.
    pub fn copy_global(self, from: Value) {
        unsafe { shim::kerf_copy_global(self.0, from.0) }
    }
    /// Marks the loop of this latch branch as parallel in the accesses of `body`.
    pub fn mark_parallel(self, body: Value) {
        unsafe { shim::kerf_mark_parallel(self.0, body.0) }
    }
    /// Says which loops of this function are to be vectorised, and which must not be.
    pub fn choose_vector_loops(self) {
        unsafe { shim::kerf_choose_vector_loops(self.0) }
    }
    /// Marks a function and its calls as pure.
    pub fn mark_pure(self) {
        unsafe { shim::kerf_mark_pure(self.0) }
    }
    /// Declares that an add or mul does not wrap, signed or unsigned.
    pub fn set_no_wrap(self) {
        unsafe { shim::kerf_set_no_wrap(self.0) }
    }
}
