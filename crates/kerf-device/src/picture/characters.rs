//! Accuracy against throughput, drawn with characters.
//!
//! To the right is faster, upwards is more accurate. Operations that fall on one place share a
//! letter.
use super::{Point, caution, points, range, short_number};
use crate::profile::DeviceProfile;

/// Columns of the plot, and the most lines.
const COLUMNS: usize = 64;
const LINES: usize = 18;
/// Every so many lines there is a number.
const LABELLED: usize = 4;
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The plot with its legend; `None` where nothing can be drawn.
pub fn characters(p: &DeviceProfile) -> Option<String> {
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
    let cells = cells(&all, |p| (column_of(p.throughput), line_of(p.bits)));
    let mut grid = vec![vec![' '; COLUMNS]; line_of(y.1) + 1];
    for (i, c) in cells.iter().enumerate() {
        grid[c.0.1][c.0.0] = letter(i);
    }
    let mut out = String::from("  correct bits\n");
    for (i, line) in grid.iter().enumerate().rev() {
        let label = match i % LABELLED {
            0 => short_number(y.0 + i as f64 * bits_per_line),
            _ => String::new(),
        };
        let line: String = line.iter().collect();
        out += &format!("{label:>6} |{}\n", line.trim_end());
    }
    out += &format!("       +{}\n", "-".repeat(COLUMNS));
    out += &format!("        {}\n", x_labels(x));
    out += &format!("        {:>COLUMNS$}\n", "results per clock per SM");
    Some(out + &legend(&cells))
}

/// Operations at one place of the grid: its column and line.
type Cell<'p> = ((usize, usize), Vec<&'p Point>);

/// Places with operations, by accuracy and then speed, as one reads the picture.
fn cells(all: &[Point], place: impl Fn(&Point) -> (usize, usize)) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell> = Vec::new();
    for p in all {
        let at = place(p);
        match cells.iter_mut().find(|c| c.0 == at) {
            Some(c) => c.1.push(p),
            None => cells.push((at, vec![p])),
        }
    }
    cells.sort_by_key(|c| std::cmp::Reverse((c.0.1, c.0.0)));
    cells
}

fn letter(i: usize) -> char {
    LETTERS.chars().nth(i).unwrap_or('*')
}

fn legend(cells: &[Cell]) -> String {
    let mut out = String::new();
    for (i, c) in cells.iter().enumerate() {
        let first = c.1[0];
        let keys: Vec<_> = c.1.iter().map(|p| p.key.as_str()).collect();
        out += &format!(
            "  {}  {:>5.1} bits{:<11}  {:>6} /clk  {}\n",
            letter(i),
            first.bits,
            caution(first.measure),
            short_number(first.throughput),
            keys.join(" ")
        );
    }
    out
}

/// Powers of two under the axis, where there is room for them.
fn x_labels((low, high): (f64, f64)) -> String {
    let mut line = String::new();
    for e in low as i32..=high as i32 {
        let at = (f64::from(e) - low) / (high - low) * (COLUMNS - 1) as f64;
        let at = at.round() as usize;
        let label = short_number(2f64.powi(e));
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
        for b in crate::bundled::BUNDLED {
            let p = b.load().expect(b.name);
            let n = points(&p).len();
            let Some(t) = characters(&p) else {
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
}
