//! Elementary functions on double-doubles: arithmetic directly, the rest through MPFR at 180 bits.
use kerf_num::Dd;
use kerf_pass::shadow::FUNCTIONS;
use rug::Float;
use std::sync::LazyLock;

/// Working precision: double-double keeps about 106 bits, and erfcx, pow and the like lose some.
const BITS: u32 = 180;

type F1 = fn(Float) -> Float;
type F2 = fn(Float, &Float) -> Float;

#[derive(Clone, Copy)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Sqrt,
    Neg,
    Abs,
    Floor,
    Ceil,
    Trunc,
    Rint,
    Round,
    Min,
    Max,
    Copysign,
    Fmod,
    Exp,
    Log,
    Rcp,
    Saturate,
    Fdim,
    Norm3(bool),
    One(F1),
    Two(F2),
    Unknown,
}

fn float(v: Dd) -> Float {
    Float::with_val(BITS, v.hi) + v.lo
}

fn dd(v: &Float) -> Dd {
    let hi = v.to_f64();
    if !hi.is_finite() || hi == 0.0 {
        return Dd { hi, lo: 0.0 };
    }
    let lo = Float::with_val(BITS, v - hi).to_f64();
    Dd { hi, lo }
}

fn half(x: Float) -> Float {
    x / 2u32
}

fn normcdf(x: Float) -> Float {
    let root = Float::with_val(BITS, 2).sqrt();
    half((-x / root).erfc())
}

fn erfcx(x: Float) -> Float {
    // exp(x^2) erfc(x) in enough precision for the cancellation of huge by tiny.
    let p = 600;
    let x = Float::with_val(p, &x);
    if x > 5e4 {
        // erfc leaves even MPFR's reach slowly; the asymptotic series converges at once here.
        let pi = Float::with_val(p, rug::float::Constant::Pi).sqrt();
        let x2 = Float::with_val(p, x.square_ref());
        let mut term = Float::with_val(p, 1);
        let mut sum = Float::with_val(p, 1);
        for k in 1..12u32 {
            term = -term * (2 * k - 1) / Float::with_val(p, &x2 * 2u32);
            sum += &term;
        }
        return Float::with_val(BITS, sum / (x * pi));
    }
    let e = Float::with_val(p, x.square_ref()).exp();
    Float::with_val(BITS, e * x.erfc())
}

/// Solves f(y) = x by Newton from an f64 start.
fn invert(
    x: &Float,
    start: f64,
    f: impl Fn(&Float) -> Float,
    df: impl Fn(&Float) -> Float,
) -> Float {
    let mut y = Float::with_val(BITS, start);
    if !start.is_finite() {
        return y;
    }
    for _ in 0..100 {
        let step = (f(&y) - x) / df(&y);
        let small =
            step.is_zero() || step.clone().abs() < y.clone().abs() * Float::with_val(BITS, 1e-50);
        y -= step;
        if small {
            break;
        }
    }
    y
}

fn erfinv(x: Float) -> Float {
    let a = x.to_f64();
    if a.abs() >= 1.0 || a == 0.0 {
        return Float::with_val(
            BITS,
            if a.abs() > 1.0 {
                f64::NAN
            } else if a == 0.0 {
                a
            } else {
                a * f64::INFINITY
            },
        );
    }
    // Winitzki's start.
    let l = (1.0 - a * a).ln();
    let t = 2.0 / (std::f64::consts::PI * 0.147) + l / 2.0;
    let start = a.signum() * ((t * t - l / 0.147).sqrt() - t).sqrt();
    let two_over =
        Float::with_val(BITS, 2) / Float::with_val(BITS, rug::float::Constant::Pi).sqrt();
    invert(
        &x,
        start,
        |y| y.clone().erf(),
        |y| Float::with_val(BITS, -y.clone().square()).exp() * &two_over,
    )
}

