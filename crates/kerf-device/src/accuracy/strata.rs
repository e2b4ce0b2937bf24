//! Which arguments are looked at: segments of bit patterns, or of generated tuples.
//!
//! Every segment lies within one binade of the first argument, and wholly inside or outside each
//! domain that matters, so that a kernel counts without asking where it is.
use super::bounds::{Documented, Domain};
use super::records::Segment;
use kerf_num::Format;
use kerf_num::random::SplitMix64;

/// Arguments of one block.
const TILE: u64 = 1 << 16;

/// A segment and what its arguments have in common.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stratum {
    /// The arguments.
    pub segment: Segment,
    /// Exponent and sign of the first one; none for zeros, infinities and NaN.
    pub binade: Option<(i32, bool)>,
    /// Do overall figures include it?
    pub headline: bool,
}

/// A range of bit patterns of one sign, with the exponent of its binade.
type Range = (u64, u64, Option<i32>);

/// The non-negative patterns of a format by binade: zero, subnormals, normals, infinity and NaN.
fn binades(format: Format) -> Vec<Range> {
    let fraction = format.mantissa_bits() - 1;
    let lowest = format.min_exponent();
    let mut all = vec![(0, 1, None)];
    for k in 0..fraction {
        let e = lowest - (fraction - k) as i32;
        all.push((1 << k, 2 << k, Some(e)));
    }
    for e in lowest..=format.max_exponent() {
        let field = (e - lowest + 1) as u64;
        all.push((field << fraction, (field + 1) << fraction, Some(e)));
    }
    let top = (format.max_exponent() - lowest + 2) as u64;
    all.push((top << fraction, (top + 1) << fraction, None));
    all
}

/// Positive patterns before which a domain's answer may change.
fn cuts(format: Format, domain: Domain) -> Vec<u64> {
    domain
        .edges()
        .into_iter()
        .filter(|x| x.is_finite())
        .flat_map(|x| {
            let at = format.encode(x);
            [at.saturating_sub(1), at, at + 1, at + 2]
        })
        .collect()
}

/// A well-mixed number (the first of SplitMix64 by a seed), for the choice of samples.
pub fn mix(n: u64) -> u64 {
    SplitMix64::at(n, 0)
}

/// Runs of a range: all of it, or its ends and a piece of its middle.
fn runs(from: u64, to: u64, sample: Option<u64>) -> Vec<(u64, u64)> {
    let Some(n) = sample.filter(|n| *n < to - from) else {
        return vec![(from, to)];
    };
    let (head, tail) = (n / 4, n / 4);
    let middle = n - head - tail;
    let room = (to - from) - head - tail - middle;
    let at = from + head + if room == 0 { 0 } else { mix(from) % room };
    vec![(from, from + head), (at, at + middle), (to - tail, to)]
}

/// Segments of a function of one argument over a format's patterns: all of them, or `sample` of each
/// binade. `shift` bits below the pattern count through a second argument.
pub fn patterns(
    format: Format,
    shift: u32,
    bounds: &[Documented],
    headline: Domain,
    sample: Option<u64>,
) -> Vec<Stratum> {
    let mut edges: Vec<u64> = bounds.iter().flat_map(|b| cuts(format, b.domain)).collect();
    edges.extend(cuts(format, headline));
    edges.sort_unstable();
    edges.dedup();
    let sign = 1u64 << (8 * format.bytes() - 1);
    let mut all = Vec::new();
    for negative in [false, true] {
        for (start, end, exponent) in binades(format) {
            let mut at = start;
            let inside = edges.iter().copied().filter(|e| start < *e && *e < end);
            for next in inside.chain([end]) {
                let first = format.decode(at);
                let mask = (0u32..)
                    .zip(bounds)
                    .filter(|(_, b)| b.domain.holds(first))
                    .fold(0, |m, (i, _)| m | 1 << i);
                // Infinities and NaN are beside every domain, and belong to the overall count.
                let within = exponent.is_none() || headline.holds(first);
                for (from, to) in runs(at, next, sample) {
                    let base = if negative { sign } else { 0 };
                    tiles(base + from, base + to, shift, |start, count| {
                        all.push(Stratum {
                            segment: Segment {
                                start,
                                count,
                                bounds: mask,
                                ..Segment::default()
                            },
                            binade: exponent.map(|e| (e, negative)),
                            headline: within,
                        });
                    });
                }
                at = next;
            }
        }
    }
    all
}

