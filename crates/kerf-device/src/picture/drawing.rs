//! Accuracy against throughput as an SVG picture.
//!
//! One mark for each group of operations at the same place: the colour is the format, the shape
//! the implementation. Labels are put beside their marks, where nothing else is.
use super::{Point, points, range, short_number};
use crate::operation::{FORMATS, FunctionVariant};
use crate::profile::DeviceProfile;
use kerf_svg::{COLOURS, Element, Svg, circle, line, path, rect, text, upright_text};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 640.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 60.0;
/// Height of a line of label text, and width of one of its letters on average.
const LINE: f64 = 14.0;
const LETTER: f64 = 6.3;
const RADIUS: f64 = 5.0;

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy)]
struct Area(f64, f64, f64, f64);

impl Area {
    fn meets(self, o: Area) -> bool {
        self.0 < o.2 && o.0 < self.2 && self.1 < o.3 && o.1 < self.3
    }
    fn within(self, o: Area) -> bool {
        self.0 >= o.0 && self.1 >= o.1 && self.2 <= o.2 && self.3 <= o.3
    }
}

fn colour(format: &str) -> &'static str {
    let order = ["f32", "f64", "f16", "bf16", "dw32", "dw64"];
    let scalar = format.trim_end_matches("x2");
    let at = order.iter().position(|f| *f == scalar);
    COLOURS[at.unwrap_or(COLOURS.len() - 1)]
}

fn format_name(format: &str) -> &str {
    match format {
        "dw32" => "float2",
        "dw64" => "double2",
        f => f,
    }
}

/// Operations at one place, of one format and implementation.
struct Group {
    format: &'static str,
    variant: FunctionVariant,
    x: f64,
    y: f64,
    label: String,
}

fn groups(all: &[Point], place: impl Fn(&Point) -> (f64, f64)) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    for p in all {
        let (x, y) = place(p);
        let function = p.key.split('.').next().unwrap_or_default();
        let near = |g: &&mut Group| {
            g.format == p.format
                && g.variant == p.variant
                && (g.x - x).abs() < RADIUS
                && (g.y - y).abs() < RADIUS
        };
        match out.iter_mut().find(near) {
            Some(g) => {
                g.label += ", ";
                g.label += function;
            }
            None => out.push(Group {
                format: p.format,
                variant: p.variant,
                x,
                y,
                label: function.to_owned(),
            }),
        }
    }
    for g in &mut out {
        let suffix = match g.variant {
            FunctionVariant::Accurate => "",
            FunctionVariant::Sfu => " SFU",
            FunctionVariant::Cmp => " CMP",
        };
        g.label = format!("{} {}{suffix}", g.label, format_name(g.format));
    }
    out
}

/// Where a label goes: beside its mark, else further and further away. Left, baseline.
fn label_place(g: &Group, taken: &[Area], frame: Area) -> (f64, f64, Area) {
    let w = g.label.chars().count() as f64 * LETTER;
    let at = |x: f64, y: f64| (x, y, Area(x, y - LINE + 3.0, x + w, y + 3.0));
    let free = |a: Area| a.within(frame) && taken.iter().all(|t| !a.meets(*t));
    let beside = RADIUS + 4.0;
    let sides = |away: f64| {
        [
            at(g.x + beside, g.y + 4.0 - away),
            at(g.x + beside, g.y + 4.0 + away),
            at(g.x - beside - w, g.y + 4.0 - away),
            at(g.x - beside - w, g.y + 4.0 + away),
        ]
    };
    let ends = |away: f64| {
        [
            at(g.x - w / 2.0, g.y - beside - away),
            at(g.x - w / 2.0, g.y + beside + LINE - 3.0 + away),
        ]
    };
    let step = |i: i32| f64::from(i) * LINE * 0.5;
    // Near the mark's own height first, where no line is needed to tell what belongs to what.
    let near = (0..4).flat_map(|i| sides(step(i)));
    let far = (0..60).flat_map(|i| ends(step(i)).into_iter().chain(sides(step(i + 4))));
    if let Some(found) = near.chain(far).find(|t| free(t.2)) {
        return found;
    }
    at(g.x + RADIUS + 4.0, g.y + 4.0)
}

fn mark(variant: FunctionVariant, x: f64, y: f64, fill: &str) -> Element {
    let r = RADIUS;
    match variant {
        FunctionVariant::Accurate => circle(x, y, r).fill(fill),
        FunctionVariant::Sfu => {
            let side = 2.0 * r;
            path(&format!("M{x:.1} {:.1} l{r} {side} h-{side} z", y - r)).fill(fill)
        }
        FunctionVariant::Cmp => rect(x - r, y - r, 2.0 * r, 2.0 * r)
            .fill("none")
            .stroke(fill)
            .stroke_width(2.0),
    }
}

/// Where throughputs and bits lie.
struct Axes {
    frame: Area,
    throughput_log2: (f64, f64),
    bits: (f64, f64),
}

impl Axes {
    fn new(all: &[Point]) -> Axes {
        let xs = range(all.iter().map(|p| p.throughput.log2()), 1.0);
        let ys = range(all.iter().map(|p| p.bits), 4.0);
        Axes {
            frame: Area(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM),
            // A little air, so that no mark lies on the frame.
            throughput_log2: (xs.0 - 0.3, xs.1 + 0.3),
            bits: (ys.0 - 1.5, ys.1 + 1.5),
        }
    }

    fn x(&self, log2: f64) -> f64 {
        let (low, high) = self.throughput_log2;
        self.frame.0 + (log2 - low) / (high - low) * (self.frame.2 - self.frame.0)
    }