fn erfcinv(x: Float) -> Float {
    let a = x.to_f64();
    if !(a > 0.0 && a < 2.0) {
        return Float::with_val(
            BITS,
            if a == 0.0 {
                f64::INFINITY
            } else if a == 2.0 {
                f64::NEG_INFINITY
            } else {
                f64::NAN
            },
        );
    }
    if a > 1.0 {
        return -erfcinv(Float::with_val(BITS, 2 - x));
    }
    // erfc(y) ~ exp(-y^2)/(y sqrt(pi)); Newton on the logarithm converges from there.
    let l = -a.ln();
    let mut start = if l < 1.0 {
        0.5
    } else {
        (l - 0.5 * (l * std::f64::consts::PI).ln()).max(0.1).sqrt()
    };
    if a > 0.3 {
        start = (1.0 - a) * 0.886;
    }
    let two_over =
        Float::with_val(BITS, 2) / Float::with_val(BITS, rug::float::Constant::Pi).sqrt();
    let target = x.clone().ln();
    invert(
        &target,
        start,
        |y| y.clone().erfc().ln(),
        |y| -(Float::with_val(BITS, -y.clone().square()).exp() * &two_over) / y.clone().erfc(),
    )
}

fn normcdfinv(x: Float) -> Float {
    let root = Float::with_val(BITS, 2).sqrt();
    -erfcinv(x * 2u32) * root
}

fn one(name: &str) -> Option<F1> {
    Some(match name {
        "exp2" => Float::exp2,
        "exp10" => Float::exp10,
        "expm1" => Float::exp_m1,
        "log2" => Float::log2,
        "log10" => Float::log10,
        "log1p" => Float::ln_1p,
        "sin" => Float::sin,
        "cos" => Float::cos,
        "tan" => Float::tan,
        "asin" => Float::asin,
        "acos" => Float::acos,
        "atan" => Float::atan,
        "sinh" => Float::sinh,
        "cosh" => Float::cosh,
        "tanh" => Float::tanh,
        "asinh" => Float::asinh,
        "acosh" => Float::acosh,
        "atanh" => Float::atanh,
        "rsqrt" => Float::recip_sqrt,
        "cbrt" => Float::cbrt,
        "rcbrt" => |x| x.cbrt().recip(),
        "erf" => Float::erf,
        "erfc" => Float::erfc,
        "erfcx" => erfcx,
        "normcdf" => normcdf,
        "tgamma" => Float::gamma,
        "lgamma" => |x| x.ln_abs_gamma().0,
        "j0" => Float::j0,
        "j1" => Float::j1,
        "y0" => Float::y0,
        "y1" => Float::y1,
        "sinpi" => Float::sin_pi,
        "cospi" => Float::cos_pi,
        "erfinv" => erfinv,
        "erfcinv" => erfcinv,
        "normcdfinv" => normcdfinv,
        _ => return None,
    })
}

fn two(name: &str) -> Option<F2> {
    use rug::ops::Pow;
    Some(match name {
        "pow" => |a, b| a.pow(b),
        "atan2" => |a, b| a.atan2(b),
        "hypot" => |a, b| a.hypot(b),
        "rhypot" => |a, b| a.hypot(b).recip(),
        "remainder" => |a, b| a.remainder(b),
        _ => return None,
    })
}

static OPS: LazyLock<Vec<Op>> = LazyLock::new(|| {
    FUNCTIONS
        .iter()
        .map(|(n, _)| match *n {
            "add" => Op::Add,
            "sub" => Op::Sub,
            "mul" => Op::Mul,
            "div" => Op::Div,
            "fma" => Op::Fma,
            "sqrt" => Op::Sqrt,
            "neg" => Op::Neg,
            "fabs" => Op::Abs,
            "floor" => Op::Floor,
            "ceil" => Op::Ceil,
            "trunc" => Op::Trunc,
            "rint" => Op::Rint,
            "round" => Op::Round,
            "fmin" => Op::Min,
            "fmax" => Op::Max,
            "copysign" => Op::Copysign,
            "fmod" => Op::Fmod,
            "exp" => Op::Exp,
            "log" => Op::Log,
            "rcp" => Op::Rcp,
            "saturate" => Op::Saturate,
            "fdim" => Op::Fdim,
            "norm3d" => Op::Norm3(false),
            "rnorm3d" => Op::Norm3(true),
            n => one(n)
                .map(Op::One)
                .or_else(|| two(n).map(Op::Two))
                .unwrap_or(Op::Unknown),
        })
        .collect()
});

