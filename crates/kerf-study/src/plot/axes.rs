//! One panel's axes, lines and markers.
use super::{Panel, PlotAxis};
use kerf_svg::{Element, Svg, circle, line, path, polyline, rect, text, upright_text};

pub(super) const WIDTH: f64 = 460.0;
pub(super) const HEIGHT: f64 = 330.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 52.0;
pub(super) const HEAD: f64 = 34.0;

/// Colour, dashes and marker of a label: the word decides the hue, the variant the dashes. Labels that
/// are no number types take colours in turn.
pub(super) fn style(label: &str, index: usize) -> (&'static str, &'static str, &'static str) {
    match label {
        "float" => ("#c2410c", "", "circle"),
        "float2" => ("#ea9a3e", "", "square"),
        "float2_cmp" | "float2_cmp_bf" => ("#b91c5c", "5 3", "square"),
        "float2_ts" => ("#ea9a3e", "1 3", "cross"),
        "float2_cmp_ts" => ("#b91c5c", "1 3", "cross"),
        "double" => ("#1d4ed8", "", "circle"),
        "double2" => ("#0e9488", "", "square"),
        "double2_cmp" | "double2_cmp_bf" => ("#7c3aed", "5 3", "square"),
        "double2_ts" => ("#0e9488", "1 3", "cross"),
        "double2_cmp_ts" => ("#7c3aed", "1 3", "cross"),
        _ => {
            const TURN: [&str; 6] = [
                "#1d4ed8", "#c2410c", "#0e9488", "#7c3aed", "#b91c5c", "#57534e",
            ];
            (TURN[index % TURN.len()], "", "circle")
        }
    }
}

pub(super) fn marker(kind: &str, x: f64, y: f64, colour: &str, hollow: bool) -> Element {
    let fill = if hollow { "#ffffff" } else { colour };
    match kind {
        "square" => rect(x - 3.0, y - 3.0, 6.0, 6.0).fill(fill).stroke(colour),
        "cross" => path(&format!("M{:.1} {:.1}l6 6m0 -6l-6 6", x - 3.0, y - 3.0))
            .stroke(colour)
            .stroke_width(1.6),
        _ => circle(x, y, 3.2).fill(fill).stroke(colour),
    }
}

/// `10^n` at a place, with a raised exponent; small powers plainly.
fn power(x: f64, y: f64, n: i32) -> Element {
    match n {
        0 => text(x, y, "1"),
        1 => text(x, y, "10"),
        2 => text(x, y, "100"),
        _ => text(x, y, "10").exponent(n),
    }
}

/// A size in few letters: 1000000 is 10^6, 65536 is 64Ki.
fn size(x: f64) -> String {
    let n = x as u64;
    match n {
        _ if x.fract() != 0.0 => format!("{x}"),
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{}Mi", n >> 20),
        n if n >= 1 << 14 && n.is_multiple_of(1 << 10) => format!("{}Ki", n >> 10),
        n if n >= 1_000_000 && n.is_multiple_of(100_000) => format!("{}M", n as f64 / 1e6),
        n if n >= 10_000 && n.is_multiple_of(1000) => format!("{}k", n / 1000),
        n => n.to_string(),
    }
}

/// Names of cases on two lines, so that they do not run into each other: two intervals one below the
/// other, long names broken at a space, or else every other name on the lower line.
fn two_lines(names: &[String], room: f64) -> Vec<Vec<&str>> {
    let wide = |n: &str| n.chars().count() as f64 * 6.2 > room;
    let broken: Vec<Vec<&str>> = names
        .iter()
        .map(|n| match (n.split_once(" & "), n.split_once(' ')) {
            (Some((a, b)), _) => vec![a, b],
            (_, Some((a, b))) if wide(n) => vec![a, b],
            _ => vec![n.as_str()],
        })
        .collect();
    if broken.iter().flatten().any(|n| wide(n)) {
        return names
            .iter()
            .enumerate()
            .map(|(i, n)| match i % 2 {
                0 => vec![n.as_str()],
                _ => vec!["", n.as_str()],
            })
            .collect();
    }
    broken
}

pub(super) struct Axes<'a> {
    panel: &'a Panel,
    /// Decades of the value axis; values of zero lie one step below.
    low: i32,
    high: i32,
    zeros: bool,
    span: (f64, f64),
}

