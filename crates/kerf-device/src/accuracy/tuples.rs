//! Which pairs and triples of small numbers are looked at: strata by exponent and kind of difficulty.
//!
//! The device makes the arguments themselves out of a counter (`device/generate.h`).
use super::bounds::{Documented, Domain};
use super::records::Segment;
use super::strata::{Stratum, mix};
use super::subject::AccuracySubject;
use kerf_num::Format;

/// How the arguments of a segment are made, as in `device/generate.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Mode {
    Exponents = 1,
    Edges = 2,
    Sum = 3,
    Cancel = 4,
    Power = 5,
    NearOne = 6,
    Whole = 7,
    Special = 8,
}

/// Exponents of a format as its encoding has them.
struct Fields {
    top: u64,
    one: u64,
    fraction: u64,
    lowest: i32,
}

impl Fields {
    fn for_format(format: Format) -> Fields {
        let one = format.max_exponent() as u64;
        Fields {
            top: 2 * one + 1,
            one,
            fraction: u64::from(format.mantissa_bits() - 1),
            lowest: format.min_exponent(),
        }
    }
    /// Held within finite numbers.
    fn finite(&self, field: i64) -> u64 {
        field.clamp(0, self.top as i64 - 1) as u64
    }
    /// Does a domain hold all numbers of an exponent?
    fn within(&self, domain: Domain, field: u64) -> bool {
        let at = |f: u64| 2f64.powi(f as i32 - 1 + self.lowest);
        domain == Domain::All
            || (field > 0 && domain.holds(at(field)) && domain.holds(at(field + 1).next_down()))
    }
}

/// A second and third exponent and the mode, for a first one.
fn choose(function: &str, f: &Fields, x: u64, draw: u64) -> (Mode, u64, u64) {
    let top = f.top as i64;
    let (x, one) = (x as i64, f.one as i64);
    let wide = (draw >> 8) as i64 & 0xffff;
    let any = f.finite(wide % top);
    // An exponent so that the result has one within the range, or a little beyond it.
    let result = wide % (top + 2 * f.fraction as i64) - f.fraction as i64;
    let near = f.finite((draw >> 32) as i64 % top);
    let kind = draw & 7;
    match function {
        "div" => match kind {
            0..5 => (Mode::Exponents, f.finite(x + one - result), 0),
            5 => (Mode::Exponents, any, 0),
            _ => (Mode::Edges, f.finite(x + one - result), 0),
        },
        "mul" => match kind {
            0..5 => (Mode::Exponents, f.finite(result + one - x), 0),
            5 => (Mode::Exponents, any, 0),
            _ => (Mode::Edges, f.finite(result + one - x), 0),
        },
        "pow" => match kind {
            0..4 => (Mode::Power, any, 0),
            4 | 5 => (Mode::NearOne, any % f.fraction, 0),
            6 => (Mode::Whole, any, 0),
            _ => (Mode::Exponents, any, 0),
        },
        // Sums: from far below the first to far above it.
        _ => match kind {
            0 => (Mode::Exponents, any, near),
            1 => (Mode::Edges, f.finite(result + one - x), near),
            2 => (Mode::Cancel, 0, 0),
            _ => {
                let reach = 2 * (f.fraction as i64 + 3);
                (Mode::Sum, (64 + wide % reach - reach / 2) as u64, 0)
            }
        },
    }
}

/// About `total` tuples of a function of two or three arguments.
pub fn tuples(s: &AccuracySubject, format: Format, total: u64) -> Vec<Stratum> {
    let (bounds, headline) = (&s.documented, s.headline);
    let f = Fields::for_format(format);
    let count = (total >> 14).clamp(128, 1 << 16);
    let mut all = vec![Stratum {
        segment: Segment {
            start: 0,
            count: 1 << (5 * s.arity),
            bounds: mask(bounds, |d| d == Domain::All),
            mode: Mode::Special as u32,
            parameters: [0; 3],
        },
        binade: None,
        headline: headline.domain == Domain::All,
    }];
    for j in 0..total.div_ceil(count) {
        let draw = mix(j);
        let x = j % f.top;
        let (mode, y, z) = choose(s.function, &f, x, draw);
        let negative = draw >> 63 == 1 && !matches!(mode, Mode::Power | Mode::NearOne);
        let sign = if negative { f.top + 1 } else { 0 };
        // Only there is the second argument's exponent what was chosen.
        let told = matches!(mode, Mode::Exponents | Mode::Edges);
        let holds = |argument: usize, domain: Domain| match argument {
            0 => f.within(domain, x),
            _ => domain == Domain::All || (told && f.within(domain, y)),
        };
        let placed = x > 0 && !matches!(mode, Mode::NearOne | Mode::Whole);
        let within = holds(headline.argument, headline.domain);
        let flags = (0u32..)
            .zip(bounds)
            .filter(|(_, b)| holds(b.argument, b.domain))
            .fold(0, |m, (i, _)| m | 1 << i);
        all.push(Stratum {
            segment: Segment {
                start: (j + 1) << 17,
                count: count as u32,
                bounds: flags,
                mode: mode as u32,
                parameters: [(sign | x) as u32, y as u32, z as u32],
            },
            binade: placed.then(|| (x as i32 - 1 + f.lowest, negative)),
            headline: within,
        });
    }
    all
}

fn mask(bounds: &[Documented], holds: impl Fn(Domain) -> bool) -> u32 {
    (0u32..)
        .zip(bounds)
        .filter(|(_, b)| holds(b.domain))
        .fold(0, |m, (i, _)| m | 1 << i)
}
