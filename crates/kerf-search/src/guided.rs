//! The models and the solver behind the guided strategy.
pub mod coding;
pub mod culprits;
mod error_fit;
mod error_fitting;
pub mod error_model;
pub mod field;
pub mod forecast;
pub mod knapsack;
pub mod lanes;
pub mod linear;
pub mod propose;
mod time_belief;
pub mod time_model;
