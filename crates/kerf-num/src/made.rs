//! Math functions made for a range and an error, as plans hold them: straight-line code, where it holds, and its proven bound.
//!
//! `kerf-function` makes and proves them, `kerf-pass` puts them into programs; both know the form, neither the other.
mod code;
mod function;
mod step_text;
mod working_format;

pub use code::{CodeStep, StepIndex, StraightLineCode};
pub use function::{ArgumentGuard, CallForm, ErrorMeasure, MadeFunction, MadeFunctionError};
pub use step_text::ParseCodeStepError;
pub use working_format::WorkingFormat;
