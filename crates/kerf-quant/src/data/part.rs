//! Part of a data set.
use super::{DataError, Dataset, Scaling};
use crate::backend::Batch;
use crate::graph::InputSpec;

/// Some samples of another set, without copying them.
pub struct Part<'a> {
    of: &'a dyn Dataset,
    indices: Vec<usize>,
    what: &'static str,
}

impl<'a> Part<'a> {
    /// Training data without what is held out, and that: this part of all, evenly spread.
    pub fn split(of: &'a dyn Dataset, held: f64) -> (Part<'a>, Part<'a>) {
        let n = of.len();
        let count = (held.clamp(0.0, 1.0) * n as f64).round() as usize;
        let out = |i: &usize| (i + 1) * count / n.max(1) > i * count / n.max(1);
        let (held, rest): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| out(i));
        let part = |indices, what| Part { of, indices, what };
        (
            part(rest, "without held-out part"),
            part(held, "held-out part"),
        )
    }
}

impl Dataset for Part<'_> {
    fn name(&self) -> String {
        format!("{}, {}", self.of.name(), self.what)
    }
    fn len(&self) -> usize {
        self.indices.len()
    }
    fn input(&self) -> InputSpec {
        self.of.input()
    }
    fn classes(&self) -> usize {
        self.of.classes()
    }
    fn batch(&self, indices: &[usize], augment: Option<u64>) -> Result<Batch, DataError> {
        let own: Vec<usize> = indices.iter().map(|i| self.indices[*i]).collect();
        self.of.batch(&own, augment)
    }
    fn scaling(&self) -> Option<Scaling> {
        self.of.scaling()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::stripes::Stripes;

    #[test]
    fn parts_are_apart_and_all() {
        let (data, _) = Stripes::pair(103, 1);
        let (rest, held) = Part::split(&data, 0.1);
        assert_eq!((rest.len(), held.len()), (93, 10));
        let mut all = [rest.indices.clone(), held.indices.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..103).collect::<Vec<_>>());
        assert_eq!(
            held.batch(&[3], None).unwrap(),
            data.batch(&[held.indices[3]], None).unwrap()
        );
        assert_eq!(Part::split(&data, 0.0).1.len(), 0);
    }
}
