//! The portable elementary functions against MPFR, and their special values.

use kerf_num::portable::{cos, exp, log, log2, pow, sin};
use kerf_num::random::SplitMix64;
use rug::Float;
use rug::ops::Pow;

/// Arguments of each way of drawing them. The errors that `portable` states are those of 3,000,000.
const POINTS: u32 = 20_000;
/// Bits of the exact values: a logarithm of 1 + 2^-52 and a sine near a multiple of pi have all theirs.
const BITS: u32 = 200;

/// Error in units of the last place of `want`.
fn ulps(got: f64, want: &Float) -> f64 {
    if !got.is_finite() || want.is_zero() {
        return match got == want.to_f64() {
            true => 0.0,
            false => f64::INFINITY,
        };
    }
    // MPFR's mantissas lie in [1/2, 1).
    let exponent = want.get_exp().expect("a finite value").max(-1021);
    let error = Float::with_val(BITS, got) - want;
    (error >> (exponent - 53)).abs().to_f64()
}

/// Uniform in `[from, to)`.
fn between(r: &mut SplitMix64, from: f64, to: f64) -> f64 {
    from + (to - from) * (r.bits() >> 11) as f64 / 2f64.powi(53)
}

/// A finite number of any exponent.
fn any(r: &mut SplitMix64) -> f64 {
    loop {
        let x = f64::from_bits(r.bits());
        if x.is_finite() {
            return x;
        }
    }
}

/// One of the numbers next to `x`, which is not zero.
fn near(r: &mut SplitMix64, x: f64) -> f64 {
    f64::from_bits(x.to_bits() + r.bits() % 5 - 2)
}

/// A number between 2^from and 2^to in magnitude.
fn of_size(r: &mut SplitMix64, from: f64, to: f64) -> f64 {
    let size = between(r, from, to).exp2();
    if r.bits() & 1 == 0 { size } else { -size }
}

type Draw = fn(&mut SplitMix64) -> f64;

