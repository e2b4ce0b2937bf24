//! Math functions made for a range of arguments and an error.
//!
//! A [`FunctionSpecification`] names a function, a range, an error and a format. [`implement`] gives a
//! [`FunctionImplementation`]: straight-line code of IEEE operations with a bound of its error that was proven with
//! interval arithmetic. The polynomial is minimax (Remez), its coefficients are rounded to the format by the nearest
//! plane of their lattice; the proof takes nothing from either: it bounds the error of the code as it is.
//!
//! The parts: [`working_format`] the arithmetic of the code; [`code`] the code, which plans hold too; [`target`] the functions; [`core_fit`]
//! polynomials for a smooth core, [`core_bound`] their proof; [`reduction`] what is around the core; [`emit`] C and CUDA.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bessel;
pub mod constant_power;
pub mod core_bound;
pub mod core_fit;
pub mod emit;
mod gamma;
mod implement;
mod linear;
mod normal_quantile;
mod polynomial_code;
pub mod reduction;
mod remez;
mod request;
mod running_error;
pub mod specification;
pub mod target;
mod two_arguments;
pub mod working_format;

pub use kerf_num::made as code;

pub use implement::{FunctionImplementation, implement};
pub use request::{MadeRequest, MadeTarget, make};
pub use specification::{ErrorMeasure, FunctionError, FunctionSpecification};
pub use two_arguments::TwoArgumentFunction;
