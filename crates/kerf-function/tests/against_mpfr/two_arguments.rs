//! Functions of two arguments and of two results: errors at random arguments, corners, quadrants and special values.
use kerf_function::core_fit::EvaluationScheme;
use kerf_function::working_format::WorkingFormat::{self, F32, F64};
use kerf_function::{
    ErrorMeasure::{self, Absolute, Relative},
    FunctionError, MadeRequest, MadeTarget, make,
};
use kerf_num::made::MadeFunction;
use rug::Float;
use rug::ops::Pow;

const ARGUMENTS: usize = 4000;

/// A generator of numbers between 0 and 1.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005);
        self.0 = self.0.wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of a range: uniform, of random magnitude, or an end.
    fn number(&mut self, [from, to]: [f64; 2], format: WorkingFormat) -> f64 {
        let x = from + (to - from) * self.next();
        let x = match (self.next() * 8.0) as u32 {
            0 => x * 2f64.powi(-(40.0 * self.next()) as i32),
            1 => from,
            2 => to,
            _ => x,
        };
        let x = match format {
            F64 => x,
            F32 => f64::from(x as f32),
        };
        x.clamp(from, to)
    }
}

fn exact(function: &str, x: f64, y: f64) -> Float {
    let wide = |x: f64| Float::with_val(160, x);
    match function {
        "pow" => wide(x).pow(y),
        "hypot" => wide(x).hypot(&wide(y)),
        "rhypot" => wide(x).hypot(&wide(y)).recip(),
        "atan2" => wide(x).atan2(&wide(y)),
        _ => panic!("{function}"),
    }
}

/// The largest error at random arguments, each of which is within the proven bound.
fn measured(made: &MadeFunction, exact: impl Fn(&[f64]) -> Vec<Float>) -> f64 {
    let mut random = Uniform(0x9e37_79b9_7f4a_7c15);
    let (mut worst, mut inside) = (0f64, 0);
    for _ in 0..ARGUMENTS {
        let mut arguments = vec![random.number([made.from, made.to], made.format())];
        arguments.extend(made.second.map(|y| random.number(y, made.format())));
        let Some(results) = made.results(&arguments) else {
            continue;
        };
        inside += 1;
        for (y, exact) in results.into_iter().zip(exact(&arguments)) {
            if made.measure == Relative && exact.clone().abs() < made.format().smallest_normal() {
                continue;
            }
            let off = Float::with_val(160, &exact - y).abs();
            let error = match made.measure {
                Relative => (off / exact.abs()).to_f64(),
                Absolute => off.to_f64(),
            };
            assert!(error <= made.bound, "{made} at {arguments:?}: {error:e}");
            worst = worst.max(error);
        }
    }
    assert!(inside > ARGUMENTS / 2, "{made}: {inside} arguments inside");
    worst
}

fn request(
    function: &str,
    x: [f64; 2],
    y: Option<[f64; 2]>,
    error: f64,
    measure: ErrorMeasure,
    format: WorkingFormat,
) -> MadeRequest {
    let number = |x: f64| match format {
        F64 => x,
        F32 => f64::from(x as f32),
    };
    MadeRequest {
        target: MadeTarget::find(function).expect("a function"),
        x: x.map(number),
        y: y.map(|y| y.map(number)),
        error,
        measure,
        format,
    }
}

fn check(r: MadeRequest) -> MadeFunction {
    let made = make(&r, EvaluationScheme::Horner).unwrap_or_else(|e| panic!("{r:?}: {e}"));
    let made = made.in_plans().expect("reads back");
    assert!(made.bound <= r.error, "{made}");
    let worst = match r.target {
        MadeTarget::SineAndCosine => measured(&made, |x| {
            let x = Float::with_val(160, x[0]);
            vec![x.clone().sin(), x.cos()]
        }),
        _ => measured(&made, |x| vec![exact(&made.function, x[0], x[1])]),
    };
    println!(
        "{made}: asked {:e}, measured {worst:.1e}, {} slots; {}",
        r.error,
        made.code.slots(),
        made.reduction
    );
    made
}

