//! Recipes of conversions, and of comparing and selecting.
use super::{Carrier, ProbeRecipe, asm, native, same};
use crate::operation::Operation;

pub(super) fn conversion(o: &Operation) -> Option<ProbeRecipe> {
    let (from, numbers, from_ty) = native(o.format)?;
    let (to, _, to_ty) = native(o.to?)?;
    let (a, b) = (o.format, o.to?);
    let narrowing = |f: &str| ["i32", "i64"].contains(&f);
    let rank = |f: &str| ["bf16", "f16", "f32", "f64"].iter().position(|x| *x == f);
    let rounding = if narrowing(b) {
        ".rzi"
    } else if narrowing(a) || rank(b) < rank(a) || (a, b) == ("bf16", "f16") {
        ".rn"
    } else {
        ""
    };
    // A half lies in the lower part of a whole register, as the assembler would have it.
    let narrow = from == Carrier::I16;
    let carrier = if narrow { Carrier::I32 } else { from };
    let cvt = format!("cvt{rounding}.{to_ty}.{from_ty}");
    let text = if narrow {
        format!("{{ .reg .b16 h, u; mov.b32 {{h, u}}, $1; {cvt} $0, h; }}")
    } else {
        format!("{cvt} $0, $1;")
    };
    Some(ProbeRecipe {
        carrier,
        result: to,
        numbers,
        direct: false,
        // f16 is widened where integers are multiplied.
        multiplied: carrier.width() == 32 && a != "f16",
        single: false,
        values: [100.7, 0.0, 0.0],
        steps: same(asm(&text, to, &[(carrier, "%X")])),
        declares: vec![],
        results: 1.0,
        planned: vec![],
        unroll: 64,
        library: false,
    })
}

/// There and back in one step, for conversions from 64 bits: what feeds a 64-bit register otherwise
/// holds the converter up.
pub fn round_trip(o: &Operation) -> Option<ProbeRecipe> {
    let there = conversion(o)?;
    if there.carrier.width() != 64 {
        return None;
    }
    let back = conversion(&crate::operation::find(&format!(
        "convert.{}.{}",
        o.to?, o.format
    ))?)?;
    let instruction = |r: &ProbeRecipe| {
        let text = &r.steps[0];
        let at = text.find("cvt")?;
        text[at..].split(' ').next().map(str::to_owned)
    };
    let c = there.carrier;
    let text = format!(
        "{{ .reg .b{} t; {} t, $1; {} $0, t; }}",
        there.result.width(),
        instruction(&there)?,
        instruction(&back)?
    );
    Some(ProbeRecipe {
        result: c,
        direct: true,
        steps: same(asm(&text, c, &[(c, "%X")])),
        ..there
    })
}

pub(super) fn select(o: &Operation) -> Option<ProbeRecipe> {
    let (c, numbers, ty) = native(o.format)?;
    let moved = match c {
        Carrier::I16 => "b16",
        Carrier::F64 => "f64",
        Carrier::F32 => "f32",
        _ => "b32",
    };
    Some(ProbeRecipe {
        carrier: c,
        result: c,
        numbers,
        direct: true,
        multiplied: false,
        single: matches!(o.format, "f16" | "bf16"),
        values: [0.5, 1.5, 0.25],
        steps: same(asm(
            &format!("{{ .reg .pred q; setp.lt.{ty} q, $1, $2; selp.{moved} $0, $3, $2, q; }}"),
            c,
            &[(c, "%X"), (c, "%B"), (c, "%C")],
        )),
        declares: vec![],
        results: 1.0,
        planned: vec![],
        unroll: 128,
        library: false,
    })
}
