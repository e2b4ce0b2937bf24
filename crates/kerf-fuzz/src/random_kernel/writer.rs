//! The state of writing a kernel, which all parts of it share.

use std::collections::BTreeSet;

use super::Uses;
use super::body::{Body, Type};
use super::plan::Plan;
use super::random::Random;

/// A device function of a kernel.
#[derive(Clone)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) result: Type,
    pub(super) parameters: Vec<Type>,
    /// Whether a last parameter bounds the depth of its recursion.
    pub(super) recursive: bool,
}

/// The state of writing one kernel.
pub(super) struct Writer<'m> {
    pub(super) random: Random,
    pub(super) plan: Plan,
    pub(super) uses: Uses,
    pub(super) name: String,
    /// Declarations of the whole module, in an order that is the same on every machine.
    pub(super) declarations: &'m mut BTreeSet<String>,
    pub(super) body: Body,
    pub(super) functions: Vec<Function>,
    /// Which of the shared arrays are used, by type.
    pub(super) shared: [bool; 4],
    pub(super) math_calls_left: usize,
    /// Arrays and recursion together must fit the stack a device thread has by default, 1 KiB.
    pub(super) local_arrays_left: usize,
    /// Whether `body` is that of the kernel rather than of a device function.
    pub(super) in_kernel: bool,
    pub(super) text: String,
}