#[test]
fn powers() {
    let wide = Some([-5.0, 5.0]);
    for error in [1e-3, 1e-6, 1e-9, 1e-12] {
        check(request("pow", [0.001, 1000.0], wide, error, Relative, F64));
    }
    check(request(
        "pow",
        [1e-300, 1e300],
        Some([-1.0, 1.0]),
        1e-13,
        Relative,
        F64,
    ));
    check(request(
        "pow",
        [0.75, 1.375],
        Some([-100.0, 100.0]),
        1e-12,
        Relative,
        F64,
    ));
    check(request(
        "pow",
        [0.5, 2.0],
        Some([-1000.0, 1000.0]),
        1e-11,
        Relative,
        F64,
    ));
    check(request(
        "pow",
        [0.0625, 1.0],
        Some([0.25, 3.0]),
        1e-14,
        Absolute,
        F64,
    ));
    check(request("pow", [0.001, 1000.0], wide, 1e-3, Relative, F32));
    let compensated = check(request("pow", [0.001, 1000.0], wide, 1e-6, Relative, F32));
    assert!(compensated.reduction.contains("two words"));
    // Results below the normal numbers take two factors.
    check(request(
        "pow",
        [0.5, 1.0],
        Some([0.0, 1060.0]),
        1e-9,
        Relative,
        F64,
    ));
}

#[test]
fn powers_with_one_exponent() {
    let fixed = |c: f64| Some([c, c]);
    let square = check(request(
        "pow",
        [-3.0, 5.0],
        fixed(2.0),
        1e-15,
        Relative,
        F64,
    ));
    assert_eq!(
        (square.code.slots(), square.results(&[3.0, 2.0])),
        (1, Some(vec![9.0]))
    );
    assert_eq!(square.results(&[3.0, 2.5]), None);
    check(request(
        "pow",
        [0.1, 50.0],
        fixed(-3.0),
        1e-15,
        Relative,
        F64,
    ));
    check(request(
        "pow",
        [0.0, 50.0],
        fixed(1.5),
        1e-15,
        Relative,
        F64,
    ));
    check(request(
        "pow",
        [0.1, 50.0],
        fixed(-2.5),
        2e-15,
        Relative,
        F64,
    ));
    for error in [1e-3, 1e-6, 1e-9, 1e-12, 1e-15] {
        check(request(
            "pow",
            [0.001, 1000.0],
            fixed(0.4166),
            error,
            Relative,
            F64,
        ));
    }
    check(request(
        "pow",
        [0.5, 0.75],
        fixed(2.2),
        1e-10,
        Relative,
        F64,
    ));
    check(request(
        "pow",
        [0.01, 1.0],
        fixed(2.2),
        1e-10,
        Absolute,
        F64,
    ));
    check(request(
        "pow",
        [0.001, 100.0],
        fixed(-0.7),
        1e-6,
        Relative,
        F32,
    ));
    check(request(
        "pow",
        [2.0, 100.0],
        fixed(17.0),
        1e-12,
        Relative,
        F64,
    ));
}

#[test]
fn hypotenuses() {
    let unit = [-1e3, 1e3];
    for (function, least) in [("hypot", 2.5e-16), ("rhypot", 4e-16)] {
        check(request(function, unit, Some(unit), least, Relative, F64));
        check(request(function, unit, Some(unit), 2.1e-7, Relative, F32));
        let huge = Some([-1e300, 1e300]);
        let wide = request(function, [-1.0, 1e200], Some(unit), 1e-9, Relative, F64);
        let made = make(&wide, EvaluationScheme::Horner).expect("made");
        assert_eq!(made.results(&[1e180, 1.0]), None, "squares would overflow");
        assert_eq!(
            made.results(&[1e-160, -1e-160]),
            None,
            "squares would underflow"
        );
        let made = make(
            &request(function, [1.0, 2.0], huge, 1e-9, Relative, F64),
            EvaluationScheme::Horner,
        );
        assert!(made.is_ok_and(|m| m.results(&[1.0, 1e299]).is_none()));
    }
    check(request(
        "hypot",
        [0.0, 7.0],
        Some([0.0, 3.0]),
        4e-15,
        Absolute,
        F64,
    ));
}

