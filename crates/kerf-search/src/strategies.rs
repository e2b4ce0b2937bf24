//! The strategies, one file each.
mod delta_debug;
mod exhaustive;
mod guided;
mod random;

pub use delta_debug::delta_debug;
pub use exhaustive::{LARGEST, every, exhaustive};
pub use guided::guided;
pub use random::{draw, random};
