//! Calls of libdevice functions.

use super::body::Type;
use super::writer::Writer;

/// Where an argument is to lie so that the result is not a NaN or an infinity nearly always. Every
/// argument is left as it is in a part of the calls, to reach the special cases too.
#[derive(Clone, Copy)]
enum Domain {
    /// No restriction.
    Any,
    /// Magnitudes up to the given one.
    Within(f64),
    /// Greater than zero.
    Positive,
}

struct Function {
    name: &'static str,
    ty: Type,
    arguments: &'static [Domain],
    /// Whether the implementation has an f32 `.approx` step under any setting, be it an intrinsic
    /// or inline assembly. Read off the disassembly of `libdevice.10.bc` of CUDA 12.9; steps such
    /// as `rcp.approx.ftz.f64`, which many of the others have, are not of f32.
    approx: bool,
}

const ANY: &[Domain] = &[Domain::Any];
const ANY_ANY: &[Domain] = &[Domain::Any, Domain::Any];
const POSITIVE: &[Domain] = &[Domain::Positive];
const UNIT: &[Domain] = &[Domain::Within(1.0)];
const EXPONENT: &[Domain] = &[Domain::Within(40.0)];
const POWER: &[Domain] = &[Domain::Positive, Domain::Within(6.0)];

/// Shortens the table below.
const fn function(
    name: &'static str,
    ty: Type,
    arguments: &'static [Domain],
    approx: bool,
) -> Function {
    Function {
        name,
        ty,
        arguments,
        approx,
    }
}

const FUNCTIONS: [Function; 58] = [
    function("__nv_exp", Type::F64, EXPONENT, false),
    function("__nv_exp2", Type::F64, EXPONENT, false),
    function("__nv_exp10", Type::F64, EXPONENT, false),
    function("__nv_expm1", Type::F64, EXPONENT, false),
    function("__nv_log", Type::F64, POSITIVE, false),
    function("__nv_log2", Type::F64, POSITIVE, false),
    function("__nv_log10", Type::F64, POSITIVE, false),
    function("__nv_log1p", Type::F64, POSITIVE, false),
    function("__nv_sin", Type::F64, ANY, false),
    function("__nv_cos", Type::F64, ANY, false),
    function("__nv_tan", Type::F64, ANY, false),
    function("__nv_asin", Type::F64, UNIT, false),
    function("__nv_acos", Type::F64, UNIT, false),
    function("__nv_atan", Type::F64, ANY, false),
    function("__nv_atan2", Type::F64, ANY_ANY, false),
    function("__nv_sinh", Type::F64, EXPONENT, false),
    function("__nv_cosh", Type::F64, EXPONENT, false),
    function("__nv_pow", Type::F64, POWER, false),
    function("__nv_hypot", Type::F64, ANY_ANY, false),
    function("__nv_lgamma", Type::F64, ANY, false),
    function("__nv_rsqrt", Type::F64, POSITIVE, false),
    function("__nv_fmod", Type::F64, ANY_ANY, false),
    function("__nv_tanh", Type::F64, ANY, true),
    function("__nv_cbrt", Type::F64, ANY, true),
    function("__nv_rcbrt", Type::F64, ANY, true),
    function("__nv_erf", Type::F64, ANY, true),
    function("__nv_sinf", Type::F32, ANY, false),
    function("__nv_cosf", Type::F32, ANY, false),
    function("__nv_tanf", Type::F32, ANY, true),
    function("__nv_atanf", Type::F32, ANY, true),
    function("__nv_atan2f", Type::F32, ANY_ANY, false),
    function("__nv_logf", Type::F32, POSITIVE, false),
    function("__nv_log2f", Type::F32, POSITIVE, false),
    function("__nv_log10f", Type::F32, POSITIVE, false),
    function("__nv_log1pf", Type::F32, POSITIVE, false),
    function("__nv_powf", Type::F32, POWER, true),
    function("__nv_expf", Type::F32, EXPONENT, true),
    function("__nv_exp2f", Type::F32, EXPONENT, true),
    function("__nv_exp10f", Type::F32, EXPONENT, true),
    function("__nv_expm1f", Type::F32, EXPONENT, true),
    function("__nv_tanhf", Type::F32, ANY, true),
    function("__nv_sinhf", Type::F32, EXPONENT, true),
    function("__nv_coshf", Type::F32, EXPONENT, true),
    function("__nv_asinf", Type::F32, UNIT, true),
    function("__nv_acosf", Type::F32, UNIT, true),
    function("__nv_cbrtf", Type::F32, ANY, true),
    function("__nv_rcbrtf", Type::F32, ANY, true),
    function("__nv_erff", Type::F32, ANY, true),
    function("__nv_erfcf", Type::F32, ANY, true),
    function("__nv_hypotf", Type::F32, ANY_ANY, true),
    function("__nv_sqrtf", Type::F32, POSITIVE, true),
    function("__nv_rsqrtf", Type::F32, POSITIVE, true),
    function("__nv_fmodf", Type::F32, ANY_ANY, true),
    function("__nv_fast_fdividef", Type::F32, ANY_ANY, true),
    function("__nv_fast_sinf", Type::F32, ANY, true),
    function("__nv_fast_cosf", Type::F32, ANY, true),
    function("__nv_fast_expf", Type::F32, EXPONENT, true),
    function("__nv_fast_logf", Type::F32, POSITIVE, true),
];

impl Writer<'_> {
    /// Writes a call of a math function; with `approx`, of one that has an f32 `.approx` step.
    pub(super) fn math_call(&mut self, approx: bool) {
        // Functions of one format are drawn among themselves, since the table holds more of f32.
        let formats: Vec<Type> = [Type::F64, Type::F32]
            .into_iter()
            .filter(|ty| self.plan.floats.contains(ty))
            .collect();
        if formats.is_empty() {
            return;
        }
        let ty = self.random.choose(&formats);
        let fitting: Vec<&Function> = FUNCTIONS
            .iter()
            .filter(|f| f.ty == ty && (f.approx == approx || self.plan.approx && !approx))
            .collect();
        let function = self.random.choose(&fitting);
        let arguments: Vec<(Type, String)> = function
            .arguments
            .iter()
            .map(|&domain| (ty, self.argument(ty, domain)))
            .collect();
        let call = self.call(function.name, ty, &arguments);
        let value = self.float(ty, &call);
        self.uses.math = true;
        self.uses.approx_f32 |= function.approx;
        self.math_calls_left = self.math_calls_left.saturating_sub(1);
        self.body.keep(ty, &value);
    }

    fn argument(&mut self, ty: Type, domain: Domain) -> String {
        let value = self.value(ty);
        if self.random.chance(20) {
            return value;
        }
        match domain {
            Domain::Any => value,
            Domain::Within(bound) => self.clamp(ty, &value, bound),
            Domain::Positive => self.magnitude(ty, &value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::module;
    use super::FUNCTIONS;

    #[test]
    fn flags_agree_with_the_calls() {
        let mut called = [false; FUNCTIONS.len()];
        for seed in 0..400 {
            let made = module(seed, 1);
            let mut math = false;
            let mut approx = false;
            for (function, called) in FUNCTIONS.iter().zip(&mut called) {
                if made.ir.contains(&format!("@{}(", function.name)) {
                    math = true;
                    approx |= function.approx;
                    *called = true;
                }
            }
            assert_eq!(made.kernels[0].uses.math, math, "seed {seed}");
            assert_eq!(made.kernels[0].uses.approx_f32, approx, "seed {seed}");
        }
        assert_eq!(called, [true; FUNCTIONS.len()]);
    }
}
