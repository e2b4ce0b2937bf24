//! Outputs against other outputs of the same workload: mean and largest relative error. Studies compare
//! millions of values hundreds of times, so it works on bytes and on all cores.
use kerf_num::Format;
use kerf_workload::elem::ElemType;
use kerf_workload::generate::perturb::format_of;
use kerf_workload::workload::Workload;
use serde::{Deserialize, Serialize};

/// Errors of all outputs together against those of another run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Deviation {
    /// Mean relative error.
    pub mean_rel: f64,
    /// Largest relative error.
    pub max_rel: f64,
    /// Values compared: those that are finite in both.
    pub compared: u64,
    /// Values that are NaN in both, or the same infinity: they say nothing of accuracy.
    #[serde(default)]
    pub special: u64,
    /// Values that are NaN or infinite in one of the two only.
    pub not_finite: u64,
    /// Integers that differ.
    pub integers: u64,
}

impl Deviation {
    fn number(&mut self, x: f64, y: f64, floor: f64) {
        let same = x == y || x.is_nan() && y.is_nan();
        if same && !x.is_finite() {
            self.special += 1;
        } else if same {
            self.compared += 1;
        } else if x.is_finite() && y.is_finite() {
            let rel = (y - x).abs() / x.abs().max(floor);
            self.compared += 1;
            self.max_rel = self.max_rel.max(rel);
            // The sum, until all are there.
            self.mean_rel += rel;
        } else {
            self.not_finite += 1;
        }
    }

    fn add(&mut self, o: &Deviation) {
        self.mean_rel += o.mean_rel;
        self.max_rel = self.max_rel.max(o.max_rel);
        self.compared += o.compared;
        self.special += o.special;
        self.not_finite += o.not_finite;
        self.integers += o.integers;
    }
}

/// One output and how it is read.
struct Layout<'w> {
    elem: &'w ElemType,
    floor: Option<f64>,
}

impl Layout<'_> {
    /// Sums over a piece.
    fn compare(&self, own: &[u8], got: &[u8]) -> Deviation {
        let mut d = Deviation::default();
        let scalars = self.elem.scalars();
        let floats = |f: Format| scalars.iter().all(|(_, s)| format_of(*s) == Some(f));
        let packed = scalars.iter().map(|(_, s)| s.bytes()).sum::<usize>() == self.elem.size();
        if packed && floats(Format::F32) {
            let floor = self.floor.unwrap_or(Format::F32.min_normal());
            let of = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            for (x, y) in own.chunks_exact(4).zip(got.chunks_exact(4)) {
                d.number(of(x), of(y), floor);
            }
            return d;
        }
        let size = self.elem.size();
        for (x, y) in own.chunks_exact(size).zip(got.chunks_exact(size)) {
            for (at, s) in &scalars {
                let n = s.bytes().min(8);
                let word = |b: &[u8]| {
                    let mut w = [0u8; 8];
                    w[..n].copy_from_slice(&b[*at..at + n]);
                    u64::from_le_bytes(w)
                };
                let (x, y) = (word(x), word(y));
                match format_of(*s) {
                    Some(f) => {
                        let floor = self.floor.unwrap_or(f.min_normal());
                        d.number(f.decode(x), f.decode(y), floor);
                    }
                    None => d.integers += u64::from(x != y),
                }
            }
        }
        d
    }
}

/// Bytes of an output, and the other's.
type Piece<'p> = (&'p Layout<'p>, (&'p [u8], &'p [u8]));

/// Elements that one core compares at a time. Sums are added in this order, so that they repeat.
const PIECE: usize = 1 << 18;

/// Outputs against others of the same workload, in the order of its outputs.
pub(super) fn deviation(w: &Workload, own: &[Vec<u8>], got: &[Vec<u8>]) -> Deviation {
    let outputs = w.buffers.iter().filter(|b| b.output);
    let mut pieces = Vec::new();
    let layouts: Vec<Layout> = outputs
        .map(|b| Layout {
            elem: &b.elem,
            floor: w.accept.criterion(&b.name).and_then(|c| c.floor),
        })
        .collect();
    for (l, (x, y)) in layouts.iter().zip(own.iter().zip(got)) {
        let step = PIECE * l.elem.size();
        pieces.extend(x.chunks(step).zip(y.chunks(step)).map(|p| (l, p)));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = pieces.len().div_ceil(cores).max(1);
    let sums: Vec<Deviation> = std::thread::scope(|s| {
        let of = |mine: &[Piece]| -> Vec<Deviation> {
            mine.iter().map(|(l, (x, y))| l.compare(x, y)).collect()
        };
        let all: Vec<_> = pieces
            .chunks(share)
            .map(|mine| s.spawn(move || of(mine)))
            .collect();
        all.into_iter()
            .flat_map(|t| t.join().unwrap_or_default())
            .collect()
    });
    let mut d = Deviation::default();
    for part in &sums {
        d.add(part);
    }
    d.mean_rel /= d.compared.max(1) as f64;
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_nan_are_not_compared() {
        let bytes = |v: &[f32]| -> Vec<u8> { v.iter().flat_map(|x| x.to_le_bytes()).collect() };
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        for name in ["f32", "f32x2"] {
            let elem = ElemType::parse(name).expect("a type");
            let layout = Layout {
                elem: &elem,
                floor: None,
            };
            let d = layout.compare(&bytes(&[nan, inf, 1.0, 2.0]), &bytes(&[nan, inf, 1.0, nan]));
            assert_eq!((d.compared, d.special, d.not_finite), (1, 2, 1), "{name}");
        }
    }
}