fn op(f: u32) -> Op {
    OPS.get(f as usize).copied().unwrap_or(Op::Unknown)
}

fn round_away(v: Dd) -> Dd {
    let a = v.abs().add(Dd::from_f64(0.5)).floor();
    a.copysign(v)
}

pub(super) extern "C" fn apply1(f: u32, hi: f64, lo: f64) -> Dd {
    let v = Dd { hi, lo };
    match op(f) {
        Op::Sqrt => v.sqrt(),
        Op::Neg => v.neg(),
        Op::Abs => v.abs(),
        Op::Floor => v.floor(),
        Op::Ceil => v.ceil(),
        Op::Trunc => v.trunc(),
        Op::Rint => v.round_even(),
        Op::Round => round_away(v),
        Op::Exp => v.exp(),
        Op::Log => v.log(),
        Op::Rcp => Dd::from_f64(1.0).div(v),
        Op::Saturate => v.max(Dd::from_f64(0.0)).min(Dd::from_f64(1.0)),
        Op::One(g) => dd(&g(float(v))),
        _ => v,
    }
}

pub(super) extern "C" fn apply2(f: u32, ah: f64, al: f64, bh: f64, bl: f64) -> Dd {
    let (a, b) = (Dd { hi: ah, lo: al }, Dd { hi: bh, lo: bl });
    match op(f) {
        Op::Add => a.add(b),
        Op::Sub => a.sub(b),
        Op::Mul => a.mul(b),
        Op::Div => a.div(b),
        Op::Fmod => a.fmod(b),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::Copysign => a.copysign(b),
        Op::Fdim => a.sub(b).max(Dd::from_f64(0.0)),
        Op::Two(g) => dd(&g(float(a), &float(b))),
        _ => a,
    }
}

pub(super) extern "C" fn apply3(
    f: u32,
    ah: f64,
    al: f64,
    bh: f64,
    bl: f64,
    ch: f64,
    cl: f64,
) -> Dd {
    let (a, b, c) = (
        Dd { hi: ah, lo: al },
        Dd { hi: bh, lo: bl },
        Dd { hi: ch, lo: cl },
    );
    match op(f) {
        Op::Norm3(inverse) => {
            let n = a.mul(a).add(b.mul(b)).add(c.mul(c)).sqrt();
            if inverse { Dd::from_f64(1.0).div(n) } else { n }
        }
        _ => a.mul(b).add(c),
    }
}

pub(super) extern "C" fn powi(hi: f64, lo: f64, e: i32) -> Dd {
    use rug::ops::Pow;
    dd(&float(Dd { hi, lo }).pow(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, x: f64) -> f64 {
        let f = FUNCTIONS.iter().position(|f| f.0 == name).expect("listed") as u32;
        apply1(f, x, 0.0).to_f64()
    }

    #[test]
    fn every_function_is_known() {
        for (i, (n, _)) in FUNCTIONS.iter().enumerate() {
            assert!(!matches!(op(i as u32), Op::Unknown), "{n}");
        }
    }

    #[test]
    fn inverses_invert() {
        for x in [-0.999, -0.3, 1e-12, 0.5, 0.99999] {
            assert!(
                (at("erf", at("erfinv", x)) - x).abs() < 1e-15 * x.abs().max(1e-16) * 4.0,
                "{x}"
            );
        }
        for x in [1e-300, 1e-9, 0.2, 0.7, 1.0, 1.5, 1.999_999] {
            let r = at("erfc", at("erfcinv", x));
            assert!((r - x).abs() <= 4e-15 * x, "{x} {r}");
        }
        assert!((at("normcdf", at("normcdfinv", 0.025)) - 0.025).abs() < 1e-17);
    }

    #[test]
    fn a_few_values() {
        assert_eq!(at("round", -2.5), -3.0);
        assert_eq!(at("rint", 2.5), 2.0);
        assert_eq!(at("sinpi", 0.5), 1.0);
        assert!((at("erfcx", 10.0) - 0.056_140_992_743_822_58).abs() < 1e-16);
        assert!((at("erfcx", 1e6) - 5.641_895_835_474_742e-7).abs() < 1e-21);
    }
}
