//! Memory ordering and scope: fences and the attributes of atomic accesses.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use kerf_llvm::{Ordering, Value, sys};

/// Ordering and scope of a memory access.
#[derive(Clone, Copy)]
pub(super) struct Semantics {
    /// Ordering; `None` for a weak access.
    pub ordering: Option<Ordering>,
    /// Name that LLVM has for the scope.
    pub scope: &'static str,
}

impl Semantics {
    /// Is it an atomic access?
    pub fn is_atomic(&self) -> bool {
        self.ordering.is_some()
    }
}

fn take_scope(i: &mut Instruction) -> Option<&'static str> {
    Some(match i.pick(&["cta", "cluster", "gpu", "gl", "sys"])? {
        "cta" => "block",
        "cluster" => "cluster",
        "sys" => "",
        _ => "device",
    })
}

/// Takes the ordering and scope of an access.
pub(super) fn take_semantics(i: &mut Instruction) -> Semantics {
    let ordering = match i.pick(&["relaxed", "acquire", "release", "acq_rel"]) {
        Some("relaxed") => Some(Ordering::LLVMAtomicOrderingMonotonic),
        Some("acquire") => Some(Ordering::LLVMAtomicOrderingAcquire),
        Some("release") => Some(Ordering::LLVMAtomicOrderingRelease),
        Some(_) => Some(Ordering::LLVMAtomicOrderingAcquireRelease),
        None => None,
    };
    Semantics {
        ordering,
        scope: take_scope(i).unwrap_or("device"),
    }
}

impl Lifter {
    /// Gives an access its ordering and scope.
    pub fn order(&self, access: Value, s: &Semantics) {
        let ordering = s.ordering.unwrap_or(Ordering::LLVMAtomicOrderingMonotonic);
        // SAFETY: the value is an atomic instruction, load, store or fence that was just built.
        unsafe {
            if sys::LLVMIsAAtomicCmpXchgInst(access.0).is_null() {
                sys::LLVMSetOrdering(access.0, ordering);
            } else {
                sys::LLVMSetCmpXchgSuccessOrdering(access.0, ordering);
                sys::LLVMSetCmpXchgFailureOrdering(access.0, ordering);
            }
            let context = sys::LLVMGetTypeContext(self.b.int_ty(1).0);
            let id = sys::LLVMGetSyncScopeID(context, s.scope.as_ptr().cast(), s.scope.len());
            sys::LLVMSetAtomicSyncScopeID(access.0, id);
        }
    }

    /// A fence of an ordering and scope.
    pub fn fence_of(&self, ordering: Ordering, scope: &'static str) {
        let f = self.b.fence();
        self.order(
            f,
            &Semantics {
                ordering: Some(ordering),
                scope,
            },
        );
    }

    /// `membar` and `fence`
    pub fn fence(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        i.arity(0)?;
        let ordering = match i.pick(&["sc", "acq_rel", "acquire", "release"]) {
            Some("acquire") => Ordering::LLVMAtomicOrderingAcquire,
            Some("release") => Ordering::LLVMAtomicOrderingRelease,
            Some("acq_rel") => Ordering::LLVMAtomicOrderingAcquireRelease,
            Some(_) => Ordering::LLVMAtomicOrderingSequentiallyConsistent,
            None if op == "membar" => Ordering::LLVMAtomicOrderingSequentiallyConsistent,
            None => Ordering::LLVMAtomicOrderingAcquireRelease,
        };
        let Some(scope) = take_scope(i) else {
            return i.unsupported();
        };
        self.fence_of(ordering, scope);
        Ok(())
    }
}
