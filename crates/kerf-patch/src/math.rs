//! Math functions by the names that CUDA C++ and OpenCL C have for them.
use kerf_num::Format;
use kerf_pass::MathVariant;

/// Functions that compute in the format of their arguments, and their f32 versions.
const F: [(&str, &str); 62] = include!("math_f.in");

/// Functions that have one name for all formats.
const OVERLOADED: [&str; 9] = [
    "max", "min", "abs", "isnan", "isinf", "isfinite", "signbit", "mad", "clamp",
];

/// Whether a function computes in the format of its arguments.
pub fn is_known(name: &str) -> bool {
    let base = name.strip_suffix('f').unwrap_or(name);
    with_f(name).is_some() || with_f(base).is_some() || OVERLOADED.contains(&name) || opencl(name)
}

fn opencl(name: &str) -> bool {
    name.starts_with("native_") || name.starts_with("half_")
}

/// How a call is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// By this name; none leaves the name as it is.
    Name(Option<&'static str>),
    /// By a function that is put into the source.
    Helper(&'static str),
}

/// The name of a function's f32 version.
fn with_f(name: &str) -> Option<&'static str> {
    F.iter().find(|p| p.0 == name).map(|p| p.1)
}

/// CUDA's intrinsics.
fn intrinsic(base: &str) -> Option<&'static str> {
    Some(match base {
        "exp" => "__expf",
        "exp10" => "__exp10f",
        "log" => "__logf",
        "log2" => "__log2f",
        "log10" => "__log10f",
        "sin" => "__sinf",
        "cos" => "__cosf",
        "tan" => "__tanf",
        "pow" => "__powf",
        "rsqrt" => "rsqrtf",
        "exp2" => "exp2f",
        _ => return None,
    })
}

/// OpenCL's native functions.
fn native(base: &str) -> Option<&'static str> {
    Some(match base {
        "exp" => "native_exp",
        "exp10" => "native_exp10",
        "exp2" => "native_exp2",
        "log" => "native_log",
        "log2" => "native_log2",
        "log10" => "native_log10",
        "sin" => "native_sin",
        "cos" => "native_cos",
        "tan" => "native_tan",
        "sqrt" => "native_sqrt",
        "rsqrt" => "native_rsqrt",
        _ => return None,
    })
}

/// How a function is called in a format and variant; none if there is no way.
pub fn call(
    name: &str,
    cl: bool,
    format: Format,
    variant: Option<MathVariant>,
) -> Option<Spelling> {
    let base = match with_f(name).is_some() {
        true => name,
        false => name
            .strip_suffix('f')
            .filter(|b| with_f(b).is_some())
            .unwrap_or(name),
    };
    match (format, variant) {
        (Format::F32, Some(MathVariant::Approx | MathVariant::ApproxFtz)) if cl => {
            native(base).map(|n| Spelling::Name(Some(n)))
        }
        (Format::F32, Some(MathVariant::Approx | MathVariant::ApproxFtz)) => match base {
            "sqrt" => Some(Spelling::Helper("kerf_sqrt_approx")),
            "tanh" => Some(Spelling::Helper("kerf_tanh_approx")),
            _ => intrinsic(base).map(|n| Spelling::Name(Some(n))),
        },
        (Format::F64, Some(v)) if v.steps().is_some() && !cl => {
            let helper =
                |all: [&'static str; 3]| v.steps().and_then(|s| all.get(s as usize).copied());
            match base {
                "sqrt" => helper([
                    "kerf_sqrt_newton0",
                    "kerf_sqrt_newton1",
                    "kerf_sqrt_newton2",
                ]),
                "rsqrt" => helper([
                    "kerf_rsqrt_newton0",
                    "kerf_rsqrt_newton1",
                    "kerf_rsqrt_newton2",
                ]),
                _ => None,
            }
            .map(Spelling::Helper)
        }
        (_, Some(_)) => None,
        (Format::F32, None) if cl || OVERLOADED.contains(&name) => Some(Spelling::Name(None)),
        (Format::F32, None) => Some(Spelling::Name(with_f(base).filter(|n| *n != name))),
        _ => Some(Spelling::Name(None)),
    }
}

/// How a division is written in a variant: the function that it becomes; none if there is no way.
pub fn division(cl: bool, format: Format, variant: MathVariant) -> Option<&'static str> {
    match (format, variant) {
        (Format::F32, MathVariant::Approx | MathVariant::ApproxFtz) if cl => Some("native_divide"),
        (Format::F32, MathVariant::Approx | MathVariant::ApproxFtz) => Some("__fdividef"),
        (Format::F32, MathVariant::Full | MathVariant::FullFtz) if !cl => Some("kerf_div_full"),
        (Format::F64, MathVariant::Newton0) if !cl => Some("kerf_div_newton0"),
        (Format::F64, MathVariant::Newton1) if !cl => Some("kerf_div_newton1"),
        (Format::F64, MathVariant::Newton2) if !cl => Some("kerf_div_newton2"),
        _ => None,
    }
}

