//! Outputs with their references, and what their reports must have in common.
use kerf_num::metrics::ErrorReport;
use kerf_num::random::SplitMix64;
use kerf_num::{Dd, Format};

/// What values are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Close to references of size about 1.
    Close,
    /// Any bits on both sides, a few references close to the value, and NaN, infinities and zeros.
    Anything,
    /// References that the format rounds to its values, or halfway between them, up to the low word.
    Halfway,
    /// Few different errors, so that the largest occurs often.
    Ties,
    /// Subnormals of the format, zeros, and references below its range.
    Tiny,
    /// The largest values, references beyond the range.
    Huge,
    /// References that are powers of two up to the low word, which decides about their binade.
    Powers,
    /// References that are the values.
    Equal,
}

pub const KINDS: [Kind; 8] = [
    Kind::Close,
    Kind::Anything,
    Kind::Halfway,
    Kind::Ties,
    Kind::Tiny,
    Kind::Huge,
    Kind::Powers,
    Kind::Equal,
];

/// Between -1 and 1.
fn share(r: &mut SplitMix64) -> f64 {
    r.bits() as i64 as f64 * 2f64.powi(-63)
}

/// A reference with a random low word.
fn reference(r: &mut SplitMix64, hi: f64) -> Dd {
    match hi.is_finite() {
        true => Dd::from_sum(hi, hi * share(r) * 2f64.powi(-53)),
        false => Dd::from_f64(hi),
    }
}

fn anything(r: &mut SplitMix64, format: Format) -> (f64, Dd) {
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    let mut special = || specials[(r.bits() % 5) as usize];
    let pair = (special(), special());
    let got = format.decode(r.bits());
    match r.bits() % 8 {
        0 => (pair.0, Dd::from_f64(pair.1)),
        1 => (got, Dd::from_f64(pair.1)),
        2 => {
            let hi = f64::from_bits(r.bits());
            (pair.0, reference(r, hi))
        }
        3 => {
            let hi = f64::from_bits(r.bits());
            (got, reference(r, hi))
        }
        _ => (got, reference(r, got)),
    }
}

/// One value of the format and its reference.
fn pair(r: &mut SplitMix64, format: Format, kind: Kind) -> (f64, Dd) {
    let near = |x: f64| format.round(x);
    match kind {
        Kind::Close => {
            let x = share(r) * 2.0;
            let error = 1.0 + 1e-3 * share(r) * share(r);
            (near(x * error), reference(r, x))
        }
        Kind::Anything => anything(r, format),
        Kind::Halfway => {
            let x = near(share(r) * 8.0);
            let ulp = kerf_num::ulp::ulp(x, format);
            let steps = [0.0, 0.5, 1.0, 1.5, -0.5, -1.0][(r.bits() % 6) as usize];
            let middle = Dd::from_sum(x, steps * ulp);
            let nudge = [0.0, 1e-25, -1e-25][(r.bits() % 3) as usize];
            (x, middle.add_f64(nudge))
        }
        Kind::Ties => {
            let x = [1.0, 2.0, -4.0][(r.bits() % 3) as usize];
            let error = [0.0, 0.125, -0.25][(r.bits() % 3) as usize];
            (near(x * (1.0 + error)), Dd::from_f64(x))
        }
        Kind::Tiny => {
            let x = near(share(r) * 4.0 * format.min_normal());
            let lower = format.min_subnormal() * share(r);
            let zeros = r.bits().is_multiple_of(4);
            match zeros {
                true => (0.0 * x, Dd::from_f64(lower)),
                false => (x, Dd::from_sum(x, lower)),
            }
        }
        Kind::Huge => {
            let x = near(share(r) * format.max_finite());
            let hi = format.max_finite() * share(r) * 1.0001;
            let other = x * (1.0 + 1e-3 * share(r));
            let close = r.bits().is_multiple_of(2) && other.is_finite();
            (x, reference(r, if close { other } else { hi }))
        }
        Kind::Powers => {
            let power = 2f64.powi((r.bits() % 16) as i32 - 8).copysign(share(r));
            let nudge = [0.0, 1e-25, -1e-25][(r.bits() % 3) as usize];
            (near(power * 1.25), Dd::from_sum(power, nudge))
        }
        Kind::Equal => {
            let x = near(share(r));
            (x, Dd::from_f64(x))
        }
    }
}

/// Values of a format within elements of a buffer.
#[derive(Debug, Clone)]
pub struct Sample {
    pub element_bytes: usize,
    pub offsets: Vec<usize>,
    /// The buffer, with other bytes between the values.
    pub bytes: Vec<u8>,
    pub got: Vec<f64>,
    pub reference: Vec<Dd>,
}

impl Sample {
    /// So many elements with values at `offsets`.
    pub fn new(
        (format, kind): (Format, Kind),
        elements: usize,
        element_bytes: usize,
        offsets: &[usize],
        seed: u64,
    ) -> Sample {
        let mut r = SplitMix64::new(seed);
        let mut s = Sample {
            element_bytes,
            offsets: offsets.to_vec(),
            bytes: (0..elements * element_bytes)
                .map(|i| SplitMix64::at(seed ^ 1, i as u64) as u8)
                .collect(),
            got: Vec::new(),
            reference: Vec::new(),
        };
        for i in 0..elements {
            for offset in offsets {
                let (got, reference) = pair(&mut r, format, kind);
                let at = i * element_bytes + offset;
                let code = format.encode(got).to_le_bytes();
                s.bytes[at..at + format.bytes()].copy_from_slice(&code[..format.bytes()]);
                s.got.push(got);
                s.reference.push(reference);
            }
        }
        s
    }

    /// An array of values.
    pub fn dense(format: Format, kind: Kind, count: usize, seed: u64) -> Sample {
        Sample::new((format, kind), count, format.bytes(), &[0], seed)
    }

    pub fn elements(&self) -> usize {
        self.bytes.len() / self.element_bytes
    }

    /// The references as a buffer has them.
    pub fn reference_bytes(&self) -> Vec<u8> {
        let words = self.reference.iter().flat_map(|d| [d.hi, d.lo]);
        words.flat_map(f64::to_le_bytes).collect()
    }
}

/// Equal to 1e-12 of the wanted, or both infinite.
fn near(got: f64, want: f64) -> bool {
    got == want || (got - want).abs() <= 1e-12 * want.abs()
}

/// Fails unless both have the same bits, up to sums.
pub fn assert_same(got: &ErrorReport, want: &ErrorReport, case: &str) {
    for (name, got, want) in [
        ("rms", got.rms, want.rms),
        ("rel_l2", got.rel_l2, want.rel_l2),
        ("mean_rel", got.mean_rel, want.mean_rel),
        ("psnr", got.psnr, want.psnr),
    ] {
        assert!(near(got, want), "{case}: {name} is {got:e}, not {want:e}");
    }
    let mut got = got.clone();
    (got.rms, got.rel_l2) = (want.rms, want.rel_l2);
    (got.mean_rel, got.psnr) = (want.mean_rel, want.psnr);
    // Text has every bit of numbers that are not NaN, of which there are none.
    assert_eq!(format!("{got:#?}"), format!("{want:#?}"), "{case}");
}
