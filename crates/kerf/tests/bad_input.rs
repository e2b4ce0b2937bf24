//! Bad input: whatever is wrong, the program says what, where and what to do, ends with code 2, prints
//! no result and leaves nothing half written.
#[path = "bad_input/harness.rs"]
pub mod harness;

#[path = "bad_input/arguments.rs"]
mod arguments;
#[path = "bad_input/command_line.rs"]
mod command_line;
#[path = "bad_input/damaged_ir.rs"]
mod damaged_ir;
#[path = "bad_input/fuzz.rs"]
mod fuzz;
#[path = "bad_input/missing_parts.rs"]
mod missing_parts;
#[path = "bad_input/npy_files.rs"]
mod npy_files;
#[path = "bad_input/places.rs"]
mod places;
#[path = "bad_input/plans.rs"]
mod plans;
#[path = "bad_input/sources.rs"]
mod sources;
#[path = "bad_input/streams.rs"]
mod streams;
#[path = "bad_input/workload_files.rs"]
mod workload_files;
