//! Accuracy against throughput, drawn with characters.
//!
//! To the right is faster, upwards is more accurate. Operations that fall on one place share a
//! letter.
use super::marks::number;
use kerf_device::bits::{self, BitsMeasure};
use kerf_device::operation::{FunctionVariant, OperationClass, catalogue};
use kerf_device::profile::DeviceProfile;

/// Columns of the plot, and the most lines.
const COLUMNS: usize = 64;
const LINES: usize = 18;
/// Every so many lines there is a number.
const LABELLED: usize = 4;
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// An operation whose throughput and accuracy are both known.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Key of the operation.
    pub key: String,
    /// Its format.
    pub format: &'static str,
    /// Which implementation.
    pub variant: FunctionVariant,
    /// Correct bits.
    pub bits: f64,
    /// What the bits were taken from.
    pub measure: BitsMeasure,
    /// Results per clock per SM.
    pub throughput: f64,
}

/// All points of a profile, in the order of the catalogue.
pub fn points(p: &DeviceProfile) -> Vec<Point> {
    let point = |o: kerf_device::operation::Operation| {
        let known = p.operations.get(&o.key)?;
        let b = bits::correct(known.accuracy.as_ref()?, o.format)?;
        let throughput = known.throughput.value.filter(|t| *t > 0.0)?;
        Some(Point {
            key: o.key,
            format: o.format,
            variant: o.variant,
            // A mean error can be worse than no bits at all.
            bits: b.bits.max(0.0),
            measure: b.measure,
            throughput,
        })
    };
    catalogue()
        .into_iter()
        .filter(|o| {
            matches!(
                o.class,
                OperationClass::Arithmetic | OperationClass::Function
            )
        })
        .filter_map(point)
        .collect()
}

/// Ends of an axis that hold all values: logarithms to base 2 for throughput, multiples of four
/// for bits.
pub fn range(values: impl Iterator<Item = f64>, step: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let low = (low / step).floor() * step;
    let high = (high / step).ceil() * step;
    (low, if high > low { high } else { low + step })
}

/// Why bits of this kind are no worst case, for legends.
pub fn caution(m: BitsMeasure) -> &'static str {
    match m {
        BitsMeasure::Relative => "",
        BitsMeasure::Absolute => " (absolute)",
        BitsMeasure::Mean => " (mean)",
    }
}

/// The plot with its legend; `None` where nothing can be drawn.
pub fn text(p: &DeviceProfile) -> Option<String> {
    let all = points(p);
    if all.is_empty() {
        return None;
    }
    let x = range(all.iter().map(|p| p.throughput.log2()), 1.0);
    let y = range(all.iter().map(|p| p.bits), 4.0);
    // Half bits a line, so that the numbers beside the axis are whole.
    let bits_per_line = ((y.1 - y.0) / (LINES - 1) as f64 * 2.0).ceil() / 2.0;
    let line_of = |bits: f64| ((bits - y.0) / bits_per_line).round() as usize;
    let column_of = |throughput: f64| {
        let along = (throughput.log2() - x.0) / (x.1 - x.0);
        (along * (COLUMNS - 1) as f64).round() as usize
    };
    let mut cells: Vec<((usize, usize), Vec<&Point>)> = Vec::new();
    for p in &all {
        let at = (column_of(p.throughput), line_of(p.bits));
        match cells.iter_mut().find(|c| c.0 == at) {
            Some(c) => c.1.push(p),
            None => cells.push((at, vec![p])),
        }
    }
    // Letters go by accuracy, then speed, as one reads the picture.
    cells.sort_by_key(|c| std::cmp::Reverse((c.0.1, c.0.0)));
    let letter = |i: usize| LETTERS.chars().nth(i).unwrap_or('*');
    let mut grid = vec![vec![' '; COLUMNS]; line_of(y.1) + 1];
    for (i, c) in cells.iter().enumerate() {
        grid[c.0.1][c.0.0] = letter(i);
    }
    let mut out = String::from("  correct bits\n");
    for (i, line) in grid.iter().enumerate().rev() {
        let label = match i % LABELLED {
            0 => number(y.0 + i as f64 * bits_per_line),
            _ => String::new(),
        };
        let line: String = line.iter().collect();
        out += &format!("{label:>6} |{}\n", line.trim_end());
    }
    out += &format!("       +{}\n", "-".repeat(COLUMNS));
    out += &format!("        {}\n", x_labels(x));
    out += &format!("        {:>COLUMNS$}\n", "results per clock per SM");
    for (i, c) in cells.iter().enumerate() {
        let first = c.1[0];
        let keys: Vec<_> = c.1.iter().map(|p| p.key.as_str()).collect();
        out += &format!(
            "  {}  {:>5.1} bits{:<11}  {:>6} /clk  {}\n",
            letter(i),
            first.bits,
            caution(first.measure),
            number(first.throughput),
            keys.join(" ")
        );
    }
    Some(out)
}

/// Powers of two under the axis, where there is room for them.
fn x_labels((low, high): (f64, f64)) -> String {
    let mut line = String::new();
    for e in low as i32..=high as i32 {
        let at = (f64::from(e) - low) / (high - low) * (COLUMNS - 1) as f64;
        let at = at.round() as usize;
        let label = number(2f64.powi(e));
        if at >= line.len() + usize::from(!line.is_empty()) && at + label.len() <= COLUMNS + 4 {
            line += &" ".repeat(at - line.len());
            line += &label;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_its_place() {
        for b in kerf_device::bundled::BUNDLED {
            let p = b.load().expect(b.name);
            let n = points(&p).len();
            let Some(t) = text(&p) else {
                assert_eq!(n, 0, "{}", b.name);
                continue;
            };
            let legend: usize = points(&p)
                .iter()
                .filter(|q| t.split_whitespace().any(|w| w == q.key))
                .count();
            assert_eq!(legend, n, "{}\n{t}", b.name);
            let drawing = t.split("results per clock").next().unwrap_or_default();
            assert!(drawing.lines().all(|l| l.chars().count() <= 80), "{t}");
        }
    }

    #[test]
    fn an_axis_has_a_length() {
        assert_eq!(range([3.0].into_iter(), 1.0), (3.0, 4.0));
        assert_eq!(range([20.5, 53.0].into_iter(), 4.0), (20.0, 56.0));
    }
}
