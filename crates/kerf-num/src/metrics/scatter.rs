//! Where the error of an output lies: how many elements have how much, which have most, and a map.
use crate::dd::Dd;
use serde::{Deserialize, Serialize};

/// Elements that are named.
const NAMED: usize = 16;

/// Cells of a map along an edge, at most.
const EDGE: usize = 64;

/// An element with much error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstElement {
    /// Position in the output.
    pub index: usize,
    /// Relative error; none if it is infinite.
    pub error: Option<f64>,
    /// The value there; none if it is not finite.
    pub got: Option<f64>,
    /// The reference; none if it is not finite.
    pub reference: Option<f64>,
}

/// The largest error by place: rows of cells, each of which stands for neighbouring elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorMap {
    /// Rows of cells.
    pub rows: usize,
    /// Cells in a row.
    pub columns: usize,
    /// Extent of the output that the rows divide; 1 if the output is taken as one row.
    pub height: usize,
    /// Extent that the columns divide.
    pub width: usize,
    /// Largest relative error in each cell, row by row; none if it is infinite.
    pub cells: Vec<Option<f64>>,
}

/// How the relative error is spread over an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// Elements.
    pub count: usize,
    /// Elements without any error.
    pub exact: usize,
    /// Elements whose error is infinite: NaN or infinity on one side only.
    pub infinite: usize,
    /// Elements by decade: `(d, n)` says that n errors are in `[10^(d/2), 10^((d+1)/2))`, ascending.
    pub halves_of_decades: Vec<(i32, usize)>,
    /// The elements with the largest errors, the worst first.
    pub worst: Vec<WorstElement>,
    /// By place.
    pub map: ErrorMap,
}

/// `|got - reference| / max(|reference|, floor)`, as [`super::compare`] has it.
fn relative(got: f64, reference: Dd, floor: f64) -> f64 {
    let same = got == reference.hi || got.is_nan() && reference.is_nan();
    if !got.is_finite() || !reference.is_finite() {
        return if same { 0.0 } else { f64::INFINITY };
    }
    let abs = Dd::from_f64(got).sub(reference).abs().to_f64();
    match abs == 0.0 {
        true => 0.0,
        false => abs / reference.to_f64().abs().max(floor),
    }
}

/// Three digits, which is more than a colour shows.
fn short(e: f64) -> f64 {
    format!("{e:.2e}").parse().unwrap_or(e)
}

/// Looks at the errors of `got` one by one. `shape` gives the extents, the last one contiguous.
pub fn scatter(got: &[f64], reference: &[Dd], floor: f64, shape: &[usize]) -> Scatter {
    let finite = |x: f64| x.is_finite().then_some(x);
    let count = got.len().min(reference.len());
    let width = match shape.last() {
        Some(w) if shape.len() > 1 && *w > 0 && shape.iter().product::<usize>() == count => *w,
        _ => count.max(1),
    };
    let height = count.div_ceil(width).max(1);
    let (rows, columns) = match height {
        // One long row is folded, so that a place can be seen.
        1 => (1, width.min(EDGE * 4)),
        _ => (height.min(EDGE), width.min(EDGE)),
    };
    let mut cells = vec![0.0f64; rows * columns];
    let mut halves = std::collections::BTreeMap::new();
    let (mut exact, mut infinite) = (0, 0);
    let mut worst: Vec<(f64, usize)> = Vec::new();
    for i in 0..count {
        let e = relative(got[i], reference[i], floor);
        let cell = (i / width) * rows / height * columns + (i % width) * columns / width;
        cells[cell] = cells[cell].max(e);
        if e == 0.0 {
            exact += 1;
            continue;
        }
        match finite(e) {
            Some(e) => *halves.entry((2.0 * e.log10()).floor() as i32).or_insert(0) += 1,
            None => infinite += 1,
        }
        if worst.len() < NAMED || worst.last().is_some_and(|w| e > w.0) {
            let at = worst.partition_point(|w| w.0 >= e);
            worst.insert(at, (e, i));
            worst.truncate(NAMED);
        }
    }
    let named = worst.into_iter().map(|(e, index)| WorstElement {
        index,
        error: finite(e),
        got: finite(got[index]),
        reference: finite(reference[index].to_f64()),
    });
    Scatter {
        count,
        exact,
        infinite,
        halves_of_decades: halves.into_iter().collect(),
        worst: named.collect(),
        map: ErrorMap {
            rows,
            columns,
            height,
            width,
            cells: cells.into_iter().map(|e| finite(e).map(short)).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dd(v: &[f64]) -> Vec<Dd> {
        v.iter().map(|x| Dd::from_f64(*x)).collect()
    }

    #[test]
    fn every_element_is_in_one_bin() {
        let reference: Vec<f64> = (1..=1000).map(f64::from).collect();
        let mut got: Vec<f64> = reference
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 + 10f64.powi(-(i as i32 % 12) - 2)))
            .collect();
        got[10] = reference[10];
        got[20] = f64::NAN;
        let s = scatter(&got, &dd(&reference), 0.0, &[1000]);
        let binned: usize = s.halves_of_decades.iter().map(|b| b.1).sum();
        assert_eq!(s.exact + s.infinite + binned, 1000);
        assert_eq!((s.exact, s.infinite), (1, 1));
        assert_eq!(s.worst.len(), NAMED);
        assert_eq!((s.worst[0].index, s.worst[0].error), (20, None));
        assert!(s.worst[1..].windows(2).all(|w| w[0].error >= w[1].error));
    }

    #[test]
    fn the_map_shows_the_place() {
        let n = 200 * 300;
        let reference = vec![1.0; n];
        let mut got = reference.clone();
        got[150 * 300 + 30] = 1.5;
        let s = scatter(&got, &dd(&reference), 0.0, &[200, 300]);
        assert_eq!((s.map.rows, s.map.columns), (64, 64));
        let hot: Vec<usize> = (0..64 * 64)
            .filter(|c| s.map.cells[*c] != Some(0.0))
            .collect();
        assert_eq!(hot, [150 * 64 / 200 * 64 + 30 * 64 / 300]);
    }

    #[test]
    fn a_floor_and_empty_outputs() {
        let s = scatter(&[0.25], &dd(&[0.0]), 0.5, &[1]);
        assert_eq!(s.worst[0].error, Some(0.5));
        let s = scatter(&[], &[], 0.0, &[0]);
        assert_eq!((s.count, s.map.cells.len()), (0, 1));
    }
}
