//! Quantization-aware training: the lowest precision of a network that keeps the accuracy asked for.
//!
//! A network is data ([`graph`]); a policy says where it is quantized ([`points`]); a method decides ranges and bits
//! in every step ([`decision`]); a [`backend`] computes. Nothing here prints or reads the environment.
#![warn(missing_docs)]
pub mod accuracy_loss;
pub mod backend;
pub mod bits;
pub mod cpu;
pub mod data;
pub mod decision;
pub mod engine;
pub mod experiment;
pub mod fetch;
pub mod graph;
pub mod histogram;
pub mod interval;
pub mod methods;
pub mod networks;
pub mod onnx;
pub mod plot;
pub mod points;
pub mod quantizer;
pub mod seed;
pub mod sensitivity;
pub mod size;
pub mod steering;
pub mod tensor;
#[cfg(feature = "libtorch")]
pub mod torch;
pub mod train;
pub mod weights;

pub use kerf_files as files;
