//! Arguments of the operations that the host judges: stratified, adversarial and known hard ones.
//!
//! The same operation and number give the same arguments on every machine.
mod angles;
mod conversions;
mod doublewords;
mod functions;
mod tuples;

use super::number::NumberKind;
use super::ranges::in_map;
use super::strata::mix;
use super::subject::AccuracySubject;

/// Numbers that look random, by a counter.
pub struct Draw(u64);

impl Draw {
    /// A sequence of its own for each name.
    pub fn new(name: &str) -> Draw {
        let seed = name.bytes().fold(0, |s, b| mix(s ^ u64::from(b)));
        Draw(seed)
    }
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }
    /// Below `n`, which is not zero.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
    /// From `a` to `b`, in equal steps.
    pub fn real(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }
    /// From `a` to `b`, both included.
    pub fn whole(&mut self, a: i64, b: i64) -> i64 {
        a + self.below((b - a + 1) as u64) as i64
    }
    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    /// A number of a binade: any mantissa, or one of few bits, or with few bits missing.
    pub fn in_binade(&mut self, exponent: i32) -> f64 {
        let draw = self.bits();
        let ones = (1u64 << 52) - 1;
        let few = draw >> 8 & 3;
        let bit = 1 << ((draw >> 16) % 52);
        let fraction = match draw & 15 {
            0 => few,
            1 => ones - few,
            2 => bit + few,
            3 => ones - bit + few,
            _ => draw >> 12,
        } & ones;
        scaled((1 << 52) + fraction, exponent - 52)
    }
    /// The number with a random sign.
    pub fn signed(&mut self, x: f64) -> f64 {
        if self.bits() & 1 == 0 { x } else { -x }
    }
    /// A number at most `steps` values away.
    pub fn near(&mut self, x: f64, steps: i64) -> f64 {
        let away = self.whole(-steps, steps);
        let at = x.abs().to_bits() as i64 + away;
        f64::from_bits(at.max(0) as u64).copysign(x)
    }
}

/// `n * 2^e`, rounded once towards zero below the normal numbers.
pub fn scaled(n: u64, e: i32) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let drop = (-1074 - e).max(0) as u32;
    let (n, e) = match n.checked_shr(drop) {
        None | Some(0) => return 0.0,
        Some(n) => (n, e + drop as i32),
    };
    // In two steps: the power itself may be out of range.
    let half = e / 2;
    n as f64 * 2f64.powi(half) * 2f64.powi(e - half)
}

/// Values at the ends of ranges and around 1, of both signs, infinity and NaN.
pub fn specials() -> Vec<f64> {
    let least = f64::from_bits(1);
    let one = |steps: i64| f64::from_bits((1f64.to_bits() as i64 + steps) as u64);
    let values = [
        0.0,
        least,
        2.0 * least,
        f64::MIN_POSITIVE.next_down(),
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE.next_up(),
        one(-1),
        1.0,
        one(1),
        0.5,
        1.5,
        2.0,
        3.0,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    values.iter().flat_map(|v| [*v, -*v]).collect()
}

/// The binades of an error map, once each.
pub fn binades() -> Vec<i32> {
    (-1074..=1023).filter(|e| in_map(*e)).collect()
}

/// About `n` tuples of arguments of an operation, as words one after the other.
pub fn words(s: &AccuracySubject, n: usize) -> Vec<u64> {
    let mut draw = Draw::new(s.function);
    match s.argument {
        NumberKind::Double(f) => doublewords::words(s, f, n, &mut draw),
        NumberKind::I32 | NumberKind::I64 => conversions::from_integer(s.result, n, &mut draw),
        NumberKind::Float(_) if s.function == "convert" => {
            conversions::from_double(s.result, n, &mut draw)
        }
        NumberKind::Float(_) => {
            let values = match s.arity {
                1 => functions::values(s.function, n, &mut draw),
                _ => tuples::values(s.function, s.arity, n, &mut draw),
            };
            values.into_iter().map(f64::to_bits).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{catalogue, find};

    #[test]
    fn as_many_as_asked_for_and_the_same_each_time() {
        for op in catalogue() {
            let Some(s) = AccuracySubject::for_operation(&op).filter(|s| s.argument.bits() > 32)
            else {
                continue;
            };
            let a = words(&s, 5000);
            assert_eq!(a.len(), 5000 * s.arity * s.argument.words(), "{}", op.key);
            assert_eq!(a, words(&s, 5000), "{}", op.key);
        }
    }

    #[test]
    fn every_binade_of_the_map_is_met() {
        let s = AccuracySubject::for_operation(&find("tan.f64").expect("there")).expect("measured");
        let met: std::collections::BTreeSet<_> = words(&s, 1 << 13)
            .iter()
            .filter_map(|w| s.place(&[*w]).binade)
            .collect();
        assert_eq!(met.len(), 2 * binades().len());
    }

    #[test]
    fn scaling() {
        assert_eq!(scaled(3, 4), 48.0);
        assert_eq!(scaled(1, -1074), f64::from_bits(1));
        assert_eq!(scaled(7, -1075), f64::from_bits(3));
        assert_eq!(scaled(1 << 52, -1126), f64::from_bits(1));
        assert_eq!(scaled(1, -1200), 0.0);
        assert_eq!(scaled((1 << 53) - 1, 971), f64::MAX);
    }
}
