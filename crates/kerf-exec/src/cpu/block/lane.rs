//! One thread of a block, as the scheduler sees it.
//!
//! The scheduler and the code of the thread, which run in turn on one core, share a lane: all that changes is a cell, so that
//! neither keeps a reference that the other would invalidate while the coroutine is switched.
use corosensei::Yielder;
use std::cell::Cell;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Wait {
    Ready,
    Barrier,
    Warp,
    /// Has yielded to the other blocks of its grid.
    Spin,
    Done,
}

/// What a thread waits for.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cpu) struct Request {
    /// Barrier number, or kind of warp operation.
    pub op: u32,
    /// Threads that the barrier waits for (0: all), or lanes of the warp operation.
    pub mask: u32,
    pub value: u64,
    pub x: u32,
    pub c: u32,
    /// Reduction of a barrier.
    pub red: u32,
    pub site: u64,
}

/// A thread's request and its answer.
pub(in crate::cpu) struct Lane {
    pub wait: Cell<Wait>,
    /// Of the thread's coroutine, once it has begun.
    pub yielder: Cell<*const Yielder<(), ()>>,
    pub request: Cell<Request>,
    pub result: Cell<u64>,
    /// The place where it will meet others next, where that is checked.
    pub meeting: Cell<u32>,
}

impl Lane {
    pub fn new() -> Lane {
        Lane {
            wait: Cell::new(Wait::Ready),
            yielder: Cell::new(std::ptr::null()),
            request: Cell::default(),
            result: Cell::new(0),
            meeting: Cell::new(0),
        }
    }

    /// Does it wait at a barrier?
    pub fn is_at_barrier(&self, id: u32) -> bool {
        self.wait.get() == Wait::Barrier && self.request.get().op == id
    }
}
