//! Small curves of all workloads in one picture: time in blue, error in red, each over its largest.
use kerf_svg::{Svg, polyline, rect, text};
use kerf_tune::tradeoff::{Tradeoff, time_at};

const COLUMNS: usize = 4;
const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 165.0;
const LEFT: f64 = 34.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 28.0;

/// A curve over its largest value; none where it has none.
fn draw_curve(svg: &mut Svg, points: &[(f64, f64)], colour: &str) {
    let most = points.iter().map(|p| p.1).fold(0.0, f64::max);
    if most.is_nan() || most <= 0.0 {
        return;
    }
    let (w, h) = (WIDTH - LEFT - 10.0, HEIGHT - TOP - BOTTOM);
    let place = |(x, y): &(f64, f64)| (LEFT + x * w, TOP + h * (1.0 - y / most));
    let curve = polyline(points.iter().map(place)).stroke(colour);
    svg.add(curve.stroke_width(1.6));
}

/// One workload's curves in their frame.
fn draw_panel(svg: &mut Svg, t: &Tradeoff) {
    let (w, h) = (WIDTH - LEFT - 10.0, HEIGHT - TOP - BOTTOM);
    let degrees = &t.swept.degrees;
    let gain = degrees.len().checked_sub(1);
    let gain = gain.and_then(|last| time_at(&t.swept, last));
    let gain = gain.map_or_else(String::new, |g| format!(", {:.2}x", 1.0 / g));
    svg.add(text(LEFT, 14.0, &t.name).bold());
    let words = format!("error {:.1e}{gain}", t.swept.cheap_error.mean_rel);
    svg.add(text(LEFT, 24.0, &words).fill("#57534e"));
    svg.add(rect(LEFT, TOP, w, h).fill("none").stroke("#d6d3d1"));
    for (at, word) in [(0.0, "0"), (0.5, "1/2"), (1.0, "1")] {
        svg.add(text(LEFT + at * w, HEIGHT - BOTTOM + 14.0, word).middle());
    }
    let timed = degrees
        .iter()
        .filter_map(|d| Some((d.lambda, d.times.as_ref()?.median_s)));
    let times: Vec<(f64, f64)> = timed.collect();
    let errors: Vec<(f64, f64)> = degrees
        .iter()
        .map(|d| (d.lambda, d.error.mean_rel))
        .collect();
    draw_curve(svg, &times, "#1d4ed8");
    draw_curve(svg, &errors, "#b91c1c");
}

/// The picture.
pub fn svg(all: &[Tradeoff]) -> String {
    let rows = all.len().div_ceil(COLUMNS).max(1);
    let (width, height) = (COLUMNS as f64 * WIDTH, rows as f64 * HEIGHT + 40.0);
    let mut svg = Svg::new(width, height, 10.0);
    let title = "Time (blue) and mean relative error (red) against the part of the warps that is approximate, each over its largest";
    svg.add(text(10.0, 18.0, title).font_size(12.0).bold());
    for (i, t) in all.iter().enumerate() {
        let x = (i % COLUMNS) as f64 * WIDTH;
        let y = 30.0 + (i / COLUMNS) as f64 * HEIGHT;
        svg.group(x, y, |svg| draw_panel(svg, t));
    }
    svg.finish()
}
