//! Kerf's implementation of the CUDA runtime: what an application built by `kerf cc` is linked with.
//!
//! The application's objects register their device code, which is LLVM bitcode ([`kerf_ir::blob`]);
//! kernels are compiled when their module is first used, after a plan was applied where one is given. The
//! device is behind [`kerf_exec::raw::RawDevice`]. Names and types are CUDA's C interface.
//!
//! This library is a program's part, not a tool's: it reads the environment and writes to standard error.
//! `KERF_DEVICE` is `cpu` or `cuda`, `KERF_PLAN` a plan (with `buffers.json` beside it), `KERF_TRACE` a folder for what a run did,
//! `KERF_REPLAY_RECORD` a folder for a record of it that can be replayed.
#![warn(missing_docs)]
#![allow(non_snake_case, clippy::too_many_arguments)] // CUDA's names and signatures

mod cache;
mod call;
mod config;
mod copy;
mod device;
mod driver;
mod driver_objects;
mod error;
mod function;
mod gpu_turn;
mod held;
mod launch;
mod launch_request;
mod libraries;
mod load;
mod managed;
mod memory;
mod planned_launch;
mod process;
mod record;
mod recording;
mod register;
mod registered;
mod replay;
mod state;
mod stream;
mod symbol;
mod trace;
mod unsupported;
mod variable;
mod watch;