/// The function that converts vectors, by length and format that it gives.
pub fn conversion(lanes: u8, to: Format) -> Option<&'static str> {
    const TO: [[&str; 4]; 2] = [
        ["kerf_float1", "kerf_float2", "kerf_float3", "kerf_float4"],
        [
            "kerf_double1",
            "kerf_double2",
            "kerf_double3",
            "kerf_double4",
        ],
    ];
    let row = usize::from(to == Format::F64);
    TO[row].get(usize::from(lanes).checked_sub(1)?).copied()
}

/// The text of such a function.
fn vectors(name: &str) -> Option<String> {
    let to = name.strip_prefix("kerf_")?;
    let lanes = to.chars().next_back()?;
    let from = match &to[..to.len() - 1] {
        "float" => format!("double{lanes}"),
        "double" => format!("float{lanes}"),
        _ => return None,
    };
    let parts = ["v.x", "v.y", "v.z", "v.w"];
    let parts = parts.get(..lanes.to_digit(10)? as usize)?.join(", ");
    Some(format!(
        "static __device__ __forceinline__ {to} {name}({from} v)\n{{\n    return make_{to}({parts});\n}}\n"
    ))
}

/// Copies that convert.
fn copy(name: &str) -> String {
    let (what, params, body) = match name {
        "kerf_upload" => (
            "to narrower ones on the device",
            "N *device, const W *host, size_t bytes",
            "    std::vector<N> narrow(host, host + bytes / sizeof(W));\n    return cudaMemcpy(device, narrow.data(), narrow.size() * sizeof(N), cudaMemcpyHostToDevice);\n",
        ),
        _ => (
            "from narrower ones on the device",
            "W *host, const N *device, size_t bytes",
            "    std::vector<N> narrow(bytes / sizeof(W));\n    cudaError_t e = cudaMemcpy(narrow.data(), device, narrow.size() * sizeof(N), cudaMemcpyDeviceToHost);\n    for (size_t i = 0; i < narrow.size(); ++i)\n        host[i] = (float)narrow[i];\n    return e;\n",
        ),
    };
    format!(
        "// Copies numbers of the host {what}.\ntemplate <class N, class W> static cudaError_t {name}({params})\n{{\n{body}}}\n"
    )
}

