//! Recipes of division, roots and elementary functions.
use super::{Carrier, ProbeNumbers, ProbeRecipe, asm, same};
use crate::operation::{FunctionVariant, Operation};

/// libdevice's function, of the f32 kind with an `f` behind.
fn libdevice(o: &Operation, c: Carrier) -> (String, String) {
    let suffix = if c == Carrier::F32 { "f" } else { "" };
    let t = c.ty();
    let f = o.function;
    if f == "pow" {
        (
            format!("%OUT = call {t} @__nv_pow{suffix}({t} %X, {t} %B)"),
            format!("declare {t} @__nv_pow{suffix}({t}, {t})"),
        )
    } else {
        (
            format!("%OUT = call {t} @__nv_{f}{suffix}({t} %X)"),
            format!("declare {t} @__nv_{f}{suffix}({t})"),
        )
    }
}

/// One inline PTX line after another, in one block with registers of its own.
fn block(c: Carrier, operands: &[(Carrier, &str)], registers: &str, lines: &str) -> String {
    asm(&format!("{{ {registers} {lines} }}"), c, operands)
}

/// How one operation is written.
struct Step {
    text: String,
    /// Instructions that it is planned to be.
    planned: Vec<(&'static str, f64)>,
    declares: Vec<String>,
}

impl Step {
    /// Written so; what it becomes is the assembler's.
    fn new(text: String) -> Step {
        Step::planned(text, &[])
    }

