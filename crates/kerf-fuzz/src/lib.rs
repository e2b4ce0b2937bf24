//! Differential tests and damaged input.
//!
//! Random kernels ([`random_kernel`]) under random plans ([`random_plan`], [`random_dimensions`]) have the same bits on every executor
//! ([`identity`]), and their references have the same bits by every route ([`references`]). Damaged files ([`mutate`]) are
//! refused or lived with by every reader ([`readers`]). All of it is known by a seed and a number: the same ones give the
//! same bytes, so that what does harm can be made again.
#![warn(missing_docs)]
pub mod identity;
pub mod mutate;
pub mod random_dimensions;
pub mod random_kernel;
pub mod random_plan;
pub mod readers;
pub mod references;

/// The exit code of a campaign: 0 where all is well, 1 where something was found, 2 where it could not go on.
pub fn exit_code(done: Result<bool, impl std::fmt::Display>) -> std::process::ExitCode {
    match done {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::from(1),
        Err(e) => {
            eprintln!("error: {e}");
            std::process::ExitCode::from(2)
        }
    }
}
