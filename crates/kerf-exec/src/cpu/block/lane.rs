//! One thread of a block, as the scheduler sees it.
use corosensei::Yielder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Wait {
    Ready,
    Barrier,
    Warp,
    /// Has yielded to the other blocks of its grid.
    Spin,
    Done,
}

/// A thread's request and its answer.
pub(in crate::cpu) struct Lane {
    pub wait: Wait,
    pub yielder: *const Yielder<(), ()>,
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
    pub result: u64,
    /// The place where it will meet others next, where that is checked.
    pub meeting: u32,
}

impl Lane {
    pub fn new() -> Lane {
        Lane {
            wait: Wait::Ready,
            yielder: std::ptr::null(),
            op: 0,
            mask: 0,
            value: 0,
            x: 0,
            c: 0,
            red: 0,
            site: 0,
            result: 0,
            meeting: 0,
        }
    }
}
