//! The worst cases of a list by binade of the argument, to nearest and for the directed rounding modes.
use crate::format::parse;
use crate::unit_record::Written;
use serde::Serialize;
use std::collections::BTreeMap;

/// Field of the exponent of subnormal numbers of binary64, less its bias.
const SUBNORMAL: i32 = -1023;

/// The worst cases of one binade of arguments.
///
/// Rounding to nearest is hard next to the middle of two numbers, where the round bit differs from those that follow. Rounding
/// toward zero, up and down is hard next to a number: the three have the same cases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BinadeWorst {
    /// The binade: `2^3`, `-2^-7`, `subnormal`, `-subnormal`.
    pub binade: String,
    /// Cases in it.
    pub cases: u64,
    /// The one with most identical bits for rounding to nearest.
    pub nearest: Option<Written>,
    /// The one for rounding toward zero, up and down.
    pub directed: Option<Written>,
}

/// The worst cases by binade, negative arguments first, then by exponent. Of several with as many bits the first is taken.
pub fn worst_by_binade<'a>(cases: impl IntoIterator<Item = &'a Written>) -> Vec<BinadeWorst> {
    let mut all: BTreeMap<(bool, i32), BinadeWorst> = BTreeMap::new();
    for case in cases {
        let Some(x) = parse(&case.x).filter(|x| *x != 0.0) else {
            continue;
        };
        let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
        let row = all
            .entry((x > 0.0, exponent))
            .or_insert_with(|| BinadeWorst {
                binade: binade_name(x < 0.0, exponent),
                cases: 0,
                nearest: None,
                directed: None,
            });
        row.cases += 1;
        let place = match case.round_bit == case.repeated {
            true => &mut row.directed,
            false => &mut row.nearest,
        };
        if place.as_ref().is_none_or(|there| there.k < case.k) {
            *place = Some(case.clone());
        }
    }
    all.into_values().collect()
}

fn binade_name(negative: bool, exponent: i32) -> String {
    let sign = if negative { "-" } else { "" };
    match exponent {
        SUBNORMAL => format!("{sign}subnormal"),
        e => format!("{sign}2^{e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(x: &str, k: u32, round_bit: u8, repeated: u8) -> Written {
        Written {
            x: x.into(),
            k,
            round_bit,
            repeated,
            sign: '+',
            binade: 0,
        }
    }

    #[test]
    fn modes_and_binades() {
        let cases = [
            case("0x1.8p+0", 44, 0, 1),
            case("0x1.9p+0", 46, 1, 0),
            case("0x1.ap+0", 45, 1, 1),
            case("-0x1p-1074", 50, 0, 0),
            case("0x0p+0", 60, 0, 0),
        ];
        let table = worst_by_binade(&cases);
        let names: Vec<&str> = table.iter().map(|b| b.binade.as_str()).collect();
        assert_eq!(names, ["-subnormal", "2^0"]);
        assert_eq!(table[0].nearest, None);
        assert_eq!(table[1].cases, 3);
        assert_eq!(table[1].nearest, Some(cases[1].clone()));
        assert_eq!(table[1].directed, Some(cases[2].clone()));
    }
}
