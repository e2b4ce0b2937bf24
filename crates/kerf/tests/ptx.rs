//! PTX files as sources: the code of examples, lifted again, gives the bits of the original; what is refused says where.
#[path = "ptx/harness.rs"]
mod harness;
#[path = "ptx/roundtrip.rs"]
mod roundtrip;
#[path = "ptx/workloads.rs"]
mod workloads;
