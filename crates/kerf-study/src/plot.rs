//! Plots as SVG: panels side by side, a logarithmic value axis, one legend.
mod axes;

use crate::measured::{StudyMetric, StudyRow};
use axes::{Axes, HEAD, HEIGHT, WIDTH, marker, style};
use kerf_svg::{Svg, line, text};

/// The axis that points run along.
#[derive(Debug, Clone, PartialEq)]
pub enum PlotAxis {
    /// Powers: sizes.
    Log,
    /// Even steps.
    Linear,
    /// Named cases; points have the index of theirs.
    Cases(Vec<String>),
}

/// A line of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend; decides colour and dashes.
    pub label: String,
    /// Points: position along the axis, value.
    pub points: Vec<(f64, f64)>,
}

/// One pair of axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Heading.
    pub title: String,
    /// What points run along, and its kind.
    pub x: (String, PlotAxis),
    /// What values are.
    pub y: String,
    /// Lines.
    pub series: Vec<Series>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Name in file names.
    pub name: String,
    /// Heading.
    pub title: String,
    /// Panels, left to right, two a row.
    pub panels: Vec<Panel>,
}

impl Panel {
    /// A panel of rows: sizes of one case, or cases of one size, by number type.
    pub fn of_measured(
        title: &str,
        x: (&str, PlotAxis),
        metric: StudyMetric,
        rows: &[&StudyRow],
    ) -> Option<Panel> {
        let mut series: Vec<Series> = Vec::new();
        for r in rows {
            let Some(value) = metric.value(r) else {
                continue;
            };
            let at = match &x.1 {
                PlotAxis::Cases(c) => c.iter().position(|c| *c == r.case)? as f64,
                _ => r.size as f64,
            };
            match series.iter_mut().find(|s| s.label == r.label) {
                Some(s) => s.points.push((at, value)),
                None => series.push(Series {
                    label: r.label.into(),
                    points: vec![(at, value)],
                }),
            }
        }
        let unit = match metric {
            StudyMetric::Time => ", s",
            StudyMetric::Shared => ", bytes",
            _ => "",
        };
        (!series.is_empty()).then(|| Panel {
            title: title.into(),
            x: (x.0.into(), x.1),
            y: format!("{}{unit}", metric.name()),
            series,
        })
    }
}

impl Plot {
    fn legend(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for s in self.panels.iter().flat_map(|p| &p.series) {
            if !all.contains(&s.label.as_str()) {
                all.push(&s.label);
            }
        }
        all
    }

    /// The picture.
    pub fn svg(&self) -> String {
        let columns = self.panels.len().clamp(1, 2);
        let rows = self.panels.len().div_ceil(2).max(1);
        let width = columns as f64 * WIDTH;
        let labels = self.legend();
        let per_line = ((width - 40.0) / 150.0).floor().max(1.0) as usize;
        let below = labels.len().div_ceil(per_line) as f64 * 18.0 + 14.0;
        let height = HEAD + rows as f64 * HEIGHT + below;
        let mut svg = Svg::new(width, height, 11.0);
        svg.title(&self.title);
        let title = text(width / 2.0, 22.0, &self.title).middle();
        svg.add(title.font_size(13.0).bold());
        for (i, p) in self.panels.iter().enumerate() {
            let (x, y) = ((i % 2) as f64 * WIDTH, HEAD + (i / 2) as f64 * HEIGHT);
            svg.group(x, y, |svg| {
                let axes = Axes::new(p);
                axes.frame(svg);
                axes.lines(svg);
            });
        }
        for (i, label) in labels.iter().enumerate() {
            let (colour, dashes, kind) = style(label, i);
            let x = 30.0 + (i % per_line) as f64 * 150.0;
            let y = HEAD + rows as f64 * HEIGHT + 8.0 + (i / per_line) as f64 * 18.0;
            let sample = line((x, y), (x + 28.0, y)).stroke(colour);
            svg.add(sample.stroke_width(1.6).dashes(dashes));
            svg.add(marker(kind, x + 14.0, y, colour, false));
            svg.add(text(x + 34.0, y + 4.0, label));
        }
        svg.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(x: PlotAxis, points: Vec<(f64, f64)>) -> String {
        let series = vec![Series {
            label: "float".into(),
            points,
        }];
        Plot {
            name: "p".into(),
            title: "a < b".into(),
            panels: vec![Panel {
                title: "t".into(),
                x: ("n".into(), x),
                y: "e".into(),
                series,
            }],
        }
        .svg()
    }

    #[test]
    fn every_finite_point_is_drawn() {
        let s = plot(
            PlotAxis::Log,
            vec![(1.0, 1e-3), (10.0, 0.0), (100.0, f64::INFINITY), (1e3, 2.0)],
        );
        // Three points and the legend's.
        assert_eq!(s.matches("<circle").count(), 4);
        assert!(s.contains("a &lt; b"));
        assert!(!s.contains("NaN") && !s.contains("inf"));
    }

    #[test]
    fn nothing_to_draw_is_no_reason_to_fail() {
        assert!(plot(PlotAxis::Cases(vec!["a".into()]), Vec::new()).contains("</svg>"));
        assert!(plot(PlotAxis::Linear, vec![(5.0, 0.0)]).contains("</svg>"));
    }
}