/// The largest error of a function over arguments drawn in each of several ways.
fn check(name: &str, bound: f64, f: fn(f64) -> f64, exact: fn(Float) -> Float, draws: &[Draw]) {
    for (way, draw) in draws.iter().enumerate() {
        let mut r = SplitMix64::new(way as u64);
        let mut worst = (0.0, 0.0);
        for _ in 0..POINTS {
            let x = draw(&mut r);
            let error = ulps(f(x), &exact(Float::with_val(BITS, x)));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        println!("{name} {way}: {} at {:e}", worst.0, worst.1);
        assert!(worst.0 <= bound, "{name}({:e}): {} ulps", worst.1, worst.0);
    }
}

/// Next to an odd multiple of ln(2)/2, where the reduced argument is largest.
fn half_way(r: &mut SplitMix64) -> f64 {
    let k = between(r, -1000.0, 1000.0).round() + 0.5;
    near(r, k * std::f64::consts::LN_2)
}

#[test]
fn exponentials() {
    check(
        "exp",
        0.95,
        exp,
        Float::exp,
        &[
            |r| between(r, -1.0, 1.0),
            |r| between(r, -745.2, 709.78),
            |r| between(r, -745.2, -708.0),
            |r| of_size(r, -60.0, -1.0),
            half_way,
        ],
    );
}

const LOG_DRAWS: [Draw; 6] = [
    |r| any(r).abs(),
    |r| between(r, 0.5, 2.0),
    |r| between(r, 0.97, 1.03),
    |r| 1.0 + of_size(r, -52.0, -4.0),
    |r| f64::from_bits(1 + (r.bits() >> 12)),
    // Next to the ends of the interval of reduced arguments.
    |r| near(r, std::f64::consts::SQRT_2) * 2f64.powi((r.bits() % 64) as i32 - 32),
];

#[test]
fn logarithms() {
    check("log", 0.9, log, Float::ln, &LOG_DRAWS);
    check("log2", 0.52, log2, Float::log2, &LOG_DRAWS);
}

const ANGLES: [Draw; 7] = [
    |r| between(r, -0.8, 0.8),
    |r| between(r, -10.0, 10.0),
    |r| between(r, -1_048_577.0, 1_048_577.0),
    // Next to multiples of pi/2.
    |r| {
        let n = between(r, 1.0, 700_000.0).round();
        near(r, n * std::f64::consts::FRAC_PI_2)
    },
    |r| {
        let n = of_size(r, 19.0, 60.0).round();
        near(r, n * std::f64::consts::FRAC_PI_2)
    },
    |r| of_size(r, 20.0, 1023.999),
    any,
];

#[test]
fn sines_and_cosines() {
    check("sin", 0.9, sin, Float::sin, &ANGLES);
    check("cos", 0.9, cos, Float::cos, &ANGLES);
}

/// Arguments whose reduction takes most bits, and large ones.
#[test]
fn difficult_angles() {
    for x in [
        // Nearest to a multiple of pi/2 of all numbers.
        6_381_956_970_095_103.0 * 2f64.powi(797),
        5_319_372_648_326_541.0 * 2f64.powi(199),
        1e22,
        2f64.powi(1000),
        f64::MAX,
        1_048_576.0,
        1_048_575.999_999_999_9,
        std::f64::consts::PI,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::FRAC_PI_4,
        3.0 * std::f64::consts::FRAC_PI_4,
        355.0,
        1e300,
    ] {
        for x in [x, -x] {
            let exact = Float::with_val(BITS, x);
            assert!(ulps(sin(x), &exact.clone().sin()) < 0.9, "sin({x:e})");
            assert!(ulps(cos(x), &exact.cos()) < 0.9, "cos({x:e})");
        }
    }
}

type DrawPair = fn(&mut SplitMix64) -> (f64, f64);

/// Bases and exponents of powers: of middling size, of all sizes whose power is finite, near one with large exponents,
/// with subnormal powers, integers.
const POWERS: [DrawPair; 6] = [
    |r| (between(r, 0.1, 10.0), between(r, -10.0, 10.0)),
    |r| {
        let x = any(r).abs();
        (x, between(r, -745.0, 709.7) / x.ln())
    },
    |r| {
        let x = 1.0 + of_size(r, -52.0, -5.0);
        (x, between(r, -745.0, 709.7) / x.ln())
    },
    |r| {
        let x = between(r, 0.5, 2.0);
        (x, between(r, 600.0, 709.7) / x.ln())
    },
    |r| {
        let x = between(r, 1.1, 100.0);
        (x, between(r, -745.1, -708.0) / x.ln())
    },
    |r| (-between(r, 0.0, 1e4), (r.bits() % 60) as f64 - 30.0),
];

#[test]
fn powers() {
    for (way, draw) in POWERS.iter().enumerate() {
        let mut r = SplitMix64::new(way as u64);
        let mut worst = (0.0, 0.0, 0.0);
        for _ in 0..POINTS {
            let (x, y) = draw(&mut r);
            let exact = Float::with_val(BITS, x).pow(Float::with_val(BITS, y));
            let got = pow(x, y);
            if exact.to_f64().is_infinite() {
                assert_eq!(got, exact.to_f64(), "{x:e}^{y:e}");
                continue;
            }
            let error = ulps(got, &exact);
            if error > worst.0 {
                worst = (error, x, y);
            }
        }
        let (error, x, y) = worst;
        println!("pow {way}: {error} at {x:e}, {y:e}");
        assert!(error <= 0.85, "{x:e}^{y:e}: {error} ulps");
    }
}

#[test]
fn exact_powers() {
    assert_eq!(pow(10.0, 3.0), 1000.0);
    assert_eq!(pow(10.0, 22.0), 1e22);
    assert_eq!(pow(2.0, -1074.0), f64::from_bits(1));
    assert_eq!(pow(4.0, 0.5), 2.0);
    assert_eq!(pow(f64::from_bits(1), 0.5), 2f64.powi(-537));
    assert_eq!(
        pow(2.0, 1023.5).to_bits(),
        (2f64.powi(1023) * 2f64.sqrt()).to_bits()
    );
    for n in -1074..1024 {
        let power = pow(2.0, f64::from(n));
        assert_eq!(power, binary_power(n));
        assert_eq!(log2(power), f64::from(n));
        assert_eq!(pow(0.5, f64::from(-n)), power);
    }
    for base in 1..=100u32 {
        let mut exact = 1.0f64;
        for exponent in 0..20 {
            if exact >= 2f64.powi(53) {
                break;
            }
            assert_eq!(pow(f64::from(base), f64::from(exponent)), exact);
            let sign = if exponent % 2 == 1 { -1.0 } else { 1.0 };
            assert_eq!(pow(-f64::from(base), f64::from(exponent)), sign * exact);
            exact *= f64::from(base);
        }
    }
    let mut r = SplitMix64::new(1);
    for _ in 0..POINTS {
        let x = any(&mut r);
        assert_eq!(pow(x, 1.0).to_bits(), x.to_bits());
        assert_eq!(pow(x, 2.0), x * x);
        // A root that is exact.
        let root = f64::from(r.bits() as u32);
        assert_eq!(pow(root * root, 0.5), root);
    }
}

fn binary_power(n: i32) -> f64 {
    match n < -1022 {
        true => f64::from_bits(1 << (n + 1074)),
        false => f64::from_bits(((n + 1023) as u64) << 52),
    }
}

/// Bits do not depend on the machine: a sum over many values, which changes if one of them does.
#[test]
fn bits_are_those_of_every_machine() {
    let mut r = SplitMix64::new(7);
    let mut sum = 0u64;
    let mut add = |x: f64| {
        let bits = if x.is_nan() { 1 } else { x.to_bits() };
        sum = (sum ^ bits)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    };
    for _ in 0..POINTS {
        for x in [between(&mut r, -800.0, 800.0), any(&mut r)] {
            for f in [exp, log, log2, sin, cos] {
                add(f(x));
            }
            add(pow(x.abs(), between(&mut r, -2.0, 2.0)));
        }
    }
    assert_eq!(sum, 16_264_608_776_146_078_049);
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn special_values() {
    type Case = (fn(f64) -> f64, &'static str, &'static [(f64, f64)]);
    let cases: [Case; 5] = [
        (
            exp,
            "exp",
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (INF, INF),
                (-INF, 0.0),
                (709.783, INF),
                (-745.2, 0.0),
                (1e300, INF),
                (-1e300, 0.0),
                (5e-324, 1.0),
                (NAN, NAN),
            ],
        ),
        (
            log,
            "log",
            &[
                (1.0, 0.0),
                (0.0, -INF),
                (-0.0, -INF),
                (INF, INF),
                (-1.0, NAN),
                (-5e-324, NAN),
                (-INF, NAN),
                (NAN, NAN),
            ],
        ),
        (
            log2,
            "log2",
            &[
                (1.0, 0.0),
                (0.0, -INF),
                (-0.0, -INF),
                (INF, INF),
                (-1.0, NAN),
                (-INF, NAN),
                (NAN, NAN),
                (5e-324, -1074.0),
            ],
        ),
        (
            sin,
            "sin",
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (5e-324, 5e-324),
                (-1e-310, -1e-310),
                (INF, NAN),
                (-INF, NAN),
                (NAN, NAN),
            ],
        ),
        (
            cos,
            "cos",
            &[
                (0.0, 1.0),
                (-0.0, 1.0),
                (5e-324, 1.0),
                (INF, NAN),
                (-INF, NAN),
                (NAN, NAN),
            ],
        ),
    ];
    for (f, name, values) in cases {
        for &(x, want) in values {
            assert!(
                same(f(x), want),
                "{name}({x:e}) is {:e}, not {want:e}",
                f(x)
            );
        }
    }
}

