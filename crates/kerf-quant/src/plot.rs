//! Pictures of a run: lines over time, and histograms of activations, as SVG.
use crate::decision::Histogram;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// Colours that differ also for people who see few of them (after Okabe and Ito), with dashes after the first round.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#555555",
];
const DASHES: [&str; 3] = ["none", "6 3", "2 3"];

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Points.
    pub points: Vec<(f64, f64)>,
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
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
    out: String,
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
            out: String::new(),
        };
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let _ = write!(
            f.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
            escape(title)
        );
        for v in ticks(f.x.0, f.x.1) {
            let p = f.px(v);
            let _ = writeln!(
                f.out,
                "<path d=\"M{p:.1} {TOP}V{bottom}\" stroke=\"#eee\"/><text x=\"{p:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                number(v)
            );
        }
        for v in ticks(f.y.0, f.y.1) {
            let p = f.py(v);
            let _ = writeln!(
                f.out,
                "<path d=\"M{LEFT} {p:.1}H{right}\" stroke=\"#eee\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                p + 4.0,
                number(v)
            );
        }
        let _ = writeln!(
            f.out,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 12.0,
            escape(x_name),
            (TOP + bottom) / 2.0,
            escape(y_name)
        );
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
    for (i, l) in all.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let dash = DASHES[i / COLOURS.len() % DASHES.len()];
        let mut path = String::new();
        for (x, y) in l.points.iter().filter(|p| p.1.is_finite()) {
            let letter = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", f.px(*x), f.py(*y));
        }
        let y = TOP + 14.0 * i as f64;
        let _ = writeln!(
            f.out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" stroke-dasharray=\"{dash}\"/>\n\
             <path d=\"M{} {y:.0}h18\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/><text x=\"{}\" y=\"{:.0}\" font-size=\"10\">{}</text>",
            WIDTH - RIGHT + 12.0,
            WIDTH - RIGHT + 34.0,
            y + 4.0,
            escape(&l.name)
        );
    }
    f.out + "</svg>\n"
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
        let _ = writeln!(
            f.out,
            "<rect x=\"{a:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#56b4e9\"/>",
            (b - a).max(0.5),
            bottom - top
        );
    }
    let tail = h.tail(0.001);
    let x = f.px(tail);
    let _ = writeln!(
        f.out,
        "<path d=\"M{x:.1} {TOP}V{bottom:.1}\" stroke=\"#d55e00\" stroke-width=\"1.5\"/><text x=\"{}\" y=\"{}\">99.9 % below {}</text>\
         <text x=\"{}\" y=\"{}\">highest {}</text>",
        WIDTH - RIGHT + 12.0,
        TOP + 12.0,
        number(tail),
        WIDTH - RIGHT + 12.0,
        TOP + 28.0,
        number(span.1)
    );
    f.out + "</svg>\n"
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
