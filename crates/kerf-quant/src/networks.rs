//! Networks by name. A network is one file with one function, and one line here.
mod small_cnn;
mod text;

use crate::graph::{Graph, GraphError, InputSpec};

/// A network that can be named.
pub struct Network {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub what: &'static str,
    /// Makes it for an input and a number of classes.
    pub make: fn(&InputSpec, usize) -> Result<Graph, NetworkError>,
}

/// All of them.
pub const NETWORKS: &[Network] = &[
    Network {
        name: "small-cnn",
        what: "three convolutions and a matrix, 24 thousand parameters, for small images",
        make: small_cnn::make,
    },
    Network {
        name: "text-transformer",
        what: "two blocks of causal attention over characters, as GPT-2",
        make: text::transformer,
    },
];

/// Why there is no such network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// No network has this name.
    #[error("there is no network `{0}`; there are {list}", list = names().join(", "))]
    Unknown(String),
    /// Made for something else.
    #[error("the network {network} takes {takes}, and the data is {found:?}")]
    Input {
        /// The network.
        network: &'static str,
        /// What it takes.
        takes: &'static str,
        /// What there is.
        found: InputSpec,
    },
    /// Its parts do not fit for this input.
    #[error("{0}")]
    Graph(#[from] GraphError),
}

/// The names.
pub fn names() -> Vec<&'static str> {
    NETWORKS.iter().map(|n| n.name).collect()
}

/// A network for data of this form.
pub fn by_name(name: &str, input: &InputSpec, classes: usize) -> Result<Graph, NetworkError> {
    match NETWORKS.iter().find(|n| n.name == name) {
        Some(n) => (n.make)(input, classes),
        None => Err(NetworkError::Unknown(name.to_owned())),
    }
}

/// The shape of images, for a network that takes images.
pub(crate) fn image(network: &'static str, input: &InputSpec) -> Result<[usize; 3], NetworkError> {
    let other = || NetworkError::Input {
        network,
        takes: "images [channels, height, width]",
        found: input.clone(),
    };
    match input {
        InputSpec::Reals(s) => <[usize; 3]>::try_from(s.as_slice()).map_err(|_| other()),
        InputSpec::Tokens { .. } => Err(other()),
    }
}
