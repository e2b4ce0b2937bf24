//! Tuners: from a workload and a tolerance to the fastest plan within it, with the evidence.
//!
//! * [`subject`] is what is tuned, [`problem`] what can be chosen ([`storage`]: of memory,
//!   [`approx`]: of math calls and warps; [`setting`]: one level), [`models`] what is predicted.
//! * [`evaluate`] runs plans in worker processes, [`store`] keeps every evaluation.
//! * [`tune`] searches, [`validate`] tries the result on other inputs, [`mod@result`] is what is written,
//!   [`evidence`] what is seen beside it.
//! * [`tradeoff`] is time and error over the part of the warps that is approximate.
#![warn(missing_docs)]

pub mod alone;
pub mod app;
pub mod approx;
pub mod check;
mod choose;
pub mod coded;
pub mod confidence;
pub mod counted;
pub mod counts;
pub mod criteria;
pub mod duration;
pub mod evaluate;
pub mod evidence;
mod finals;
pub mod front;
pub mod launch;
pub mod measure;
pub mod models;
pub mod precheck;
pub mod problem;
pub mod ranges;
pub mod rescore;
pub mod result;
pub mod sample;
pub mod score;
pub mod setting;
mod settings;
pub mod storage;
pub mod store;
pub mod subject;
pub mod tradeoff;
pub mod tune;
mod tuner;
pub mod validate;
