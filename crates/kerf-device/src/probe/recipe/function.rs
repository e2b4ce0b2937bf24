//! Recipes of division, roots and elementary functions.
use super::{Carrier, Numbers, Recipe, asm, same};
use crate::operation::{Operation, Variant};

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

pub(super) fn function(o: &Operation) -> Option<Recipe> {
    let f32_ = Carrier::F32;
    let f64_ = Carrier::F64;
    let sfu = o.variant == Variant::Sfu;
    let (c, numbers) = match o.format {
        "f32" => (f32_, Numbers::F32),
        "f64" => (f64_, Numbers::F64),
        "f16" if sfu => (Carrier::I16, Numbers::F16),
        "bf16" if sfu => (Carrier::I16, Numbers::Bf16),
        "f16" => (Carrier::Half, Numbers::F16),
        "bf16" => (Carrier::Bfloat, Numbers::Bf16),
        _ => return None,
    };
    let (x, b) = ((c, "%X"), (c, "%B"));
    let mut declares = Vec::new();
    let mut planned = Vec::new();
    let step = match (o.function, o.format, sfu) {
        ("div", "f32", false) => asm("div.rn.f32 $0, $1, $2;", c, &[b, x]),
        ("div", "f32", true) => {
            planned = vec![("MUFU.RCP", 1.0)];
            asm("div.approx.ftz.f32 $0, $1, $2;", c, &[b, x])
        }
        ("rcp", "f32", false) => asm("rcp.rn.f32 $0, $1;", c, &[x]),
        ("sqrt", "f32", false) => asm("sqrt.rn.f32 $0, $1;", c, &[x]),
        ("rsqrt", "f32", false) => block(
            c,
            &[x],
            ".reg .f32 t;",
            "sqrt.rn.f32 t, $1; rcp.rn.f32 $0, t;",
        ),
        ("rcp", "f32", true) => {
            planned = vec![("MUFU.RCP", 1.0)];
            asm("rcp.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("sqrt", "f32", true) => asm("sqrt.approx.ftz.f32 $0, $1;", c, &[x]),
        ("rsqrt", "f32", true) => {
            planned = vec![("MUFU.RSQ", 1.0)];
            asm("rsqrt.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("sin", "f32", true) => {
            planned = vec![("MUFU.SIN", 1.0)];
            asm("sin.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("cos", "f32", true) => {
            planned = vec![("MUFU.COS", 1.0)];
            asm("cos.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("tan", "f32", true) => block(
            c,
            &[x],
            ".reg .f32 s, t;",
            "sin.approx.ftz.f32 s, $1; cos.approx.ftz.f32 t, $1; div.approx.ftz.f32 $0, s, t;",
        ),
        ("tanh", "f32", true) => {
            planned = vec![("MUFU.TANH", 1.0)];
            asm("tanh.approx.f32 $0, $1;", c, &[x])
        }
        ("exp2", "f32", true) => {
            planned = vec![("MUFU.EX2", 1.0)];
            asm("ex2.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("log2", "f32", true) => {
            planned = vec![("MUFU.LG2", 1.0)];
            asm("lg2.approx.ftz.f32 $0, $1;", c, &[x])
        }
        ("exp", "f32", true) => {
            planned = vec![("MUFU.EX2", 1.0), ("FMUL", 1.0)];
            block(
                c,
                &[x],
                ".reg .f32 t;",
                "mul.rn.ftz.f32 t, $1, 0f3FB8AA3B; ex2.approx.ftz.f32 $0, t;",
            )
        }
        ("log", "f32", true) => {
            planned = vec![("MUFU.LG2", 1.0), ("FMUL", 1.0)];
            block(
                c,
                &[x],
                ".reg .f32 t;",
                "lg2.approx.ftz.f32 t, $1; mul.rn.ftz.f32 $0, t, 0f3F317218;",
            )
        }
        ("pow", "f32", true) => {
            planned = vec![("MUFU.LG2", 1.0), ("MUFU.EX2", 1.0), ("FMUL", 1.0)];
            block(
                c,
                &[x, b],
                ".reg .f32 t;",
                "lg2.approx.ftz.f32 t, $1; mul.rn.ftz.f32 t, t, $2; ex2.approx.ftz.f32 $0, t;",
            )
        }
        ("div", "f64", false) => asm("div.rn.f64 $0, $1, $2;", c, &[b, x]),
        ("rcp", "f64", false) => asm("rcp.rn.f64 $0, $1;", c, &[x]),
        ("sqrt", "f64", false) => asm("sqrt.rn.f64 $0, $1;", c, &[x]),
        ("rsqrt", "f64", false) => block(
            c,
            &[x],
            ".reg .f64 t;",
            "sqrt.rn.f64 t, $1; rcp.rn.f64 $0, t;",
        ),
        ("rcp", "f64", true) => {
            planned = vec![("MUFU.RCP64H", 1.0)];
            asm("rcp.approx.ftz.f64 $0, $1;", c, &[x])
        }
        ("rsqrt", "f64", true) => {
            planned = vec![("MUFU.RSQ64H", 1.0)];
            asm("rsqrt.approx.ftz.f64 $0, $1;", c, &[x])
        }
        ("div", "f64", true) => {
            planned = vec![("MUFU.RCP64H", 1.0), ("DMUL", 1.0)];
            block(
                c,
                &[b, x],
                ".reg .f64 t;",
                "rcp.approx.ftz.f64 t, $2; mul.rn.f64 $0, t, $1;",
            )
        }
        ("sqrt", "f64", true) => {
            planned = vec![("MUFU.RSQ64H", 1.0), ("MUFU.RCP64H", 1.0)];
            block(
                c,
                &[x],
                ".reg .f64 t;",
                "rsqrt.approx.ftz.f64 t, $1; rcp.approx.ftz.f64 $0, t;",
            )
        }
        ("exp2", "f16", true) => asm("ex2.approx.f16 $0, $1;", c, &[x]),
        ("tanh", "f16", true) => asm("tanh.approx.f16 $0, $1;", c, &[x]),
        ("exp2", "bf16", true) => asm("ex2.approx.ftz.bf16 $0, $1;", c, &[x]),
        ("tanh", "bf16", true) => asm("tanh.approx.bf16 $0, $1;", c, &[x]),
        ("div", "f16" | "bf16", false) => {
            let t = c.ty();
            format!(
                "%Ta = fpext {t} %X to float\n  %Tb = fpext {t} %B to float\n  %Tc = call float asm \"div.rn.f32 $0, $1, $2;\", \"=f,f,f\"(float %Tb, float %Ta)\n  %OUT = fptrunc float %Tc to {t}"
            )
        }
        ("sqrt", "f16" | "bf16", false) => {
            let t = c.ty();
            format!(
                "%Ta = fpext {t} %X to float\n  %Tc = call float asm \"sqrt.rn.f32 $0, $1;\", \"=f,f\"(float %Ta)\n  %OUT = fptrunc float %Tc to {t}"
            )
        }
        (_, "f32" | "f64", false) => {
            let (step, declare) = libdevice(o, c);
            declares.push(declare);
            step
        }
        _ => return None,
    };
    // The divisor is what is carried: the reciprocal of a fixed one would be taken out of the loop.
    let values = match o.function {
        "div" => [1.25, 1.5, 0.0],
        "pow" => [1.5, 1.1, 0.0],
        _ => [0.7, 0.0, 0.0],
    };
    Some(Recipe {
        carrier: c,
        result: c,
        numbers,
        // The assembler knows that the approximate reciprocal undoes itself.
        direct: matches!(o.function, "div" | "sqrt" | "rsqrt" | "cos")
            || o.function == "rcp" && !sfu,
        multiplied: false,
        single: false,
        values,
        steps: same(step),
        declares,
        results: 1.0,
        planned,
        unroll: match (o.format, sfu) {
            (_, true) => 64,
            ("f64", false) if o.function == "pow" => 4,
            _ => 8,
        },
        library: false,
    })
}