    fn y(&self, bits: f64) -> f64 {
        let (low, high) = self.bits;
        self.frame.3 - (bits - low) / (high - low) * (self.frame.3 - self.frame.1)
    }

    fn draw(&self, s: &mut Svg) {
        let f = self.frame;
        let (low, high) = self.throughput_log2;
        for e in low.ceil() as i32..=high.floor() as i32 {
            let at = self.x(f64::from(e));
            s.add(line((at, f.1), (at, f.3)).stroke("#ddd"));
            s.add(text(at, f.3 + 17.0, &short_number(2f64.powi(e))).middle());
        }
        let (low, high) = self.bits;
        let step = if high - low > 60.0 { 8 } else { 4 };
        for bits in (low.ceil() as i32..=high as i32).filter(|b| b % step == 0) {
            let at = self.y(f64::from(bits));
            s.add(line((f.0, at), (f.2, at)).stroke("#ddd"));
            s.add(text(f.0 - 7.0, at + 4.0, &bits.to_string()).end());
        }
        let border = rect(f.0, f.1, f.2 - f.0, f.3 - f.1);
        s.add(border.fill("none").stroke("#888"));
        let (across, down) = ((f.0 + f.2) / 2.0, (f.1 + f.3) / 2.0);
        let name = "results per clock per multiprocessor";
        s.add(text(across, HEIGHT - 18.0, name).middle());
        s.add(upright_text(22.0, down, "correct bits"));
    }
}

/// The picture; `None` where nothing can be drawn.
pub fn svg(p: &DeviceProfile) -> Option<String> {
    let all = points(p);
    if all.is_empty() {
        return None;
    }
    let axes = Axes::new(&all);
    let groups = groups(&all, |p| (axes.x(p.throughput.log2()), axes.y(p.bits)));
    let mut s = Svg::new(WIDTH, HEIGHT, 12.0);
    let title = format!("{}: accuracy against throughput", p.name);
    s.add(text(LEFT, 26.0, &title).font_size(17.0));
    s.add(text(LEFT, 45.0, &p.gpu).fill("#555"));
    axes.draw(&mut s);
    draw_groups(&mut s, &groups, axes.frame);
    draw_key(&mut s, &groups, axes.frame.2 + 35.0);
    Some(s.finish())
}

/// Marks and their labels.
fn draw_groups(s: &mut Svg, groups: &[Group], frame: Area) {
    let mut taken: Vec<Area> = groups
        .iter()
        .map(|g| Area(g.x - RADIUS, g.y - RADIUS, g.x + RADIUS, g.y + RADIUS))
        .collect();
    // Labels may reach a little over the frame to the right.
    let room = Area(frame.0, frame.1, frame.2 + 20.0, frame.3);
    // Lines lie under marks, and marks under labels.
    let (mut marks, mut labels) = (Vec::new(), Vec::new());
    for g in groups {
        let (lx, ly, area) = label_place(g, &taken, room);
        taken.push(area);
        let fill = colour(g.format);
        // A label that is not beside its mark is tied to it.
        let cy = (area.1 + area.3) / 2.0;
        if (cy - g.y).abs() > LINE / 3.0 {
            let end = g.x.clamp(area.0, area.2);
            s.add(line((g.x, g.y), (end, cy)).stroke(fill).stroke_width(0.7));
        }
        marks.push(mark(g.variant, g.x, g.y, fill));
        let label = text(lx, ly, &g.label).font_size(11.0);
        let outline = label.stroke("white").stroke_width(3.0);
        labels.push(outline.attribute("paint-order", "stroke"));
    }
    for e in marks.into_iter().chain(labels) {
        s.add(e);
    }
}

/// What colours and shapes mean.
fn draw_key(s: &mut Svg, groups: &[Group], x: f64) {
    let mut y = TOP + 10.0;
    let mut entry = |variant, fill: &str, words: &str| {
        s.add(mark(variant, x, y, fill));
        s.add(text(x + 12.0, y + 4.0, words));
        y += 20.0;
    };
    for f in FORMATS {
        if groups.iter().any(|g| g.format == f) {
            entry(FunctionVariant::Accurate, colour(f), format_name(f));
        }
    }
    for (variant, words) in [
        (FunctionVariant::Accurate, "accurate"),
        (FunctionVariant::Sfu, "special function"),
        (FunctionVariant::Cmp, "without renorm."),
    ] {
        if groups.iter().any(|g| g.variant == variant) {
            entry(variant, "#555555", words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_cover_each_other() {
        for b in crate::bundled::BUNDLED {
            let p = b.load().expect(b.name);
            let Some(s) = svg(&p) else { continue };
            assert!(
                s.starts_with("<svg ") && s.ends_with("</svg>\n"),
                "{}",
                b.name
            );
            let attribute = |line: &str, name: &str| -> Option<f64> {
                let at = line.find(&format!(" {name}=\""))? + name.len() + 3;
                line[at..].split('"').next()?.parse().ok()
            };
            let mut areas: Vec<Area> = Vec::new();
            for line in s.lines().filter(|l| l.contains("font-size=\"11\"")) {
                let x = attribute(line, "x").expect("a place");
                let y = attribute(line, "y").expect("a place");
                let text = line.split('>').nth(1).and_then(|t| t.split('<').next());
                let w = text.expect("a label").chars().count() as f64 * LETTER;
                let a = Area(x + 0.1, y - LINE + 3.1, x + w - 0.1, y + 2.9);
                assert!(areas.iter().all(|o| !a.meets(*o)), "{}: {line}", b.name);
                areas.push(a);
            }
            assert!(!areas.is_empty(), "{}", b.name);
        }
    }
}
