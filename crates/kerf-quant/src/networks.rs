//! Networks by name. A network is one file with one function, and one line here.
pub mod efficientnet;
pub mod mobilenet;
pub mod resnet;
mod small_cnn;
#[cfg(test)]
mod tests;
mod text;

use crate::graph::{Graph, GraphError, InputSpec};
use resnet::{Depth, resnet};

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
    Network {
        name: "resnet18",
        what: "ResNet-18 for small images, 11.2 million parameters",
        make: |i, n| Ok(resnet(Depth::D18, 64, image("resnet18", i)?, n)?),
    },
    Network {
        name: "resnet50",
        what: "ResNet-50 for small images, 23.5 million parameters",
        make: |i, n| Ok(resnet(Depth::D50, 64, image("resnet50", i)?, n)?),
    },
    Network {
        name: "resnet101",
        what: "ResNet-101 for small images, 42.5 million parameters",
        make: |i, n| Ok(resnet(Depth::D101, 64, image("resnet101", i)?, n)?),
    },
    Network {
        name: "resnet152",
        what: "ResNet-152 for small images, 58.2 million parameters",
        make: |i, n| Ok(resnet(Depth::D152, 64, image("resnet152", i)?, n)?),
    },
    Network {
        name: "resnet18-w16",
        what: "ResNet-18 with a quarter of the channels, 0.7 million parameters",
        make: |i, n| Ok(resnet(Depth::D18, 16, image("resnet18-w16", i)?, n)?),
    },
    Network {
        name: "efficientnet-b0",
        what: "EfficientNet-B0 for small images, 4.0 million parameters",
        make: |i, n| {
            let shape = image("efficientnet-b0", i)?;
            Ok(efficientnet::efficientnet_b0(shape, n)?)
        },
    },
    Network {
        name: "mobilenet-v2",
        what: "MobileNetV2 for small images, 2.2 million parameters",
        make: |i, n| Ok(mobilenet::mobilenet_v2(image("mobilenet-v2", i)?, n)?),
    },
];

/// Why there is no such network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// No network has this name.
    #[error("there is no network `{0}`; there are {list}", list = names().join(", "))]
    Unknown(String),
    /// Made for something else.
    #[error("the network {network} takes {takes}, and the data is {found}")]
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
