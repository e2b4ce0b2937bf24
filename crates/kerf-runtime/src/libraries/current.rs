//! Which function of a library a thread has called, for messages.
use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<&'static str> = const { Cell::new("") };
}

/// Notes the function that this thread calls.
pub fn set(function: &'static str) {
    CURRENT.with(|c| c.set(function));
}

/// The function that this thread has called last.
pub fn get() -> &'static str {
    CURRENT.with(Cell::get)
}
