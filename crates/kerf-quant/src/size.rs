//! What a quantized network weighs: bytes of its parameters, and bit operations of its products.
use crate::graph::{Graph, ParameterRole};
use crate::points::{QuantizationPoint, QuantizedTensor};
use serde::{Deserialize, Serialize};

/// Bits of what is not quantized.
const FULL: f64 = 32.0;

/// Size of a network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Bytes of all parameters and buffers as `f32`.
    pub fp32_bytes: f64,
    /// Bytes with quantized weights at their bits and a scale of 4 bytes for each grid.
    pub bytes: f64,
    /// Products of weights and activations for one sample, each counted as bits of one times bits of the other.
    pub bit_operations: f64,
    /// Likewise with 32 bits everywhere.
    pub fp32_bit_operations: f64,
}

/// The size at these bits of each point.
pub fn size(graph: &Graph, points: &[QuantizationPoint], bits: &[f64]) -> Size {
    let at = |subject: QuantizedTensor| points.iter().position(|p| p.subject == subject);
    let (mut fp32, mut bytes) = (0.0, 0.0);
    for p in graph
        .params()
        .iter()
        .filter(|p| !p.name.ends_with("num_batches_tracked"))
    {
        let n = p.shape.iter().product::<usize>() as f64;
        fp32 += n * 4.0;
        let weight =
            at(QuantizedTensor::Weight(p.node)).filter(|_| p.kind == ParameterRole::Weight);
        bytes += match weight {
            Some(w) if bits[w] < FULL => {
                n * bits[w].ceil() / 8.0 + 4.0 * points[w].channels.unwrap_or(1) as f64
            }
            _ => n * 4.0,
        };
    }
    let (mut operations, mut full) = (0.0, 0.0);
    for (i, macs) in graph.macs().iter().enumerate() {
        let input = at(QuantizedTensor::Activation(graph.nodes[i].inputs[0]));
        let input = input.filter(|p| points[*p].readers.contains(&i));
        let of = |p: Option<usize>| p.map_or(FULL, |p| bits[p].ceil());
        operations += *macs as f64 * of(at(QuantizedTensor::Weight(i))) * of(input);
        full += *macs as f64 * FULL * FULL;
    }
    Size {
        fp32_bytes: fp32,
        bytes,
        bit_operations: operations,
        fp32_bit_operations: full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::InputSpec;

    #[test]
    fn eight_bits_are_about_a_quarter() {
        let input = InputSpec::Reals(vec![1, 28, 28]);
        let g = crate::networks::by_name("small-cnn", &input, 10).unwrap();
        let points = crate::points::Policy::default().points(&g).unwrap();
        let s = size(&g, &points, &vec![8.0; points.len()]);
        assert!((0.25..0.35).contains(&(s.bytes / s.fp32_bytes)), "{s:?}");
        assert!(s.bit_operations < s.fp32_bit_operations / 15.0);
        let none = size(&g, &[], &[]);
        assert_eq!(
            (none.bytes, none.bit_operations),
            (s.fp32_bytes, s.fp32_bit_operations)
        );
        let two = size(&g, &points, &vec![2.0; points.len()]);
        assert!(two.bytes < s.bytes && two.bit_operations < s.bit_operations);
    }
}
