//! The elementary functions that have a shadow, and the names under which programs call them.

/// A function of the reference library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShadowFunction {
    /// Its name there.
    pub name: &'static str,
    /// How many arguments it takes.
    pub arguments: u32,
}

/// Elementary functions that have a shadow, with their argument count.
pub const FUNCTIONS: &[(&str, u32)] = &[
    ("exp", 1),
    ("exp2", 1),
    ("exp10", 1),
    ("expm1", 1),
    ("log", 1),
    ("log2", 1),
    ("log10", 1),
    ("log1p", 1),
    ("sin", 1),
    ("cos", 1),
    ("tan", 1),
    ("asin", 1),
    ("acos", 1),
    ("atan", 1),
    ("sinh", 1),
    ("cosh", 1),
    ("tanh", 1),
    ("asinh", 1),
    ("acosh", 1),
    ("atanh", 1),
    ("sqrt", 1),
    ("rsqrt", 1),
    ("cbrt", 1),
    ("rcbrt", 1),
    ("rcp", 1),
    ("erf", 1),
    ("erfc", 1),
    ("erfcx", 1),
    ("normcdf", 1),
    ("tgamma", 1),
    ("lgamma", 1),
    ("j0", 1),
    ("j1", 1),
    ("y0", 1),
    ("y1", 1),
    ("sinpi", 1),
    ("cospi", 1),
    ("fabs", 1),
    ("floor", 1),
    ("ceil", 1),
    ("trunc", 1),
    ("rint", 1),
    ("round", 1),
    ("saturate", 1),
    ("neg", 1),
    ("add", 2),
    ("sub", 2),
    ("mul", 2),
    ("div", 2),
    ("fmod", 2),
    ("pow", 2),
    ("atan2", 2),
    ("hypot", 2),
    ("rhypot", 2),
    ("fmin", 2),
    ("fmax", 2),
    ("fdim", 2),
    ("copysign", 2),
    ("remainder", 2),
    ("fma", 3),
    ("norm3d", 3),
    ("rnorm3d", 3),
    ("erfinv", 1),
    ("erfcinv", 1),
    ("normcdfinv", 1),
];

/// The function that a callee computes.
pub fn function_of(callee: &str) -> Option<ShadowFunction> {
    let mut n = callee
        .strip_prefix("__nv_")
        .or_else(|| callee.strip_prefix("llvm.nvvm."))
        .or_else(|| callee.strip_prefix("llvm."))?;
    n = n.strip_prefix("fast_").unwrap_or(n);
    let head = n.split('.').next().unwrap_or(n);
    let by = |wanted: &str| {
        let found = FUNCTIONS.iter().find(|f| f.0 == wanted);
        found.map(|(name, arguments)| ShadowFunction {
            name,
            arguments: *arguments,
        })
    };
    // Directed intrinsics: __nv_dadd_rz, __nv_fmul_rn, __nv_fmaf_ru, __nv_drcp_rn, __nv_fsqrt_rn ...
    if let Some((op, mode)) = head.rsplit_once('_')
        && matches!(mode, "rn" | "rz" | "ru" | "rd")
    {
        return match op {
            "dadd" | "fadd" => by("add"),
            "dsub" | "fsub" => by("sub"),
            "dmul" | "fmul" => by("mul"),
            "ddiv" | "fdiv" => by("div"),
            "fma" | "fmaf" => by("fma"),
            "drcp" | "frcp" => by("rcp"),
            "dsqrt" | "fsqrt" => by("sqrt"),
            "frsqrt" => by("rsqrt"),
            _ => None,
        };
    }
    let alias = |s: &str| match s {
        "ex2" => Some("exp2"),
        "lg2" => Some("log2"),
        "fdivide" | "fdividef" => Some("div"),
        "nearbyint" | "roundeven" => Some("rint"),
        "minnum" | "minimumnum" | "minimum" => Some("fmin"),
        "maxnum" | "maximumnum" | "maximum" => Some("fmax"),
        "fmuladd" => Some("fma"),
        "norm" => None,
        _ => None,
    };
    // llvm.nvvm.round is the round-to-even of cvt.rni; libdevice's round goes away from zero.
    if callee.starts_with("llvm.nvvm.round") {
        return by("rint");
    }
    let try_name = |s: &str| by(s).or_else(|| alias(s).and_then(by));
    try_name(head).or_else(|| head.strip_suffix('f').and_then(try_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_has_every_function() {
        for (name, _) in FUNCTIONS {
            assert!(crate::reference_library::has(name), "{name}");
        }
    }

    #[test]
    fn names_map_to_functions() {
        let name = |c: &str| function_of(c).map(|f| f.name);
        assert_eq!(name("__nv_exp"), Some("exp"));
        assert_eq!(name("__nv_expf"), Some("exp"));
        assert_eq!(name("__nv_fast_expf"), Some("exp"));
        assert_eq!(name("__nv_erf"), Some("erf"));
        assert_eq!(name("__nv_erff"), Some("erf"));
        assert_eq!(name("__nv_dadd_rz"), Some("add"));
        assert_eq!(name("__nv_fast_fdividef"), Some("div"));
        assert_eq!(name("llvm.fma.f64"), Some("fma"));
        assert_eq!(name("llvm.nvvm.ex2.approx.ftz.f32"), Some("exp2"));
        assert_eq!(name("llvm.minnum.f32"), Some("fmin"));
        assert_eq!(name("__nv_fmodf"), Some("fmod"));
        assert_eq!(name("__nv_popc"), None);
    }
}
