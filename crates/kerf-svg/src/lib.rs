//! SVG pictures: elements with their attributes, escaped.
//!
//! Lengths are in pixels, y downwards, and written with one digit after the point at most.
#![warn(missing_docs)]

use std::fmt::{Display, Write};

/// Colours that differ also for people who see few of them (after Okabe and Ito).
pub const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#555555",
];

/// Text of which nothing is markup.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

fn pixels(v: f64) -> String {
    let text = format!("{v:.1}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// An element.
#[derive(Debug, Clone)]
pub struct Element {
    name: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    fn new(name: &'static str) -> Element {
        Element {
            name,
            attributes: String::new(),
            content: String::new(),
        }
    }

    fn lengths(mut self, all: &[(&str, f64)]) -> Element {
        for (name, v) in all {
            self = self.attribute(name, pixels(*v));
        }
        self
    }

    /// With an attribute.
    pub fn attribute(mut self, name: &str, value: impl Display) -> Element {
        let value = escape(&value.to_string());
        let _ = write!(self.attributes, " {name}=\"{value}\"");
        self
    }

    /// Filled with a colour.
    pub fn fill(self, colour: &str) -> Element {
        self.attribute("fill", colour)
    }

    /// With a line of a colour.
    pub fn stroke(self, colour: &str) -> Element {
        self.attribute("stroke", colour)
    }

    /// With a line of that width.
    pub fn stroke_width(self, width: f64) -> Element {
        self.attribute("stroke-width", width)
    }

    /// With a dashed line; none for no dashes.
    pub fn dashes(self, dashes: &str) -> Element {
        match dashes {
            "" => self,
            dashes => self.attribute("stroke-dasharray", dashes),
        }
    }

    /// Text that is centred at its place.
    pub fn middle(self) -> Element {
        self.attribute("text-anchor", "middle")
    }

    /// Text that ends at its place.
    pub fn end(self) -> Element {
        self.attribute("text-anchor", "end")
    }

    /// Text of another size.
    pub fn font_size(self, size: f64) -> Element {
        self.attribute("font-size", size)
    }

    /// Bold text.
    pub fn bold(self) -> Element {
        self.attribute("font-weight", "bold")
    }

    /// Text with an exponent after it.
    pub fn exponent(mut self, exponent: impl Display) -> Element {
        let raised = "<tspan dy=\"-4\" font-size=\"8\">";
        let _ = write!(self.content, "{raised}{exponent}</tspan>");
        self
    }

    /// With words that a reader sees who points at it.
    pub fn title(mut self, words: &str) -> Element {
        let _ = write!(self.content, "<title>{}</title>", escape(words));
        self
    }

    fn markup(&self) -> String {
        let (name, attributes) = (self.name, &self.attributes);
        match self.content.is_empty() {
            true => format!("<{name}{attributes}/>\n"),
            false => format!("<{name}{attributes}>{}</{name}>\n", self.content),
        }
    }
}

/// Text whose baseline begins at a place.
pub fn text(x: f64, y: f64, content: &str) -> Element {
    let mut e = Element::new("text").lengths(&[("x", x), ("y", y)]);
    e.content = escape(content);
    e
}

/// Text that reads upwards, centred at a place.
pub fn upright_text(x: f64, y: f64, content: &str) -> Element {
    let turn = format!("translate({} {}) rotate(-90)", pixels(x), pixels(y));
    let mut e = Element::new("text").attribute("transform", turn).middle();
    e.content = escape(content);
    e
}

/// A path in SVG's own language.
pub fn path(commands: &str) -> Element {
    Element::new("path").attribute("d", commands)
}

/// A straight line.
pub fn line(from: (f64, f64), to: (f64, f64)) -> Element {
    polyline([from, to])
}

/// Lines from point to point.
pub fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> Element {
    let point = |(x, y): (f64, f64)| format!("{} {}", pixels(x), pixels(y));
    let all: Vec<String> = points.into_iter().map(point).collect();
    path(&format!("M{}", all.join("L"))).fill("none")
}

/// A rectangle: left, top, width, height.
pub fn rect(x: f64, y: f64, width: f64, height: f64) -> Element {
    Element::new("rect").lengths(&[("x", x), ("y", y), ("width", width), ("height", height)])
}

/// A circle.
pub fn circle(x: f64, y: f64, radius: f64) -> Element {
    let place = Element::new("circle").lengths(&[("cx", x), ("cy", y)]);
    place.attribute("r", radius)
}

/// A picture.
#[derive(Debug, Clone)]
pub struct Svg {
    out: String,
}

impl Svg {
    /// An empty white picture, for a file of its own.
    pub fn new(width: f64, height: f64, font_size: f64) -> Svg {
        let (w, h) = (pixels(width), pixels(height));
        let mut svg = Svg {
            out: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{font_size}\" fill=\"#111827\">\n"
            ),
        };
        svg.add(rect(0.0, 0.0, width, height).fill("#ffffff"));
        svg
    }

    /// An empty picture in a page, as wide as its style says.
    pub fn inline(class: &str, width: f64, height: f64, label: &str) -> Svg {
        let picture = Element::new("svg")
            .attribute("class", class)
            .attribute(
                "viewBox",
                format!("0 0 {} {}", pixels(width), pixels(height)),
            )
            .attribute("role", "img")
            .attribute("aria-label", label);
        Svg {
            out: format!("<svg{}>\n", picture.attributes),
        }
    }

    /// Gives the picture a title.
    pub fn title(&mut self, words: &str) {
        let _ = writeln!(self.out, "<title>{}</title>", escape(words));
    }

    /// Adds an element, over those that are there.
    pub fn add(&mut self, e: Element) {
        self.out.push_str(&e.markup());
    }

    /// Adds elements whose places are relative to a point.
    pub fn group(&mut self, x: f64, y: f64, draw: impl FnOnce(&mut Svg)) {
        let _ = writeln!(
            self.out,
            "<g transform=\"translate({} {})\">",
            pixels(x),
            pixels(y)
        );
        draw(self);
        self.out.push_str("</g>\n");
    }

    /// The text of the picture.
    pub fn finish(self) -> String {
        self.out + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        let mut svg = Svg::new(100.0, 50.5, 12.0);
        svg.add(text(1.25, 2.0, "a < \"b\" & c").middle());
        svg.group(1.0, 2.0, |svg| {
            svg.add(line((0.0, 0.0), (3.0, 4.0)).stroke("x\"y"));
        });
        svg.add(text(0.0, 0.0, "10").exponent(-3));
        svg.add(circle(1.0, 2.0, 3.2).title("t"));
        let all = svg.finish();
        assert!(all.starts_with("<svg ") && all.ends_with("</svg>\n"));
        for want in [
            "viewBox=\"0 0 100 50.5\"",
            "<text x=\"1.2\" y=\"2\" text-anchor=\"middle\">a &lt; &quot;b&quot; &amp; c</text>",
            "<g transform=\"translate(1 2)\">\n<path d=\"M0 0L3 4\" fill=\"none\" stroke=\"x&quot;y\"/>\n</g>",
            ">10<tspan dy=\"-4\" font-size=\"8\">-3</tspan></text>",
            "r=\"3.2\"><title>t</title></circle>",
        ] {
            assert!(all.contains(want), "{want}: {all}");
        }
    }
}
