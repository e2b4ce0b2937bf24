//! Math functions of libdevice: which f32 function stands for an f64 one, and the other way round.

/// Functions whose f32 version has an `f` at its end.
const WITH_F: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "modf",
    "nearbyint",
    "nextafter",
    "norm3d",
    "norm4d",
    "normcdf",
    "normcdfinv",
    "pow",
    "powi",
    "rcbrt",
    "remainder",
    "remquo",
    "rhypot",
    "rint",
    "rnorm3d",
    "rnorm4d",
    "round",
    "rsqrt",
    "scalbn",
    "sin",
    "sincos",
    "sincospi",
    "sinh",
    "sinpi",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
    "yn",
];

/// Other names of f64 functions, and the f32 ones.
const OTHERS: &[(&str, &str)] = &[
    ("isfinited", "finitef"),
    ("isinfd", "isinff"),
    ("isnand", "isnanf"),
    ("signbitd", "signbitf"),
];

/// f32 functions that no f64 function has for a name, and that take and give numbers only.
const ONLY_F32: &[&str] = &[
    "fast_cosf",
    "fast_exp10f",
    "fast_expf",
    "fast_fdividef",
    "fast_log10f",
    "fast_log2f",
    "fast_logf",
    "fast_powf",
    "fast_sinf",
    "fast_tanf",
    "fast_tanhf",
    "frsqrt_rn",
    "saturatef",
];

/// A rounding mode at the end of a name, and what comes before it.
pub(super) fn mode(name: &str) -> Option<(&str, &str)> {
    let (base, mode) = name.rsplit_once('_')?;
    matches!(mode, "rn" | "rz" | "rd" | "ru").then_some((base, mode))
}

/// The libdevice function in f32 for one in f64 or f32, without their common prefix.
pub(super) fn single(name: &str) -> Option<String> {
    if let Some(variant) = crate::math::single(name) {
        return Some(variant);
    }
    if let Some((base, mode)) = mode(name) {
        let base = match base {
            "dadd" | "fadd" => "fadd",
            "dsub" | "fsub" => "fsub",
            "dmul" | "fmul" => "fmul",
            "ddiv" | "fdiv" => "fdiv",
            "drcp" | "frcp" => "frcp",
            "dsqrt" | "fsqrt" => "fsqrt",
            "fma" | "fmaf" => "fmaf",
            "double2int" | "float2int" => "float2int",
            "double2uint" | "float2uint" => "float2uint",
            "double2ll" | "float2ll" => "float2ll",
            "double2ull" | "float2ull" => "float2ull",
            "frsqrt" => "frsqrt",
            _ => return None,
        };
        return Some(format!("{base}_{mode}"));
    }
    if WITH_F.contains(&name) {
        return Some(format!("{name}f"));
    }
    if let Some((_, f)) = OTHERS.iter().find(|(d, f)| *d == name || *f == name) {
        return Some((*f).to_owned());
    }
    let own = name.strip_suffix('f').is_some_and(|d| WITH_F.contains(&d));
    (own || ONLY_F32.contains(&name)).then(|| name.to_owned())
}

/// The libdevice function in f64 for one in f32 of numbers and integers; none for what rounds in a direction, writes to
/// memory, or exists in f32 only.
pub(super) fn double(single: &str) -> Option<&'static str> {
    let rounded = match single {
        "fadd_rn" => "dadd_rn",
        "fsub_rn" => "dsub_rn",
        "fmul_rn" => "dmul_rn",
        "fdiv_rn" => "ddiv_rn",
        "frcp_rn" => "drcp_rn",
        "fsqrt_rn" => "dsqrt_rn",
        "frsqrt_rn" => "rsqrt",
        "fmaf_rn" => "fma_rn",
        _ => "",
    };
    if !rounded.is_empty() {
        return Some(rounded);
    }
    // It writes an exponent or a quotient to memory; the others write numbers, of their own format.
    let integers = ["frexpf", "remquof"];
    if integers.contains(&single) || !results(single).is_empty() {
        return None;
    }
    let base = single.strip_suffix('f')?;
    WITH_F.iter().find(|n| **n == base).copied()
}

/// Positions of arguments that point to numbers of the function's own format.
pub(super) fn results(single: &str) -> &'static [usize] {
    match single {
        "sincosf" | "sincospif" => &[1, 2],
        n if n.starts_with("kerf.sincos.") => &[1, 2],
        "modff" => &[1],
        _ => &[],
    }
}

/// Functions that are one operation, whose result is rounded once or exact: LLVM's name.
pub(super) fn operation(single: &str) -> Option<&'static str> {
    Some(match single {
        "fmaf" | "fmaf_rn" => "llvm.fma",
        "fabsf" => "llvm.fabs",
        "copysignf" => "llvm.copysign",
        "fminf" => "llvm.minnum",
        "fmaxf" => "llvm.maxnum",
        "floorf" => "llvm.floor",
        "ceilf" => "llvm.ceil",
        "truncf" => "llvm.trunc",
        "rintf" | "nearbyintf" => "llvm.rint",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (double, float) in [
            ("exp", Some("expf")),
            ("expf", Some("expf")),
            ("erf", Some("erff")),
            ("erff", Some("erff")),
            ("fmod", Some("fmodf")),
            ("dadd_rn", Some("fadd_rn")),
            ("fma_rz", Some("fmaf_rz")),
            ("double2ull_rz", Some("float2ull_rz")),
            ("isfinited", Some("finitef")),
            ("fast_expf", Some("fast_expf")),
            ("norm", None),
            ("double2hiint", None),
            ("hiloint2double", None),
            ("double_as_longlong", None),
            ("rcp64h", None),
        ] {
            assert_eq!(single(double).as_deref(), float, "{double}");
        }
        for (float, wide) in [
            ("expf", Some("exp")),
            ("erff", Some("erf")),
            ("fadd_rn", Some("dadd_rn")),
            ("fadd_rz", None),
            ("fast_expf", None),
            ("sincosf", None),
            ("frexpf", None),
        ] {
            assert_eq!(double(float), wide, "{float}");
        }
    }
}