impl Axes<'_> {
    pub(super) fn new(panel: &Panel) -> Axes<'_> {
        let all = || panel.series.iter().flat_map(|s| s.points.iter());
        let drawn = |v: &f64| v.is_finite() && *v > 0.0;
        let low = all()
            .map(|p| p.1)
            .filter(drawn)
            .fold(f64::INFINITY, f64::min);
        let high = all().map(|p| p.1).filter(drawn).fold(0.0, f64::max);
        let (low, high) = match high > 0.0 {
            true => (low.log10().floor() as i32, high.log10().ceil() as i32),
            false => (-1, 0),
        };
        let scale = |x: f64| match panel.x.1 {
            PlotAxis::Log => x.max(1e-300).log10(),
            _ => x,
        };
        let from = all().map(|p| scale(p.0)).fold(f64::INFINITY, f64::min);
        let to = all().map(|p| scale(p.0)).fold(f64::NEG_INFINITY, f64::max);
        let span = match &panel.x.1 {
            PlotAxis::Cases(c) => (-0.5, c.len() as f64 - 0.5),
            _ if to > from => {
                let room = 0.04 * (to - from);
                (from - room, to + room)
            }
            _ => (from - 1.0, from + 1.0),
        };
        Axes {
            panel,
            low,
            high: high.max(low + 1),
            zeros: all().any(|p| p.1 == 0.0),
            span,
        }
    }

    fn x(&self, at: f64) -> f64 {
        let at = match self.panel.x.1 {
            PlotAxis::Log => at.max(1e-300).log10(),
            _ => at,
        };
        let (a, b) = self.span;
        LEFT + (WIDTH - LEFT - RIGHT) * (at - a) / (b - a)
    }

    /// Where a value of zero is drawn: on the frame's lower edge.
    fn floor(&self) -> f64 {
        HEIGHT - BOTTOM
    }

    fn y(&self, v: f64) -> f64 {
        if v <= 0.0 {
            return self.floor();
        }
        let below = if self.zeros { 14.0 } else { 0.0 };
        let bottom = self.floor() - below;
        let decades = f64::from(self.high - self.low);
        let up = (v.log10() - f64::from(self.low)).clamp(0.0, decades) / decades;
        bottom - (bottom - TOP) * up
    }

    pub(super) fn frame(&self, svg: &mut Svg) {
        let (l, r, b) = (LEFT, WIDTH - RIGHT, self.floor());
        let middle = (l + r) / 2.0;
        svg.add(text(middle, 20.0, &self.panel.title).middle().bold());
        // At most about eight labels.
        let step = ((self.high - self.low) as f64 / 8.0).ceil().max(1.0) as i32;
        for d in (self.low..=self.high).step_by(step as usize) {
            let y = self.y(10f64.powi(d));
            svg.add(line((l, y), (r, y)).stroke("#e5e7eb"));
            svg.add(power(l - 6.0, y + 4.0, d).end());
        }
        if self.zeros {
            svg.add(text(l - 6.0, b + 4.0, "0").end());
        }
        let border = rect(l, TOP, r - l, b - TOP);
        svg.add(border.fill("none").stroke("#6b7280"));
        self.ticks(svg);
        svg.add(text(middle, HEIGHT - 10.0, &self.panel.x.0).middle());
        svg.add(upright_text(14.0, (TOP + b) / 2.0, &self.panel.y));
    }

    /// Places along the axis, with their names.
    fn ticks(&self, svg: &mut Svg) {
        let b = self.floor();
        let mut tick = |at: f64, lines: &[&str]| {
            let x = self.x(at);
            svg.add(line((x, b), (x, b + 4.0)).stroke("#6b7280"));
            for (y, part) in [b + 15.0, b + 27.0].iter().zip(lines) {
                svg.add(text(x, *y, part).middle());
            }
        };
        if let PlotAxis::Cases(c) = &self.panel.x.1 {
            for (i, lines) in two_lines(c, self.x(1.0) - self.x(0.0)).iter().enumerate() {
                tick(i as f64, lines);
            }
            return;
        }
        let points = self.panel.series.iter().flat_map(|s| &s.points);
        let mut at: Vec<f64> = points.map(|p| p.0).collect();
        at.sort_by(f64::total_cmp);
        at.dedup();
        let mut last = f64::NEG_INFINITY;
        for x in at {
            // Labels must not run into each other.
            if self.x(x) - last >= 34.0 {
                last = self.x(x);
                tick(x, &[&size(x)]);
            }
        }
    }

    pub(super) fn lines(&self, svg: &mut Svg) {
        let n = self.panel.series.len() as f64;
        let cases = matches!(self.panel.x.1, PlotAxis::Cases(_));
        for (i, s) in self.panel.series.iter().enumerate() {
            let (colour, dashes, kind) = style(&s.label, i);
            let drawn = |e: Element| e.stroke(colour).stroke_width(1.6).dashes(dashes);
            // Points of one case stand side by side.
            let shift = match cases {
                true => {
                    let one = self.x(1.0) - self.x(0.0);
                    (i as f64 - (n - 1.0) / 2.0) * one * 0.6 / n
                }
                false => 0.0,
            };
            let finite = s.points.iter().filter(|p| p.1.is_finite());
            let at: Vec<(f64, f64, f64)> = finite
                .map(|p| (self.x(p.0) + shift, self.y(p.1), p.1))
                .collect();
            if !cases && at.len() > 1 {
                svg.add(drawn(polyline(at.iter().map(|(x, y, _)| (*x, *y)))));
            }
            for (x, y, v) in at {
                if cases {
                    svg.add(drawn(line((x, self.floor()), (x, y))));
                }
                svg.add(marker(kind, x, y, colour, v == 0.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Series;
    use super::*;

    #[test]
    fn larger_values_lie_higher() {
        let p = Panel {
            title: String::new(),
            x: (String::new(), PlotAxis::Linear),
            y: String::new(),
            series: vec![Series {
                label: "a".into(),
                points: vec![(0.0, 1e-8), (1.0, 1e-2), (2.0, 0.0)],
            }],
        };
        let a = Axes::new(&p);
        assert!(a.y(1e-2) < a.y(1e-8) && a.y(1e-8) < a.y(0.0));
        assert!(a.x(0.0) < a.x(1.0));
    }

    #[test]
    fn names_of_cases_keep_apart() {
        let names = ["a & b", "long name", "x"].map(String::from);
        assert_eq!(two_lines(&names, 200.0)[1], ["long name"]);
        assert_eq!(two_lines(&names, 40.0)[1], ["long", "name"]);
        assert_eq!(two_lines(&names, 40.0)[0], ["a", "b"]);
        assert_eq!(two_lines(&names, 20.0)[1], ["", "long name"]);
    }
}