/// Segments of the 32-bit integers: all of them, or `sample` of each binade.
pub fn integers(bounds: &[Documented], sample: Option<u64>) -> Vec<Stratum> {
    let mut all = Vec::new();
    let mut add = |from: u64, to: u64, binade| {
        for (from, to) in runs(from, to, sample) {
            tiles(from, to, 0, |start, count| {
                all.push(Stratum {
                    segment: Segment {
                        start,
                        count,
                        bounds: (1 << bounds.len()) - 1,
                        ..Segment::default()
                    },
                    binade,
                    headline: true,
                });
            });
        }
    };
    add(0, 1, None);
    for e in 0..31 {
        add(1 << e, 2 << e, Some((e, false)));
    }
    add(1 << 31, (1 << 31) + 1, Some((31, true)));
    for e in (0..31).rev() {
        // From -(2^(e+1) - 1) to -2^e.
        add(
            (1 << 32) - (2 << e) + 1,
            (1 << 32) - (1 << e) + 1,
            Some((e, true)),
        );
    }
    all
}

/// Cuts patterns into the shares of blocks.
fn tiles(from: u64, to: u64, shift: u32, mut give: impl FnMut(u64, u32)) {
    let (mut at, end) = (from << shift, to << shift);
    while at < end {
        let n = (end - at).min(TILE);
        give(at, n as u32);
        at += n;
    }
}

#[cfg(test)]
mod tests {
    use super::super::bounds::{documented, headline};
    use super::*;

    #[test]
    fn every_pattern_is_in_exactly_one_segment() {
        for (key, format) in [
            ("sin.f32.sfu", Format::F32),
            ("log2.f32.sfu", Format::F32),
            ("exp2.f16.sfu", Format::F16),
            ("exp2.bf16.sfu", Format::Bf16),
        ] {
            let mut all = patterns(format, 0, &documented(key), headline(key).domain, None);
            all.sort_by_key(|s| s.segment.start);
            let mut at = 0;
            for s in &all {
                assert_eq!(s.segment.start, at, "{key}");
                at += u64::from(s.segment.count);
                let first = format.decode(s.segment.start);
                let last = format.decode(at - 1);
                for x in [first, last] {
                    if let Some((e, negative)) = s.binade {
                        assert!(2f64.powi(e) <= x.abs() && x.abs() < 2f64.powi(e + 1));
                        assert_eq!(negative, x < 0.0);
                        assert_eq!(s.headline, headline(key).domain.holds(x));
                        for (i, b) in documented(key).iter().enumerate() {
                            let on = s.segment.bounds >> i & 1 == 1;
                            assert_eq!(on, b.domain.holds(x), "{key} {x:e}");
                        }
                    }
                }
            }
            assert_eq!(at, 1 << (8 * format.bytes()), "{key}");
        }
    }

    #[test]
    fn every_integer_is_in_exactly_one_segment() {
        let mut at = 0;
        for s in integers(&[], None) {
            assert_eq!(s.segment.start, at);
            at += u64::from(s.segment.count);
            for x in [s.segment.start, at - 1] {
                let x = x as u32 as i32;
                let e = (x != 0).then(|| (x.unsigned_abs().ilog2() as i32, x < 0));
                assert_eq!(s.binade, e, "{x}");
            }
        }
        assert_eq!(at, 1 << 32);
    }

    #[test]
    fn a_sample_lies_in_its_range_and_has_the_size_asked_for() {
        for (from, to, n) in [
            (0, 100, 40),
            (8, 9, 4),
            (1 << 20, 1 << 23, 4096),
            (5, 45, 39),
        ] {
            let all = runs(from, to, Some(n));
            assert_eq!(all.iter().map(|r| r.1 - r.0).sum::<u64>(), n.min(to - from));
            for w in all.windows(2) {
                assert!(w[0].1 <= w[1].0);
            }
            assert!(all[0].0 >= from && all[all.len() - 1].1 <= to);
        }
    }
}