/// Powers of special values, and all pairs of them against the platform's function, which has the values of the C standard
/// where no rounding is involved.
#[test]
fn special_powers() {
    for (x, y, want) in [
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (-1.0, INF, 1.0),
        (-0.0, -3.0, -INF),
        (-0.0, -2.0, INF),
        (-0.0, 3.0, -0.0),
        (-0.0, 0.5, 0.0),
        (-INF, -3.0, -0.0),
        (-INF, 3.0, -INF),
        (-INF, 2.5, INF),
        (-8.0, 1.0 / 3.0, NAN),
        (-2.0, 9_007_199_254_740_991.0, -INF),
        (-2.0, 9_007_199_254_740_992.0, INF),
        (-0.5, 9_007_199_254_740_991.0, -0.0),
    ] {
        assert!(same(pow(x, y), want), "{x:e}^{y:e} is {:e}", pow(x, y));
    }
    let special = [
        0.0,
        5e-324,
        1e-300,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        1e16,
        9_007_199_254_740_991.0,
        1e300,
        f64::MAX,
        INF,
        NAN,
    ];
    let signed = || special.into_iter().flat_map(|x| [x, -x]);
    for x in signed() {
        for y in signed() {
            let (got, want) = (pow(x, y), x.powf(y));
            let close = (got - want).abs() <= 2.0 * f64::EPSILON * want.abs();
            assert!(
                same(got, want) || close,
                "{x:e}^{y:e} is {got:e}, not {want:e}"
            );
        }
    }
}
