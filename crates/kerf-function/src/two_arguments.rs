//! Functions of two arguments on a rectangle of them.
mod angle;
mod hypotenuse;
mod power;

use crate::constant_power::FixedExponent;
use crate::core_fit::EvaluationScheme;
use crate::implement::implement;
use crate::reduction::{Attempt, MadeCode};
use crate::specification::{ErrorMeasure, FunctionError, FunctionSpecification, LARGEST_ERROR};
use crate::target::TargetFunction;
use crate::working_format::WorkingFormat;
use kerf_num::made::{ArgumentGuard, MadeFunction};
use rug::Float;
use rug::ops::Pow;

/// A function of two arguments, in the order of CUDA's math library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwoArgumentFunction {
    /// x to the power of y
    Pow,
    /// The square root of x^2 + y^2
    Hypot,
    /// Its reciprocal
    Rhypot,
    /// The angle of the point whose ordinate is x, the first argument, and whose abscissa is y.
    Atan2,
}

impl TwoArgumentFunction {
    /// All of them.
    pub const ALL: [TwoArgumentFunction; 4] = [
        TwoArgumentFunction::Pow,
        TwoArgumentFunction::Hypot,
        TwoArgumentFunction::Rhypot,
        TwoArgumentFunction::Atan2,
    ];

    /// Its name in CUDA's math library, in f64.
    pub fn name(self) -> &'static str {
        match self {
            TwoArgumentFunction::Pow => "pow",
            TwoArgumentFunction::Hypot => "hypot",
            TwoArgumentFunction::Rhypot => "rhypot",
            TwoArgumentFunction::Atan2 => "atan2",
        }
    }

    /// The function of a name.
    pub fn find(name: &str) -> Option<TwoArgumentFunction> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The value, rounded to `precision` bits, with an error of a few units of the last of them.
    pub fn value(self, x: &Float, y: &Float, precision: u32) -> Float {
        let wide = |v: &Float| Float::with_val(precision.max(v.prec()) + 32, v);
        let (x, y) = (wide(x), wide(y));
        Float::with_val(
            precision,
            match self {
                TwoArgumentFunction::Pow => x.pow(&y),
                TwoArgumentFunction::Hypot => x.hypot(&y),
                TwoArgumentFunction::Rhypot => x.hypot(&y).recip(),
                TwoArgumentFunction::Atan2 => x.atan2(&y),
            },
        )
    }
}

/// A function of two arguments, where and how accurately it is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TwoArgumentSpecification {
    pub function: TwoArgumentFunction,
    /// Smallest and largest first argument.
    pub x: [f64; 2],
    /// Smallest and largest second argument.
    pub y: [f64; 2],
    pub error: f64,
    pub measure: ErrorMeasure,
    pub format: WorkingFormat,
}

/// The smallest and the largest magnitude in a range.
pub(crate) fn magnitudes([from, to]: [f64; 2]) -> [f64; 2] {
    let (a, b) = (from.abs(), to.abs());
    let straddles = from <= 0.0 && to >= 0.0;
    [if straddles { 0.0 } else { a.min(b) }, a.max(b)]
}

impl TwoArgumentSpecification {
    fn check(&self) -> Result<(), FunctionError> {
        let is_range = |[from, to]: [f64; 2]| from <= to && from.is_finite() && to.is_finite();
        for [from, to] in [self.x, self.y] {
            if !is_range([from, to]) {
                return Err(FunctionError::Range { from, to });
            }
            let format = self.format.name();
            if let Some(end) = [from, to].into_iter().find(|x| !self.format.has(*x)) {
                return Err(FunctionError::NotOfFormat { end, format });
            }
        }
        match self.error > 0.0 && self.error <= LARGEST_ERROR {
            true => Ok(()),
            false => Err(FunctionError::Error(self.error)),
        }
    }

    /// Whether even the nearest number of the format may be too far from the function's value.
    fn is_beyond_rounding(&self) -> bool {
        self.measure == ErrorMeasure::Relative && self.error < self.format.unit_roundoff()
    }

