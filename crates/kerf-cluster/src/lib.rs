//! Units of work over processes, of one machine or of many.
//!
//! One process coordinates: it hands out numbers of units as they are asked for, and takes lines of text back.
//! Processes talk by TCP, also those that MPI started: in plain MPI, a rank that dies takes the others with it, or
//! leaves them waiting, while a connection that ends is just a connection that ends. What a lost process had not
//! handed back is done by others. With the feature `mpi`, [`ranks`] tells where the ranks of `mpirun` are; MPI is
//! used for nothing else.
#![warn(missing_docs)]

mod coordinator;
#[cfg(feature = "mpi")]
pub mod ranks;
mod team;
mod worker;

pub use coordinator::{UnitRanges, coordinate};
pub use team::{Team, TeamMember, secret};
pub use worker::{Reply, join};

use std::time::Duration;

/// A process that has not been heard of for this long is lost.
pub const SILENCE: Duration = Duration::from_secs(60);
/// How often processes say that they are there.
pub const HEARTBEAT: Duration = Duration::from_secs(5);

/// Why work over processes failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The network.
    #[error("{what}: {why}")]
    Network {
        /// What was tried.
        what: String,
        /// The reason.
        why: std::io::Error,
    },
    /// Nobody is left to do the work.
    #[error("all {0} processes were lost; {1} units are not done")]
    Lost(usize, u64),
    /// What came is not of this protocol.
    #[error("the other process said {0:?}")]
    Protocol(String),
    /// There are no random numbers.
    #[error("cannot make a secret: {0}")]
    Secret(std::io::Error),
    /// Children could not be started.
    #[error("cannot start processes: {0}")]
    Start(std::io::Error),
}

impl ClusterError {
    /// For `map_err`.
    pub(crate) fn network(what: &str) -> impl FnOnce(std::io::Error) -> ClusterError {
        let what = what.to_owned();
        |why| ClusterError::Network { what, why }
    }
}
