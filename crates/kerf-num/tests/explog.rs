//! `exp` and `log` of double-word numbers, measured against MPFR.

use crate::oracle;

use kerf_num::doubleword::{Dw, fast_two_sum};
use oracle::{PRECISION, Word, err_u2};
use rug::Float;

const POINTS: u32 = 20_000;
/// Enough for an exact input and a result good far past `u^2`.
const WORKING_BITS: u32 = 320;

/// A fixed sequence, so that the measured errors are the same every time.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[from, to)`.
    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * (self.next() >> 11) as f64 / 2f64.powi(53)
    }

    /// A double-word number with `x` rounded to a word as its high word.
    fn pair<T: Word>(&mut self, x: f64) -> Dw<T> {
        let hi = T::cast(x);
        let half_ulps = self.between(-1.0, 1.0);
        let lo = half_ulps * 2f64.powi(hi.exponent() - T::P);
        fast_two_sum(hi, T::cast(lo))
    }
}

fn working<T: Word>(x: Dw<T>) -> Float {
    Float::with_val(WORKING_BITS, x.hi.to_f64()) + x.lo.to_f64()
}

/// The largest error over `POINTS` inputs drawn by `draw`.
fn worst<T: Word>(
    name: &str,
    mut draw: impl FnMut(&mut SplitMix) -> f64,
    op: impl Fn(Dw<T>) -> Dw<T>,
    truth: impl Fn(Float) -> Float,
) -> f64 {
    let mut random = SplitMix(1);
    let mut worst = 0.0f64;
    for _ in 0..POINTS {
        let x = draw(&mut random);
        let x = random.pair::<T>(x);
        let got = op(x);
        let want = Float::with_val(PRECISION, truth(working(x)));
        let err = err_u2(got, &want);
        assert!(
            got.hi + got.lo == got.hi,
            "{name} of {x:?} is not normalised"
        );
        worst = worst.max(err);
    }
    println!("{} {name}: {worst:.3} u^2", T::NAME);
    worst
}

/// `limit` bounds |x| such that the low word of the result stays normal.
fn exp_errors<T: Word>(limit: f64) {
    for (name, from, to) in [
        ("exp, whole range", -limit, limit),
        ("exp, [-1, 1]", -1.0, 1.0),
        ("exp, [-0.01, 0.01]", -0.01, 0.01),
        ("exp, around ln(2)/2", 0.34, 0.36),
    ] {
        let err = worst::<T>(name, |r| r.between(from, to), Dw::exp, Float::exp);
        assert!(err <= T::EXP_ERR_U2, "{} {name}: {err} u^2", T::NAME);
    }
}

fn log_errors<T: Word>(limit: f64) {
    let whole = |r: &mut SplitMix| r.between(-limit, limit).exp2();
    let near_one = |r: &mut SplitMix| {
        let distance = r.between(-20.0, -1.0).exp2();
        if r.next() & 1 == 0 {
            1.0 + distance
        } else {
            1.0 - distance
        }
    };
    let results = [
        worst::<T>("log, whole range", whole, Dw::log, Float::ln),
        worst::<T>("log, [0.5, 2]", |r| r.between(0.5, 2.0), Dw::log, Float::ln),
        worst::<T>("log, near 1", near_one, Dw::log, Float::ln),
    ];
    for err in results {
        assert!(err <= T::LOG_ERR_U2, "{}: {err} u^2", T::NAME);
    }
}

#[test]
fn exp_within_its_measured_bound() {
    exp_errors::<f32>(50.0);
    exp_errors::<f64>(600.0);
}

#[test]
fn log_within_its_measured_bound() {
    log_errors::<f32>(100.0);
    log_errors::<f64>(900.0);
}

#[test]
fn log_of_one_plus_a_low_word_is_that_low_word() {
    let tiny = 2f64.powi(-80);
    assert_eq!(Dw { hi: 1.0, lo: tiny }.log().hi, tiny);
    assert_eq!(Dw::from_word(1.0f64).log(), Dw::from_word(0.0));
    assert_eq!(Dw::from_word(1.0f32).log(), Dw::from_word(0.0));
}

fn special_values<T: Word>() {
    let of = Dw::<T>::from_word;
    let inf = of(T::INFINITY);
    assert_eq!(of(T::ZERO).exp(), of(T::ONE));
    assert_eq!(inf.exp(), inf);
    assert_eq!((-inf).exp(), of(T::ZERO));
    assert_eq!(of(T::cast(1e4)).exp(), inf);
    assert_eq!(of(T::cast(-1e4)).exp(), of(T::ZERO));
    assert!(of(T::NAN).exp().hi.to_f64().is_nan());
    assert_eq!(of(T::ZERO).log(), -inf);
    assert_eq!(inf.log(), inf);
    assert!(of(-T::ONE).log().hi.to_f64().is_nan());
    assert!(of(T::NAN).log().hi.to_f64().is_nan());
}

#[test]
fn special_values_follow_the_word() {
    special_values::<f32>();
    special_values::<f64>();
}

#[test]
fn ends_of_the_range() {
    let max = Dw::from_word(709.782f64).exp();
    assert_eq!(max.hi, 709.782f64.exp());
    assert!(Dw::from_word(709.783f64).exp().hi.is_infinite());
    let subnormal = Dw::from_word(-740.0f64).exp();
    assert!(subnormal.hi > 0.0 && subnormal.hi < f64::MIN_POSITIVE);
    let smallest = Dw::from_word(f64::from_bits(1)).log();
    assert_eq!(smallest.hi, f64::from_bits(1).ln());
    assert_eq!(Dw::from_word(f64::MAX).log().hi, f64::MAX.ln());
}
