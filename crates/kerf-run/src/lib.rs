//! Running a workload: one evaluation on either executor, from the file to compared outputs.
//!
//! A [`job::Job`] is a message: a workload, a plan, a device and what is wanted of it. It is carried out in a worker
//! process. Below it stands a [`run::WorkloadSession`], a workload on one executor. [`skeleton`] writes a first workload file for
//! a kernel that has none.
#![warn(missing_docs)]

pub mod advice;
pub mod bind;
pub mod bundle;
pub mod compile;
pub mod device_inputs;
pub mod held;
pub mod job;
pub mod memory;
pub mod other_launches;
pub mod record_fit;
pub mod run;
pub mod shapes;
pub mod skeleton;
pub mod storage;
