//! Recipes of shuffles, loads and atomics.
use super::{Carrier, ProbeNumbers, ProbeRecipe, asm, same};
use crate::operation::Operation;

pub(super) fn memory(o: &Operation) -> Option<ProbeRecipe> {
    let address32 = (Carrier::I32, "%X");
    let address64 = (Carrier::I64, "%X");
    let mut direct = true;
    let mut result = None;
    let (carrier, step, planned) = match (o.function, o.format) {
        ("shuffle", _) => (
            Carrier::I32,
            asm(
                "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;",
                Carrier::I32,
                &[address32],
            ),
            vec![("SHFL", 1.0)],
        ),
        ("load", "shared") => (
            Carrier::I32,
            asm("ld.shared.u32 $0, [$1];", Carrier::I32, &[address32]),
            vec![("LDS", 1.0)],
        ),
        ("load", "l1" | "dram") => (
            Carrier::I64,
            asm("ld.global.ca.u64 $0, [$1];", Carrier::I64, &[address64]),
            vec![("LDG", 1.0)],
        ),
        ("load", "l2") => (
            Carrier::I64,
            asm("ld.global.cg.u64 $0, [$1];", Carrier::I64, &[address64]),
            vec![("LDG", 1.0)],
        ),
        ("atomic_add", place) => {
            direct = false;
            let (to, ty) = match o.to? {
                "i32" => (Carrier::I32, "u32"),
                "f32" => (Carrier::F32, "f32"),
                _ => (Carrier::F64, "f64"),
            };
            result = Some(to);
            let one = match o.to? {
                "i32" => "1",
                "f32" => "0f3F800000",
                _ => "0d3FF0000000000000",
            };
            let (c, x) = if place == "shared" {
                (Carrier::I32, address32)
            } else {
                (Carrier::I64, address64)
            };
            // An atomic may not be dropped or moved.
            let text = format!("atom.{place}.add.{ty} $0, [$1], {one};");
            let line = asm(&text, to, &[x]).replace(" asm \"", " asm sideeffect \"");
            (c, line, vec![])
        }
        _ => return None,
    };
    Some(ProbeRecipe {
        carrier,
        result: result.unwrap_or(carrier),
        numbers: if o.function == "shuffle" {
            ProbeNumbers::Int
        } else {
            ProbeNumbers::Address
        },
        direct,
        multiplied: false,
        single: false,
        values: [1.0, 0.0, 0.0],
        steps: same(step),
        declares: vec![],
        results: 1.0,
        planned,
        unroll: 64,
        library: false,
    })
}
