//! The strategies, one file each.
mod ampt_ga;
mod dataflow;
mod degree;
mod delta_debug;
mod exhaustive;
mod genetic;
mod guided;
mod guided_points;
mod listed;
mod naive_ga;
mod random;

pub use ampt_ga::ampt_ga;
pub use dataflow::dataflow;
pub use degree::{heu, omg, smp};
pub use delta_debug::delta_debug;
pub use exhaustive::{LARGEST, every, exhaustive};
pub use guided::guided;
pub use guided_points::{Settings, guided_points, guided_points_with};
pub use naive_ga::naive_ga;
pub use random::{draw, random};