/// The text of the functions that are put into a source: what has no name in CUDA C++.
pub fn helper(name: &str) -> Option<String> {
    let unit = |name: &str, op: &str| {
        format!(
            "static __device__ __forceinline__ float {name}(float x)\n{{\n    float y;\n    asm(\"{op} %0, %1;\" : \"=f\"(y) : \"f\"(x));\n    return y;\n}}\n"
        )
    };
    if let Some(text) = vectors(name) {
        return Some(text);
    }
    match name {
        "kerf_upload" | "kerf_download" => return Some(copy(name)),
        "kerf_sqrt_approx" => return Some(unit(name, "sqrt.approx.f32")),
        "kerf_tanh_approx" => return Some(unit(name, "tanh.approx.f32")),
        "kerf_div_full" => {
            return Some(format!(
                "static __device__ __forceinline__ float {name}(float x, float y)\n{{\n    float z;\n    asm(\"div.full.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y));\n    return z;\n}}\n"
            ));
        }
        _ => {}
    }
    let (function, steps) = name.strip_prefix("kerf_")?.split_once("_newton")?;
    let steps: usize = steps.parse().ok()?;
    let one = |seed: &str| {
        format!("    double y;\n    asm(\"{seed} %0, %1;\" : \"=d\"(y) : \"d\"(x));\n")
    };
    let (params, body) = match function {
        "div" => {
            let mut b = one("rcp.approx.ftz.f64").replace("(x)", "(d)");
            if steps > 0 {
                b += "    const double seed = y, first = fma(-d, y, 1.0);\n    y = fma(y, first, y);\n";
                (1..steps).for_each(|_| b += "    y = fma(y, fma(-d, y, 1.0), y);\n");
                b += "    y = fabs(first) < 1.0 ? y : seed;\n";
            }
            ("double x, double d", b + "    return x * y;\n")
        }
        "rsqrt" => {
            let mut b = one("rsqrt.approx.ftz.f64");
            if steps > 0 {
                b += "    const double seed = y, first = fma(-(x * y), y, 1.0);\n    y = fma(y * 0.5, first, y);\n";
                (1..steps).for_each(|_| b += "    y = fma(y * 0.5, fma(-(x * y), y, 1.0), y);\n");
                b += "    y = fabs(first) < 1.0 ? y : seed;\n";
            }
            ("double x", b + "    return y;\n")
        }
        "sqrt" => {
            let mut b = one("rsqrt.approx.ftz.f64");
            (0..steps).for_each(|_| b += "    y = fma(y * 0.5, fma(-(x * y), y, 1.0), y);\n");
            match steps {
                0 => {
                    b += "    double z;\n    asm(\"rcp.approx.ftz.f64 %0, %1;\" : \"=d\"(z) : \"d\"(y));\n    return z;\n"
                }
                _ => {
                    b += "    const double z = fabs(x) < 2.2250738585072014e-308 ? x * 0.0 : x * y;\n    return x == INFINITY ? x : z;\n"
                }
            }
            ("double x", b)
        }
        _ => return None,
    };
    Some(format!(
        "static __device__ __forceinline__ double {name}({params})\n{{\n{body}}}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_by_format_and_variant() {
        let name = |n| Some(Spelling::Name(n));
        assert_eq!(call("exp", false, Format::F32, None), name(Some("expf")));
        assert_eq!(call("expf", false, Format::F32, None), name(None));
        assert_eq!(call("exp", true, Format::F32, None), name(None));
        assert_eq!(call("max", false, Format::F32, None), name(None));
        let approx = Some(MathVariant::ApproxFtz);
        assert_eq!(
            call("sinf", false, Format::F32, approx),
            name(Some("__sinf"))
        );
        assert_eq!(
            call("sin", true, Format::F32, approx),
            name(Some("native_sin"))
        );
        assert_eq!(call("erfc", false, Format::F32, approx), None);
        let newton = Some(MathVariant::Newton1);
        let helper = Some(Spelling::Helper("kerf_sqrt_newton1"));
        assert_eq!(call("sqrt", false, Format::F64, newton), helper);
        assert!(is_known("rsqrtf") && !is_known("printf"));
    }

    #[test]
    fn every_function_that_is_put_in_has_a_text() {
        for n in [
            "kerf_upload",
            "kerf_download",
            "kerf_sqrt_approx",
            "kerf_tanh_approx",
            "kerf_div_full",
        ] {
            assert!(helper(n).is_some_and(|t| t.contains(n)), "{n}");
        }
        assert_eq!(conversion(5, Format::F32), None);
        let two = conversion(2, Format::F64).and_then(helper).expect("a text");
        assert!(two.contains("double2 kerf_double2(float2 v)"), "{two}");
        assert!(two.contains("make_double2(v.x, v.y)"), "{two}");
        for f in ["div", "sqrt", "rsqrt"] {
            for steps in 0..3 {
                let t = helper(&format!("kerf_{f}_newton{steps}")).expect("a text");
                assert_eq!(
                    t.matches("approx.ftz.f64").count(),
                    1 + usize::from(f == "sqrt" && steps == 0),
                    "{t}"
                );
            }
        }
        assert!(helper("exp").is_none());
    }
}