    fn planned(text: String, planned: &[(&'static str, f64)]) -> Step {
        Step {
            text,
            planned: planned.to_vec(),
            declares: Vec::new(),
        }
    }
}

/// Correctly rounded quotients and roots in f32 and f64; all else is libdevice's.
fn accurate(o: &Operation, c: Carrier) -> Step {
    let (x, b) = ((c, "%X"), (c, "%B"));
    let t = o.format;
    Step::new(match o.function {
        "div" => asm(&format!("div.rn.{t} $0, $1, $2;"), c, &[b, x]),
        "rcp" => asm(&format!("rcp.rn.{t} $0, $1;"), c, &[x]),
        "sqrt" => asm(&format!("sqrt.rn.{t} $0, $1;"), c, &[x]),
        "rsqrt" => block(
            c,
            &[x],
            &format!(".reg .{t} t;"),
            &format!("sqrt.rn.{t} t, $1; rcp.rn.{t} $0, t;"),
        ),
        _ => {
            let (text, declare) = libdevice(o, c);
            return Step {
                declares: vec![declare],
                ..Step::new(text)
            };
        }
    })
}

/// The special-function unit's operations in f32.
fn approximate_f32(function: &str, c: Carrier) -> Option<Step> {
    let (x, b) = ((c, "%X"), (c, "%B"));
    // One instruction.
    let unit = |text: &str, opcode| Step::planned(asm(text, c, &[x]), &[(opcode, 1.0)]);
    let scratch = ".reg .f32 t;";
    Some(match function {
        "div" => Step::planned(
            asm("div.approx.ftz.f32 $0, $1, $2;", c, &[b, x]),
            &[("MUFU.RCP", 1.0)],
        ),
        "rcp" => unit("rcp.approx.ftz.f32 $0, $1;", "MUFU.RCP"),
        "sqrt" => Step::new(asm("sqrt.approx.ftz.f32 $0, $1;", c, &[x])),
        "rsqrt" => unit("rsqrt.approx.ftz.f32 $0, $1;", "MUFU.RSQ"),
        "sin" => unit("sin.approx.ftz.f32 $0, $1;", "MUFU.SIN"),
        "cos" => unit("cos.approx.ftz.f32 $0, $1;", "MUFU.COS"),
        "tan" => Step::new(block(
            c,
            &[x],
            ".reg .f32 s, t;",
            "sin.approx.ftz.f32 s, $1; cos.approx.ftz.f32 t, $1; div.approx.ftz.f32 $0, s, t;",
        )),
        "tanh" => unit("tanh.approx.f32 $0, $1;", "MUFU.TANH"),
        "exp2" => unit("ex2.approx.ftz.f32 $0, $1;", "MUFU.EX2"),
        "log2" => unit("lg2.approx.ftz.f32 $0, $1;", "MUFU.LG2"),
        "exp" => Step::planned(
            block(
                c,
                &[x],
                scratch,
                "mul.rn.ftz.f32 t, $1, 0f3FB8AA3B; ex2.approx.ftz.f32 $0, t;",
            ),
            &[("MUFU.EX2", 1.0), ("FMUL", 1.0)],
        ),
        "log" => Step::planned(
            block(
                c,
                &[x],
                scratch,
                "lg2.approx.ftz.f32 t, $1; mul.rn.ftz.f32 $0, t, 0f3F317218;",
            ),
            &[("MUFU.LG2", 1.0), ("FMUL", 1.0)],
        ),
        "pow" => Step::planned(
            block(
                c,
                &[x, b],
                scratch,
                "lg2.approx.ftz.f32 t, $1; mul.rn.ftz.f32 t, t, $2; ex2.approx.ftz.f32 $0, t;",
            ),
            &[("MUFU.LG2", 1.0), ("MUFU.EX2", 1.0), ("FMUL", 1.0)],
        ),
        _ => return None,
    })
}

/// The special-function unit's operations on the upper half of f64.
fn approximate_f64(function: &str, c: Carrier) -> Option<Step> {
    let (x, b) = ((c, "%X"), (c, "%B"));
    let scratch = ".reg .f64 t;";
    Some(match function {
        "rcp" => Step::planned(
            asm("rcp.approx.ftz.f64 $0, $1;", c, &[x]),
            &[("MUFU.RCP64H", 1.0)],
        ),
        "rsqrt" => Step::planned(
            asm("rsqrt.approx.ftz.f64 $0, $1;", c, &[x]),
            &[("MUFU.RSQ64H", 1.0)],
        ),
        "div" => Step::planned(
            block(
                c,
                &[b, x],
                scratch,
                "rcp.approx.ftz.f64 t, $2; mul.rn.f64 $0, t, $1;",
            ),
            &[("MUFU.RCP64H", 1.0), ("DMUL", 1.0)],
        ),
        "sqrt" => Step::planned(
            block(
                c,
                &[x],
                scratch,
                "rsqrt.approx.ftz.f64 t, $1; rcp.approx.ftz.f64 $0, t;",
            ),
            &[("MUFU.RSQ64H", 1.0), ("MUFU.RCP64H", 1.0)],
        ),
        _ => return None,
    })
}

/// The special-function unit's operations on halves.
fn approximate_half(function: &str, format: &str, c: Carrier) -> Option<Step> {
    let text = match (function, format) {
        ("exp2", "f16") => "ex2.approx.f16 $0, $1;",
        ("tanh", "f16") => "tanh.approx.f16 $0, $1;",
        ("exp2", "bf16") => "ex2.approx.ftz.bf16 $0, $1;",
        ("tanh", "bf16") => "tanh.approx.bf16 $0, $1;",
        _ => return None,
    };
    Some(Step::new(asm(text, c, &[(c, "%X")])))
}

/// Quotients and roots of halves, by way of f32.
fn accurate_half(function: &str, c: Carrier) -> Option<Step> {
    let t = c.ty();
    Some(Step::new(match function {
        "div" => format!(
            "%Ta = fpext {t} %X to float\n  %Tb = fpext {t} %B to float\n  %Tc = call float asm \"div.rn.f32 $0, $1, $2;\", \"=f,f,f\"(float %Tb, float %Ta)\n  %OUT = fptrunc float %Tc to {t}"
        ),
        "sqrt" => format!(
            "%Ta = fpext {t} %X to float\n  %Tc = call float asm \"sqrt.rn.f32 $0, $1;\", \"=f,f\"(float %Ta)\n  %OUT = fptrunc float %Tc to {t}"
        ),
        _ => return None,
    }))
}

pub(super) fn function(o: &Operation) -> Option<ProbeRecipe> {
    let sfu = o.variant == FunctionVariant::Sfu;
    let (c, numbers) = match o.format {
        "f32" => (Carrier::F32, ProbeNumbers::F32),
        "f64" => (Carrier::F64, ProbeNumbers::F64),
        "f16" if sfu => (Carrier::I16, ProbeNumbers::F16),
        "bf16" if sfu => (Carrier::I16, ProbeNumbers::Bf16),
        "f16" => (Carrier::Half, ProbeNumbers::F16),
        "bf16" => (Carrier::Bfloat, ProbeNumbers::Bf16),
        _ => return None,
    };
    let step = match (o.format, sfu) {
        ("f32" | "f64", false) => accurate(o, c),
        ("f32", true) => approximate_f32(o.function, c)?,
        ("f64", true) => approximate_f64(o.function, c)?,
        (_, true) => approximate_half(o.function, o.format, c)?,
        (_, false) => accurate_half(o.function, c)?,
    };
    // The divisor is what is carried: the reciprocal of a fixed one would be taken out of the loop.
    let values = match o.function {
        "div" => [1.25, 1.5, 0.0],
        "pow" => [1.5, 1.1, 0.0],
        _ => [0.7, 0.0, 0.0],
    };
    Some(ProbeRecipe {
        carrier: c,
        result: c,
        numbers,
        // The assembler knows that the approximate reciprocal undoes itself.
        direct: matches!(o.function, "div" | "sqrt" | "rsqrt" | "cos")
            || o.function == "rcp" && !sfu,
        multiplied: false,
        single: false,
        values,
        steps: same(step.text),
        declares: step.declares,
        results: 1.0,
        planned: step.planned,
        unroll: match (o.format, sfu) {
            (_, true) => 64,
            ("f64", false) if o.function == "pow" => 4,
            _ => 8,
        },
        library: false,
    })
}
