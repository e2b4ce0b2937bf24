//! Implementations against MPFR: the measured error is within the proven bound, and that within the asked error.
#[path = "against_mpfr/two_arguments.rs"]
mod two_arguments;

use kerf_function::core_fit::EvaluationScheme;
use kerf_function::target::TargetFunction;
use kerf_function::working_format::WorkingFormat;
use kerf_function::{
    ErrorMeasure, FunctionError, FunctionImplementation, FunctionSpecification, implement,
};
use rug::Float;

const ARGUMENTS: u64 = 2000;

fn specification(name: &str, from: f64, to: f64, error: f64) -> FunctionSpecification {
    FunctionSpecification {
        function: TargetFunction::find(name).expect("a function"),
        from,
        to,
        error,
        measure: ErrorMeasure::Relative,
        format: WorkingFormat::F64,
    }
}

fn absolute(s: FunctionSpecification) -> FunctionSpecification {
    FunctionSpecification {
        measure: ErrorMeasure::Absolute,
        ..s
    }
}

fn single(s: FunctionSpecification) -> FunctionSpecification {
    FunctionSpecification {
        format: WorkingFormat::F32,
        from: f64::from(s.from as f32),
        to: f64::from(s.to as f32),
        ..s
    }
}

/// The ends, and numbers between them by a congruential generator; near zero also their small fractions.
fn arguments(s: &FunctionSpecification) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut all = vec![s.from, s.to];
    for i in 0..ARGUMENTS {
        let x = s.from + (s.to - s.from) * uniform();
        let x = if i % 8 == 0 {
            x * uniform().powi(12)
        } else {
            x
        };
        all.push(if s.format == WorkingFormat::F32 {
            f64::from(x as f32)
        } else {
            x
        });
    }
    all.retain(|x| *x >= s.from && *x <= s.to);
    all
}

fn measured(made: &FunctionImplementation) -> f64 {
    let s = &made.specification;
    let mut worst = 0f64;
    for x in arguments(s) {
        let Some(y) = made.evaluate(x) else { continue };
        let exact = s.function.value(&Float::with_val(64, x), 128);
        if s.measure == ErrorMeasure::Relative && exact.clone().abs() < s.format.smallest_normal() {
            continue;
        }
        let off = Float::with_val(128, &exact - y).abs();
        let error = match s.measure {
            ErrorMeasure::Relative => (off / exact.abs()).to_f64(),
            ErrorMeasure::Absolute => off.to_f64(),
        };
        assert!(
            error <= made.made.bound,
            "{} at {x:e}: {error:e}, {:e} proven",
            s.function.name(),
            made.made.bound
        );
        worst = worst.max(error);
    }
    worst
}

fn check(s: FunctionSpecification) -> FunctionImplementation {
    let made = implement(&s, EvaluationScheme::Horner).unwrap_or_else(|e| panic!("{s:?}: {e}"));
    let worst = measured(&made);
    assert!(made.made.bound <= s.error);
    println!(
        "{:8} [{:e}, {:e}] {:?} {}: asked {:e}, proven {:e}, measured {worst:e}; degree {}, {} pieces, {} slots; {}",
        s.function.name(),
        s.from,
        s.to,
        s.measure,
        s.format.name(),
        s.error,
        made.made.bound,
        made.made.degree,
        made.made.pieces,
        made.made.code.slots(),
        made.made.reduction
    );
    made
}

#[test]
fn exponentials() {
    check(specification("exp", -7.0, 0.0, 1e-9));
    check(specification("exp", -700.0, 700.0, 5e-16));
    check(specification("exp", -740.0, 709.0, 1e-12));
    check(specification("exp", 0.0, 0.125, 1e-6));
    check(specification("exp2", -20.0, 20.0, 4e-16));
    check(specification("exp10", -5.0, 5.0, 1e-10));
    check(absolute(specification("exp", -7.0, 0.0, 1e-9)));
    check(single(specification("exp", -80.0, 80.0, 3e-7)));
    check(single(specification("exp2", -1.0, 1.0, 1e-3)));
}

#[test]
fn logarithms() {
    check(specification("log", 1e-300, 1e300, 1e-15));
    check(specification("log", 0.9, 1.1, 1e-12));
    check(specification("log2", 0.25, 100.0, 1e-9));
    check(specification("log10", 1.0, 1000.0, 1e-10));
    check(absolute(specification("log", 0.5, 16.0, 1e-6)));
    check(single(specification("log", 1e-30, 1e30, 1e-6)));
    check(specification("log1p", -0.25, 0.5, 1e-14));
    check(specification("expm1", -0.5, 0.5, 4e-16));
}