    /// The function with the fewest operations of those whose error was proven to be small enough.
    pub(crate) fn implement(
        &self,
        scheme: EvaluationScheme,
    ) -> Result<MadeFunction, FunctionError> {
        self.check()?;
        let mut attempts: Vec<Attempt> = Vec::new();
        if !self.is_beyond_rounding() {
            attempts = match self.function {
                TwoArgumentFunction::Pow => self.power_attempts(scheme)?,
                TwoArgumentFunction::Hypot => vec![hypotenuse::attempt(self, false)],
                TwoArgumentFunction::Rhypot => vec![hypotenuse::attempt(self, true)],
                TwoArgumentFunction::Atan2 => vec![angle::attempt(self, scheme)],
            };
        }
        let best = attempts.iter().filter_map(|a| a.as_ref().err());
        let reached = best.copied().fold(f64::INFINITY, f64::min);
        let made = attempts.into_iter().filter_map(Result::ok);
        let made = made.min_by_key(|m| m.code.slots());
        made.map(|made| self.made_function(made))
            .ok_or(FunctionError::TooAccurate {
                format: self.format.name(),
                measure: self.measure,
                asked: self.error,
                reached,
            })
    }

    /// The smallest first argument of a power. Of a range that begins at zero that is a number whose powers are normal numbers: smaller
    /// ones are for the library.
    fn positive_from(&self) -> f64 {
        let is_whole = self.y[0] == self.y[1] && self.y[0] >= 0.0 && self.y[0].fract() == 0.0;
        if self.x[0] != 0.0 || is_whole {
            return self.x[0];
        }
        let limit = (self.format.exponent_bias() - 4) as f64;
        let [_, largest] = magnitudes(self.y);
        2f64.powi(-(limit / largest.max(1.0)) as i32).min(self.x[1])
    }

    /// With one exponent a function of one argument may do.
    fn power_attempts(&self, scheme: EvaluationScheme) -> Result<Vec<Attempt>, FunctionError> {
        let is_fixed = self.y[0] == self.y[1];
        let mut all = Vec::new();
        let mut refused = None;
        if is_fixed && self.x[0] < self.x[1] {
            let spec = FunctionSpecification {
                function: TargetFunction::ConstantPower(FixedExponent::new(self.y[0])),
                from: self.positive_from(),
                to: self.x[1],
                error: self.error,
                measure: self.measure,
                format: self.format,
            };
            match implement(&spec, scheme) {
                Ok(one) => all.push(Ok(self.with_fixed_exponent(one.made))),
                Err(FunctionError::TooAccurate { reached, .. }) => all.push(Err(reached)),
                Err(e) => refused = Some(e),
            }
        }
        match (power::attempts(self, scheme), refused) {
            (Ok(more), _) => all.extend(more),
            (Err(_), _) if all.iter().any(Result::is_ok) => {}
            (Err(e), refused) => return Err(refused.unwrap_or(e)),
        }
        Ok(all)
    }

    /// The guard of a function of the first argument, and the one second argument.
    fn with_fixed_exponent(&self, made: MadeCode) -> MadeCode {
        let x = match made.guard {
            ArgumentGuard::Between { from, to } => [from, to],
            _ => self.x,
        };
        let guard = ArgumentGuard::Rectangle {
            x,
            y: self.y,
            larger_from: 0.0,
        };
        MadeCode { guard, ..made }
    }

    fn made_function(&self, made: MadeCode) -> MadeFunction {
        MadeFunction {
            function: self.function.name().to_owned(),
            from: self.x[0],
            to: self.x[1],
            second: Some(self.y),
            error: self.error,
            measure: self.measure,
            bound: made.bound,
            reduction: made.reduction.to_owned(),
            degree: made.degree,
            pieces: made.pieces,
            guard: made.guard,
            code: made.code,
        }
    }
}
