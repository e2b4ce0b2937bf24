//! Where the error of an output lies: how many elements have how much, which have most, and a map.
use crate::dd::Dd;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::LazyLock;

/// Elements that are named.
const NAMED: usize = 16;

/// Cells of a map along an edge, at most.
const EDGE: usize = 64;

/// Elements that one core looks at, at least.
const SMALL: usize = 1 << 16;

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

/// How elements lie in the cells of a map.
#[derive(Clone, Copy, Debug)]
pub struct ErrorCells {
    /// Rows of cells.
    pub rows: usize,
    /// Cells in a row.
    pub columns: usize,
    /// Extent of the output that the rows divide.
    pub height: usize,
    /// Extent that the columns divide.
    pub width: usize,
}

impl ErrorCells {
    /// Of so many elements with these extents, the last one contiguous.
    pub fn new(count: usize, shape: &[usize]) -> ErrorCells {
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
        ErrorCells {
            rows,
            columns,
            height,
            width,
        }
    }

    /// The cell of an element.
    fn holding(&self, i: usize) -> usize {
        let row = (i / self.width) * self.rows / self.height;
        row * self.columns + (i % self.width) * self.columns / self.width
    }
}

/// The first of the half decades that errors are counted by: that of the smallest number.
pub const FIRST_HALF_DECADE: i32 = -647;

/// Where half decades begin: the powers of the square root of ten from [`FIRST_HALF_DECADE`] on.
pub fn half_decades() -> &'static [f64] {
    static ALL: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let all = (FIRST_HALF_DECADE..).map(|d| 10f64.powf(f64::from(d) / 2.0));
        all.take_while(|x| x.is_finite()).collect()
    });
    &ALL
}

/// An element among the worst.
#[derive(Clone, Copy, Debug)]
pub struct NamedError {
    /// Its relative error.
    pub error: f64,
    /// Its position.
    pub index: usize,
    /// Its value.
    pub got: f64,
    /// Its reference.
    pub reference: f64,
}

/// What was seen of some of the elements.
#[derive(Debug)]
pub struct ScatterParts {
    /// The largest error of each cell.
    pub cells: Vec<f64>,
    /// Errors by half decade, from the first on.
    pub halves: Vec<usize>,
    /// Elements without any error.
    pub exact: usize,
    /// Elements whose error is infinite.
    pub infinite: usize,
    worst: Vec<NamedError>,
}

impl ScatterParts {
    /// Before anything was seen.
    pub fn nothing(cells: &ErrorCells) -> ScatterParts {
        ScatterParts {
            cells: vec![0.0; cells.rows * cells.columns],
            halves: vec![0; half_decades().len()],
            exact: 0,
            infinite: 0,
            worst: Vec::new(),
        }
    }

    /// Looks at elements from `first` on.
    fn looking_at(
        first: usize,
        got: &[f64],
        reference: &[Dd],
        floor: f64,
        cells: &ErrorCells,
    ) -> ScatterParts {
        let mut seen = ScatterParts::nothing(cells);
        let limits = half_decades();
        for (k, (x, r)) in got.iter().zip(reference).enumerate() {
            let index = first + k;
            let error = relative(*x, *r, floor);
            let cell = &mut seen.cells[cells.holding(index)];
            *cell = cell.max(error);
            if error == 0.0 {
                seen.exact += 1;
                continue;
            }
            match error.is_finite() {
                true => seen.halves[limits.partition_point(|l| *l <= error) - 1] += 1,
                false => seen.infinite += 1,
            }
            seen.name(NamedError {
                error,
                index,
                got: *x,
                reference: r.to_f64(),
            });
        }
        seen
    }

    /// Takes an element among the worst where it is one; of equal ones the first that comes stays.
    pub fn name(&mut self, n: NamedError) {
        if self.worst.len() < NAMED || self.worst.last().is_some_and(|w| n.error > w.error) {
            let at = self.worst.partition_point(|w| w.error >= n.error);
            self.worst.insert(at, n);
            self.worst.truncate(NAMED);
        }
    }

