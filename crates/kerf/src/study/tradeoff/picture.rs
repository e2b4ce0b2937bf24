//! Small curves of all workloads in one picture: time in blue, error in red, each over its largest.
use kerf_tune::tradeoff::{Tradeoff, time_at};
use std::fmt::Write;

const COLUMNS: usize = 4;
const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 165.0;
const LEFT: f64 = 34.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 28.0;

fn path(points: &[(f64, f64)], colour: &str) -> String {
    let most = points.iter().map(|p| p.1).fold(0.0, f64::max);
    if most.is_nan() || most <= 0.0 {
        return String::new();
    }
    let (w, h) = (WIDTH - LEFT - 10.0, HEIGHT - TOP - BOTTOM);
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let step = if i == 0 { 'M' } else { 'L' };
        let _ = write!(
            d,
            "{step}{:.1} {:.1}",
            LEFT + x * w,
            TOP + h * (1.0 - y / most)
        );
    }
    format!("<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\n")
}

/// The picture.
pub fn svg(all: &[Tradeoff]) -> String {
    let rows = all.len().div_ceil(COLUMNS).max(1);
    let (width, height) = (COLUMNS as f64 * WIDTH, rows as f64 * HEIGHT + 40.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"10\" fill=\"#111827\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n<text x=\"10\" y=\"18\" font-size=\"12\" font-weight=\"bold\">Time (blue) and mean relative error (red) against the part of the warps that is approximate, each over its largest</text>\n"
    );
    for (i, t) in all.iter().enumerate() {
        let (x, y) = (
            (i % COLUMNS) as f64 * WIDTH,
            30.0 + (i / COLUMNS) as f64 * HEIGHT,
        );
        let (w, h) = (WIDTH - LEFT - 10.0, HEIGHT - TOP - BOTTOM);
        let own = t.swept.cheap_error.mean_rel;
        let gain = t
            .swept
            .degrees
            .len()
            .checked_sub(1)
            .and_then(|i| time_at(&t.swept, i));
        let gain = gain.map_or_else(String::new, |g| format!(", {:.2}x", 1.0 / g));
        let _ = writeln!(
            out,
            "<g transform=\"translate({x} {y})\">\n<text x=\"{LEFT}\" y=\"14\" font-weight=\"bold\">{}</text>\n<text x=\"{LEFT}\" y=\"24\" fill=\"#57534e\">error {own:.1e}{gain}</text>\n<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\" fill=\"none\" stroke=\"#d6d3d1\"/>",
            t.name.replace('&', "&amp;").replace('<', "&lt;")
        );
        for (at, word) in [(0.0, "0"), (0.5, "1/2"), (1.0, "1")] {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{word}</text>",
                LEFT + at * w,
                HEIGHT - BOTTOM + 14.0
            );
        }
        let times: Vec<(f64, f64)> = t
            .swept
            .degrees
            .iter()
            .filter_map(|d| Some((d.lambda, d.times.as_ref()?.median_s)))
            .collect();
        let errors: Vec<(f64, f64)> = t
            .swept
            .degrees
            .iter()
            .map(|d| (d.lambda, d.error.mean_rel))
            .collect();
        out += &path(&times, "#1d4ed8");
        out += &path(&errors, "#b91c1c");
        out += "</g>\n";
    }
    out + "</svg>\n"
}
