//! Search strategies over an abstract problem.
//!
//! A [`Problem`] is a list of variables with levels. A [`Strategy`] is asked for assignments and told
//! their outcomes; [`session::run`] drives it and executes nothing twice. Nothing here knows what an
//! assignment stands for: no GPU, no LLVM, no files.
pub mod compare;
mod distributions;
pub mod exchange;
pub mod expression;
pub mod guided;
pub mod history;
pub mod outcome;
pub mod problem;
pub mod race;
pub mod recorded;
pub mod repeat;
pub mod rng;
pub mod script;
pub mod session;
pub mod space;
pub mod strategies;
pub mod strategy;
pub mod strategy_name;
pub mod synthetic;
pub mod synthetic_joint;
pub mod synthetic_kernels;
pub mod synthetic_launch;

pub use history::{Evaluation, History};
pub use outcome::Outcome;
pub use problem::{
    Answers, Assignment, Edge, Level, Metrics, Models, NoModels, Problem, Search, Variable,
};
pub use session::{SearchSession, SearchTrace, replay, run};
pub use strategies::{by_name, suitable};
pub use strategy::{Reason, Strategy, StrategyStep};
pub use strategy_name::{StrategyError, StrategyName};
