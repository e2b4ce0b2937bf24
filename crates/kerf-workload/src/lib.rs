//! Workload files: what they say, the inputs they generate, `.npy` files and digests.

pub mod accept;
pub mod bits;
pub mod digest;
pub mod expand;
pub mod expr;
pub mod file;
pub mod finite;
pub mod generate;
pub mod limits;
mod lines;
pub mod macros;
pub mod mistakes;
pub mod number;
pub mod space;
pub mod suggest;
pub mod workload;

pub use kerf_npy::{self as npy, elem, scalar};

pub use accept::{Accept, Criterion, Metric};
pub use digest::digest;
pub use elem::ElemType;
pub use expand::{ArgValue, ConcreteLaunch, ConcreteStep, Expansion, expand};
pub use expr::Expr;
pub use generate::generate;
pub use generate::perturb::Perturb;
pub use mistakes::{Mistake, Mistakes};
pub use number::Number;
pub use scalar::Scalar;
pub use space::LaunchSpace;
pub use workload::{
    ArgSpec, BufferSpec, Defined, Init, LaunchSpec, SizesFor, Workload, WorkloadStep,
};
