//! Accuracy against throughput as a picture on its own.
//!
//! One mark for each group of operations at the same place: the colour is the format, the shape
//! the implementation. Labels are put beside their marks, where nothing else is.
use super::picture::{Point, points, range};
use kerf_device::operation::{FORMATS, FunctionVariant};
use kerf_device::profile::DeviceProfile;
use std::fmt::Write;

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

/// Colours that differ also for people who see few of them (after Okabe and Ito).
fn colour(format: &str) -> &'static str {
    match format {
        "f32" => "#0072b2",
        "f64" => "#d55e00",
        "f16" | "f16x2" => "#009e73",
        "bf16" | "bf16x2" => "#cc79a7",
        "dw32" => "#56b4e9",
        "dw64" => "#b8860b",
        _ => "#555555",
    }
}

fn format_name(format: &str) -> &str {
    match format {
        "dw32" => "float2",
        "dw64" => "double2",
        f => f,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
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

fn mark(variant: FunctionVariant, x: f64, y: f64, fill: &str) -> String {
    let r = RADIUS;
    match variant {
        FunctionVariant::Accurate => {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{fill}\"/>\n")
        }
        FunctionVariant::Sfu => format!(
            "<path d=\"M{x:.1} {:.1} l{r} {} h-{} z\" fill=\"{fill}\"/>\n",
            y - r,
            2.0 * r,
            2.0 * r
        ),
        FunctionVariant::Cmp => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{fill}\" stroke-width=\"2\"/>\n",
            x - r,
            y - r,
            2.0 * r,
            2.0 * r
        ),
    }
}

/// The picture; `None` where nothing can be drawn.
pub fn draw(p: &DeviceProfile) -> Option<String> {
    let all = points(p);
    if all.is_empty() {
        return None;
    }
    let xs = range(all.iter().map(|p| p.throughput.log2()), 1.0);
    let ys = range(all.iter().map(|p| p.bits), 4.0);
    // A little air, so that no mark lies on the frame.
    let (xs, ys) = ((xs.0 - 0.3, xs.1 + 0.3), (ys.0 - 1.5, ys.1 + 1.5));
    let frame = Area(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x = |v: f64| frame.0 + (v - xs.0) / (xs.1 - xs.0) * (frame.2 - frame.0);
    let y = |v: f64| frame.3 - (v - ys.0) / (ys.1 - ys.0) * (frame.3 - frame.1);
    let groups = groups(&all, |p| (x(p.throughput.log2()), y(p.bits)));
    let mut s = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let _ = writeln!(
        s,
        "<text x=\"{LEFT}\" y=\"26\" font-size=\"17\">{}: accuracy against throughput</text>\n<text x=\"{LEFT}\" y=\"45\" fill=\"#555\">{}</text>",
        escape(&p.name),
        escape(&p.gpu)
    );
    for e in xs.0.ceil() as i32..=xs.1.floor() as i32 {
        let at = x(f64::from(e));
        let _ = writeln!(
            s,
            "<path d=\"M{at:.1} {} V{}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            frame.1,
            frame.3,
            frame.3 + 17.0,
            super::marks::number(2f64.powi(e))
        );
    }
    let step = if ys.1 - ys.0 > 60.0 { 8 } else { 4 };
    for bits in (ys.0.ceil() as i32..=ys.1 as i32).filter(|b| b % step == 0) {
        let at = y(f64::from(bits));
        let _ = writeln!(
            s,
            "<path d=\"M{} {at:.1} H{}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{bits}</text>",
            frame.0,
            frame.2,
            frame.0 - 7.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        s,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>",
        frame.0,
        frame.1,
        frame.2 - frame.0,
        frame.3 - frame.1
    );
    let _ = writeln!(
        s,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">results per clock per multiprocessor</text>\n<text transform=\"translate(22 {}) rotate(-90)\" text-anchor=\"middle\">correct bits</text>",
        (frame.0 + frame.2) / 2.0,
        HEIGHT - 18.0,
        (frame.1 + frame.3) / 2.0
    );
    let mut taken: Vec<Area> = groups
        .iter()
        .map(|g| Area(g.x - RADIUS, g.y - RADIUS, g.x + RADIUS, g.y + RADIUS))
        .collect();
    // Labels may reach a little over the frame to the right.
    let room = Area(frame.0, frame.1, frame.2 + 20.0, frame.3);
    // Lines lie under marks, and marks under labels.
    let (mut marks, mut labels) = (String::new(), String::new());
    for g in &groups {
        let (lx, ly, area) = label_place(g, &taken, room);
        taken.push(area);
        let fill = colour(g.format);
        // A label that is not beside its mark is tied to it.
        let cy = (area.1 + area.3) / 2.0;
        if (cy - g.y).abs() > LINE / 3.0 {
            let end = g.x.clamp(area.0, area.2);
            let _ = writeln!(
                s,
                "<path d=\"M{:.1} {:.1} L{end:.1} {cy:.1}\" stroke=\"{fill}\" stroke-width=\"0.7\"/>",
                g.x, g.y
            );
        }
        marks += &mark(g.variant, g.x, g.y, fill);
        let _ = writeln!(
            labels,
            "<text x=\"{lx:.1}\" y=\"{ly:.1}\" font-size=\"11\" stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
            escape(&g.label)
        );
    }
    s += &marks;
    s += &labels;
    s += &key(&groups, frame.2 + 35.0);
    s += "</svg>\n";
    Some(s)
}

/// What colours and shapes mean.
fn key(groups: &[Group], x: f64) -> String {
    let mut s = String::new();
    let mut y = TOP + 10.0;
    let mut entry = |variant, fill: &str, text: &str| {
        s += &mark(variant, x, y, fill);
        let _ = writeln!(
            s,
            "<text x=\"{}\" y=\"{}\">{text}</text>",
            x + 12.0,
            y + 4.0
        );
        y += 20.0;
    };
    for f in FORMATS {
        if groups.iter().any(|g| g.format == f) {
            entry(FunctionVariant::Accurate, colour(f), format_name(f));
        }
    }
    for (variant, text) in [
        (FunctionVariant::Accurate, "accurate"),
        (FunctionVariant::Sfu, "special function"),
        (FunctionVariant::Cmp, "without renorm."),
    ] {
        if groups.iter().any(|g| g.variant == variant) {
            entry(variant, "#555555", text);
        }
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_cover_each_other() {
        for b in kerf_device::bundled::BUNDLED {
            let p = b.load().expect(b.name);
            let Some(s) = draw(&p) else { continue };
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
