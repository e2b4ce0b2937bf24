//! Counters of what stores in scaled formats lose: numbers that saturate, and NaN and infinities without a code.
//!
//! They are in a program of its own that runs once beside the one that is timed: the stores are the same, so is what they
//! lose. Both executors add integers.
use kerf_llvm::{Builder, Linkage, Module, RmwOp, Type, Value, space};

/// The variable with two 64-bit numbers for each object: values that saturated, and values that are not held.
pub const LOSSES: &str = "__kerf_storage_losses";

const COUNT: &str = "__kerf_count_loss";

/// An object whose losses are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedObject {
    /// Kernel, as the plan names it.
    pub kernel: String,
    /// The object, as the plan names it.
    pub object: String,
    /// Its format.
    pub format: kerf_num::scaled::ScaledFormat,
}

/// The counter of an object.
pub(crate) struct LossCounter {
    function: Value,
    array: Value,
    at: usize,
}

impl LossCounter {
    /// One counter for each of `objects` objects.
    pub(crate) fn new(m: &Module, objects: usize) -> Vec<LossCounter> {
        let t = m.int_ty(64).array(2 * objects.max(1) as u64);
        let array = m.add_global(t, LOSSES, space::GLOBAL);
        array.set_initializer(t.zero());
        array.set_align(8);
        let function = counting_function(m, m.ptr_ty(space::GLOBAL));
        let each = (0..objects).map(|at| LossCounter {
            function,
            array,
            at,
        });
        each.collect()
    }

    /// Counts where one of the conditions holds; they exclude each other.
    pub(super) fn count(&self, b: &Builder, saturated: Value, not_held: Value) {
        let at = b.gep(b.int_ty(64), self.array, &[b.i64(2 * self.at as u64)], true);
        b.call(self.function, &[saturated, not_held, at]);
    }
}

/// A function that adds 1 to one of two numbers, if any.
fn counting_function(m: &Module, pointer: Type) -> Value {
    let bit = m.int_ty(1);
    let f = m.add_function(COUNT, m.void_ty().function(&[bit, bit, pointer]));
    f.set_linkage(Linkage::LLVMInternalLinkage);
    f.add_enum_attr("alwaysinline");
    let [entry, count, done] = ["entry", "count", "done"].map(|n| m.append_block(f, n));
    let params = f.params();
    let b = Builder::at_end(entry);
    b.cond_br(b.or(params[0], params[1]), count, done);
    b.move_to_end(count);
    let which = b.zext_or_trunc(params[1], b.int_ty(64));
    let at = b.gep(b.int_ty(64), params[2], &[which], true);
    b.atomic_rmw_relaxed(RmwOp::LLVMAtomicRMWBinOpAdd, at, b.i64(1));
    b.br(done);
    b.move_to_end(done);
    b.ret(None);
    f
}