#[test]
fn angles() {
    let unit = [-2.0, 2.0];
    for error in [1e-3, 1e-6, 1e-9, 1e-12, 1e-15] {
        check(request("atan2", unit, Some(unit), error, Relative, F64));
    }
    check(request("atan2", unit, Some(unit), 1e-15, Absolute, F64));
    for error in [1e-3, 1e-6] {
        check(request("atan2", unit, Some(unit), error, Relative, F32));
    }
    // One sign and one order of magnitudes need no choice between forms.
    let plain = check(request(
        "atan2",
        [-1.0, 1.0],
        Some([4.0, 9.0]),
        1e-9,
        Relative,
        F64,
    ));
    let steep = check(request(
        "atan2",
        [-9.0, -4.0],
        Some([-1.0, 3.0]),
        1e-9,
        Relative,
        F64,
    ));
    let left = check(request(
        "atan2",
        [-1.0, 1.0],
        Some([-9.0, -4.0]),
        1e-9,
        Relative,
        F64,
    ));
    let all = check(request("atan2", unit, Some(unit), 1e-9, Relative, F64));
    assert!(plain.code.slots() < left.code.slots() && left.code.slots() < all.code.slots());
    assert!(steep.code.slots() < all.code.slots());
    let at = |x: f64, y: f64| all.results(&[x, y]).map(|r| r[0]);
    for (x, y) in [
        (0.0, 1.0),
        (-0.0, 1.0),
        (0.0, -1.0),
        (-0.0, -1.0),
        (1.0, 0.0),
        (-1.0, -0.0),
        (1.0, -0.0),
    ] {
        let value = at(x, y).expect("inside");
        assert!((value - f64::atan2(x, y)).abs() < 4e-9, "{x} {y}: {value}");
        assert_eq!(value.is_sign_negative(), x.is_sign_negative(), "{x} {y}");
    }
    for (x, y) in [
        (0.0, 0.0),
        (-0.0, -0.0),
        (f64::NAN, 1.0),
        (1.0, f64::NAN),
        (f64::INFINITY, 1.0),
        (1e-310, 1e-310),
    ] {
        assert_eq!(at(x, y), None, "{x} {y} are for the library");
    }
}

#[test]
fn sines_and_cosines() {
    for error in [1e-3, 1e-6, 1e-9, 1e-12] {
        let both = check(request(
            "sincos",
            [-100.0, 100.0],
            None,
            error,
            Absolute,
            F64,
        ));
        let slots = |name: &str| {
            let one = request(name, [-100.0, 100.0], None, error, Absolute, F64);
            let made = make(&one, EvaluationScheme::Horner).expect("made");
            made.code.slots()
        };
        assert!(
            both.code.slots() + 5 < slots("sin") + slots("cos"),
            "shares the reduction"
        );
    }
    check(request("sincos", [-0.75, 0.75], None, 1e-15, Relative, F64));
    check(request("sincos", [-2.0, 9.0], None, 1e-10, Absolute, F64));
    check(request("sincos", [-30.0, 30.0], None, 1e-5, Absolute, F32));
}

#[test]
fn refusals_of_two_arguments_say_why() {
    let refused = |r: MadeRequest| make(&r, EvaluationScheme::Horner).expect_err("refused");
    let y = Some([-1.0, 1.0]);
    let e = refused(request(
        "pow",
        [-1.0, 1.0],
        Some([0.5, 1.5]),
        1e-6,
        Relative,
        F64,
    ));
    assert!(matches!(e, FunctionError::Domain { .. }), "{e}");
    let e = refused(request(
        "pow",
        [1.0, 1e10],
        Some([0.0, 100.0]),
        1e-6,
        Relative,
        F64,
    ));
    assert!(matches!(e, FunctionError::Overflow { .. }), "{e}");
    let e = refused(request(
        "pow",
        [1e-100, 1.0],
        Some([0.0, 100.0]),
        1e-6,
        Relative,
        F64,
    ));
    assert!(matches!(e, FunctionError::Underflow { .. }), "{e}");
    let e = refused(request(
        "pow",
        [0.001, 1000.0],
        Some([-5.0, 5.0]),
        1e-17,
        Relative,
        F64,
    ));
    assert!(matches!(e, FunctionError::TooAccurate { .. }), "{e}");
    let e = refused(request("hypot", [-1.0, 1.0], y, 1e-16, Relative, F64));
    assert!(matches!(e, FunctionError::TooAccurate { .. }), "{e}");
    let e = refused(request("hypot", [-1.0, 1.0], None, 1e-6, Relative, F64));
    assert!(
        matches!(e, FunctionError::SecondRangeMissing("hypot")),
        "{e}"
    );
    let e = refused(request("exp", [-1.0, 1.0], y, 1e-6, Relative, F64));
    assert!(matches!(e, FunctionError::NoSecondArgument("exp")), "{e}");
    let e = refused(request("atan2", [1.0, -1.0], y, 1e-6, Relative, F64));
    assert!(matches!(e, FunctionError::Range { .. }), "{e}");
    let e = refused(request("sincos", [3.0, 3.5], None, 1e-6, Relative, F64));
    assert!(matches!(e, FunctionError::Zero { .. }), "{e}");
}
