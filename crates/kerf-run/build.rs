//! The bitcode of device code, which the crate embeds: a machine with a GPU needs no compiler.
#[path = "../../scripts/kernel_bitcode.rs"]
mod kernel_bitcode;

fn main() {
    kernel_bitcode::compile_kernels("generate", &["../kerf-exec/device", "../kerf-pass/device"]);
}
