//! Numbers with a shape, as they pass between the parts: row-major `f32`.
use serde::{Deserialize, Serialize};

/// A dense array, the last dimension running fastest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Tensor {
    /// Size of each dimension; none for a single number.
    pub shape: Vec<usize>,
    /// The values.
    pub data: Vec<f32>,
}

impl Tensor {
    /// From its parts. `None` if the number of values is not what the shape says.
    pub fn new(shape: impl Into<Vec<usize>>, data: Vec<f32>) -> Option<Tensor> {
        let shape = shape.into();
        (shape.iter().product::<usize>() == data.len()).then_some(Tensor { shape, data })
    }
    /// The same value everywhere.
    pub fn filled(shape: impl Into<Vec<usize>>, value: f32) -> Tensor {
        let shape = shape.into();
        let data = vec![value; shape.iter().product()];
        Tensor { shape, data }
    }
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.data.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
}