#[test]
fn trigonometric_functions() {
    check(specification("sin", -0.78, 0.78, 4e-16));
    check(absolute(specification("sin", -1000.0, 1000.0, 1e-15)));
    check(absolute(specification("cos", -100.0, 1e6, 1e-9)));
    check(single(absolute(specification("cos", -50.0, 50.0, 3e-6))));
    check(specification("tan", -0.7, 0.7, 1e-12));
    check(specification("atan", -1.0, 1.0, 1e-10));
    check(absolute(specification("atan", -20.0, 20.0, 1e-8)));
    check(specification("sin", 1.0, 2.0, 1e-15));
}

#[test]
fn other_functions() {
    check(specification("tanh", -4.0, 4.0, 1e-9));
    check(specification("erf", -2.0, 2.0, 1e-12));
    check(specification("erfc", 0.0, 5.0, 1e-8));
    check(specification("cbrt", -1e10, 1e10, 1e-15));
    check(specification("rcbrt", 1e-3, 1e6, 1e-10));
    check(specification("sinh", -2.0, 2.0, 1e-13));
    check(specification("cosh", -3.0, 3.0, 1e-13));
    check(specification("normcdf", -4.0, 4.0, 1e-7));
    check(absolute(specification("j0", 0.0, 12.0, 1e-9)));
    check(absolute(specification("j1", 0.0, 12.0, 1e-9)));
    check(absolute(specification("y0", 0.5, 12.0, 1e-9)));
    check(absolute(specification("y1", 0.5, 12.0, 1e-9)));
    check(specification("y0", 0.125, 0.75, 1e-12));
    check(specification("tgamma", 0.5, 8.0, 1e-9));
    check(absolute(specification("lgamma", 0.5, 20.0, 1e-9)));
    check(specification("lgamma", 3.0, 9.0, 1e-13));
    check(absolute(specification("normcdfinv", 0.0625, 0.9375, 1e-9)));
    check(specification("normcdfinv", 0.001, 0.0625, 1e-6));
    check(single(specification("cbrt", 0.001, 1000.0, 1e-6)));
    check(single(specification("tanh", -3.0, 3.0, 1e-5)));
}

#[test]
fn estrin_has_another_bound() {
    let s = specification("exp", -7.0, 0.0, 1e-9);
    let made = implement(&s, EvaluationScheme::Estrin).expect("exists");
    let horner = implement(&s, EvaluationScheme::Horner).expect("exists");
    measured(&made);
    assert!(made.made.code.slots() > horner.made.code.slots());
}

#[test]
fn refusals_say_why() {
    let refused =
        |s: FunctionSpecification| implement(&s, EvaluationScheme::Horner).expect_err("refused");
    assert!(matches!(
        refused(specification("exp", 1.0, 0.0, 1e-9)),
        FunctionError::Range { .. }
    ));
    assert!(matches!(
        refused(specification("log", -1.0, 1.0, 1e-9)),
        FunctionError::Domain { .. }
    ));
    assert!(matches!(
        refused(specification("y0", -1.0, 1.0, 1e-9)),
        FunctionError::Domain { .. }
    ));
    assert!(matches!(
        refused(specification("exp", 0.0, 800.0, 1e-9)),
        FunctionError::Overflow { .. }
    ));
    assert!(matches!(
        refused(specification("exp", 0.0, 1.0, 0.0)),
        FunctionError::Error(_)
    ));
    assert!(matches!(
        refused(specification("rcbrt", -1.0, 1.0, 1e-3)),
        FunctionError::Domain { .. }
    ));
    let too_accurate = refused(specification("exp", 0.0, 1.0, 1e-17));
    assert!(
        matches!(too_accurate, FunctionError::TooAccurate { reached, .. } if reached < 1e-15),
        "{too_accurate}"
    );
    assert!(matches!(
        refused(absolute(specification("exp", -1e6, 0.0, 1e-9))),
        FunctionError::TooAccurate { .. }
    ));
    let zero = refused(specification("sin", 3.0, 3.5, 1e-6));
    assert!(matches!(zero, FunctionError::Zero { .. }), "{zero}");
    let format = FunctionSpecification {
        format: WorkingFormat::F32,
        ..specification("exp", 0.1, 1.0, 1e-3)
    };
    assert!(matches!(refused(format), FunctionError::NotOfFormat { .. }));
}