    /// What the worst elements have at least, as far as cells tell: the error of so many cells.
    pub fn least_of_worst(&self) -> f64 {
        let mut most = self.cells.clone();
        most.sort_by(|a, b| b.total_cmp(a));
        let least = most.get(NAMED - 1).copied().unwrap_or(0.0);
        least.max(f64::from_bits(1))
    }

    /// Takes in what was seen of later elements.
    fn join(&mut self, later: ScatterParts) {
        for (a, b) in self.cells.iter_mut().zip(later.cells) {
            *a = a.max(b);
        }
        for (a, b) in self.halves.iter_mut().zip(later.halves) {
            *a += b;
        }
        self.exact += later.exact;
        self.infinite += later.infinite;
        later.worst.into_iter().for_each(|n| self.name(n));
    }

    /// What was seen of all of so many elements.
    pub fn finish(self, count: usize, cells: &ErrorCells) -> Scatter {
        let finite = |x: f64| x.is_finite().then_some(x);
        let named = self.worst.into_iter().map(|n| WorstElement {
            index: n.index,
            error: finite(n.error),
            got: finite(n.got),
            reference: finite(n.reference),
        });
        let halves = (FIRST_HALF_DECADE..).zip(self.halves);
        Scatter {
            count,
            exact: self.exact,
            infinite: self.infinite,
            halves_of_decades: halves.filter(|(_, n)| *n > 0).collect(),
            worst: named.collect(),
            map: ErrorMap {
                rows: cells.rows,
                columns: cells.columns,
                height: cells.height,
                width: cells.width,
                cells: self
                    .cells
                    .into_iter()
                    .map(|e| finite(e).map(short))
                    .collect(),
            },
        }
    }
}

/// A [`Scatter`] of elements that come in parts, in order.
pub struct ScatterBuilder {
    count: usize,
    floor: f64,
    cells: ErrorCells,
    seen: ScatterParts,
    next: usize,
}

impl ScatterBuilder {
    /// For so many elements. `shape` gives the extents, the last one contiguous.
    pub fn new(count: usize, floor: f64, shape: &[usize]) -> ScatterBuilder {
        let cells = ErrorCells::new(count, shape);
        ScatterBuilder {
            count,
            floor,
            seen: ScatterParts::nothing(&cells),
            cells,
            next: 0,
        }
    }

    /// Looks at the next `count` elements, on all cores: `part` gives the values and references of some of them, by their
    /// numbers among these.
    pub fn add(&mut self, count: usize, part: impl Fn(Range<usize>) -> (Vec<f64>, Vec<Dd>) + Sync) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let each = count.div_ceil(cores).max(SMALL);
        let (cells, floor, next) = (&self.cells, self.floor, self.next);
        let part = &part;
        let look = move |first: usize| {
            let (got, reference) = part(first..(first + each).min(count));
            ScatterParts::looking_at(next + first, &got, &reference, floor, cells)
        };
        let parts: Vec<ScatterParts> = std::thread::scope(|s| {
            let starts = (0..count).step_by(each);
            let threads: Vec<_> = starts.map(|first| s.spawn(move || look(first))).collect();
            let ended = threads.into_iter().map(|t| t.join());
            ended
                .map(|seen| seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        parts.into_iter().for_each(|seen| self.seen.join(seen));
        self.next += count;
    }

    /// What was seen.
    pub fn finish(self) -> Scatter {
        self.seen.finish(self.count, &self.cells)
    }
}

/// Looks at the errors of `got`. `shape` gives the extents, the last one contiguous.
pub fn scatter(got: &[f64], reference: &[Dd], floor: f64, shape: &[usize]) -> Scatter {
    let count = got.len().min(reference.len());
    let mut b = ScatterBuilder::new(count, floor, shape);
    b.add(count, |r| (got[r.clone()].to_vec(), reference[r].to_vec()));
    b.finish()
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
