//! Pictures of a run: lines over time, and histograms of activations, as SVG.
use crate::decision::Histogram;
use kerf_svg::{COLOURS, Svg, line, polyline, rect, text, upright_text};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// Dashes of lines after the first round of colours.
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Points.
    pub points: Vec<(f64, f64)>,
}

/// Round steps, about five of them.
fn ticks(lo: f64, hi: f64) -> Vec<f64> {
    let span = hi - lo;
    // Too near to each other for numbers between them.
    if span.is_nan() || span <= 1e-9 * lo.abs().max(hi.abs()) {
        return vec![lo];
    }
    let rough = span / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|s| *s >= rough);
    let step = step.unwrap_or(rough);
    let first = (lo / step).ceil() as i64;
    (first..)
        .map(|i| i as f64 * step)
        .take_while(|v| *v <= hi + 1e-9 * span)
        .take(20)
        .collect()
}

fn number(v: f64) -> String {
    match v {
        0.0 => "0".into(),
        v if v.abs() >= 1e5 || v.abs() < 1e-3 => format!("{v:.1e}"),
        v => {
            let text = format!("{v:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    svg: Svg,
}

impl Frame {
    fn new(title: &str, x_name: &str, y_name: &str, x: (f64, f64), y: (f64, f64)) -> Frame {
        let widen = |(lo, hi): (f64, f64)| match hi > lo {
            true => (lo, hi),
            false => (lo - 0.5, lo + 0.5),
        };
        let mut f = Frame {
            x: widen(x),
            y: widen(y),
            svg: Svg::new(WIDTH, HEIGHT, 12.0),
        };
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        f.svg.add(text(LEFT, 22.0, title).font_size(15.0));
        for v in ticks(f.x.0, f.x.1) {
            let p = f.px(v);
            f.svg.add(line((p, TOP), (p, bottom)).stroke("#eee"));
            f.svg.add(text(p, bottom + 16.0, &number(v)).middle());
        }
        for v in ticks(f.y.0, f.y.1) {
            let p = f.py(v);
            f.svg.add(line((LEFT, p), (right, p)).stroke("#eee"));
            f.svg.add(text(LEFT - 6.0, p + 4.0, &number(v)).end());
        }
        let corner = [(LEFT, TOP), (LEFT, bottom), (right, bottom)];
        f.svg.add(polyline(corner).stroke("black"));
        let (across, down) = ((LEFT + right) / 2.0, (TOP + bottom) / 2.0);
        f.svg.add(text(across, HEIGHT - 12.0, x_name).middle());
        f.svg.add(upright_text(16.0, down, y_name));
        f
    }
    fn px(&self, v: f64) -> f64 {
        LEFT + (v - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - RIGHT - LEFT)
    }
    fn py(&self, v: f64) -> f64 {
        HEIGHT - BOTTOM - (v - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - BOTTOM - TOP)
    }
}

/// Lines over one axis.
pub fn lines(title: &str, x_name: &str, y_name: &str, all: &[Line]) -> String {
    let points = || {
        all.iter()
            .flat_map(|l| &l.points)
            .filter(|p| p.1.is_finite())
    };
    let span = |of: fn(&(f64, f64)) -> f64| {
        let lo = points().map(of).fold(f64::INFINITY, f64::min);
        let hi = points().map(of).fold(f64::NEG_INFINITY, f64::max);
        if lo > hi { (0.0, 1.0) } else { (lo, hi) }
    };
    let mut f = Frame::new(title, x_name, y_name, span(|p| p.0), span(|p| p.1));
    let key = WIDTH - RIGHT + 12.0;
    for (i, l) in all.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let dashes = DASHES[i / COLOURS.len() % DASHES.len()];
        let finite = l.points.iter().filter(|p| p.1.is_finite());
        let path: Vec<(f64, f64)> = finite.map(|(x, y)| (f.px(*x), f.py(*y))).collect();
        let style =
            |e: kerf_svg::Element, width| e.stroke(colour).stroke_width(width).dashes(dashes);
        if !path.is_empty() {
            f.svg.add(style(polyline(path), 1.6));
        }
        let y = TOP + 14.0 * i as f64;
        f.svg.add(style(line((key, y), (key + 18.0, y)), 2.0));
        f.svg
            .add(text(key + 22.0, y + 4.0, &l.name).font_size(10.0));
    }
    f.svg.finish()
}

/// A histogram, with lines at values that 99.9 % of all are below and at the highest.
pub fn histogram(title: &str, h: &Histogram) -> String {
    const BARS: usize = 128;
    let h = h.spread(h.lo, h.hi, BARS);
    let most = h.counts.iter().copied().fold(1.0, f64::max);
    let logarithm = |n: f64| (1.0 + n).log10();
    let span = (f64::from(h.lo), f64::from(h.hi));
    let mut f = Frame::new(
        title,
        "value",
        "log10(1 + values)",
        span,
        (0.0, logarithm(most)),
    );
    let bottom = f.py(0.0);
    for (i, n) in h.counts.iter().enumerate() {
        let at = |k: usize| span.0 + h.width() * k as f64;
        let (a, b, top) = (f.px(at(i)), f.px(at(i + 1)), f.py(logarithm(*n)));
        let bar = rect(a, top, (b - a).max(0.5), bottom - top);
        f.svg.add(bar.fill("#56b4e9"));
    }
    let tail = h.tail(0.001);
    let x = f.px(tail);
    let limit = line((x, TOP), (x, bottom)).stroke("#d55e00");
    f.svg.add(limit.stroke_width(1.5));
    let key = WIDTH - RIGHT + 12.0;
    let below = format!("99.9 % below {}", number(tail));
    f.svg.add(text(key, TOP + 12.0, &below));
    let highest = format!("highest {}", number(span.1));
    f.svg.add(text(key, TOP + 28.0, &highest));
    f.svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_hold_what_they_should() {
        let line = Line {
            name: "a < b".into(),
            points: vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)],
        };
        let svg = lines("t", "x", "y", &[line]);
        assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
        assert!(!lines("t", "x", "y", &[]).contains("inf"));
        let h = Histogram::from_values(&[0.0, 1.0, 2.0, 2.0], 0.0, 2.0, 64);
        assert!(histogram("h", &h).contains("99.9 % below"));
        assert_eq!(ticks(0.0, 1.0).len(), 6);
        assert_eq!(ticks(3.0, 3.0).len(), 1);
    }
}
