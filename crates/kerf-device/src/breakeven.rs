//! Where two words beat one wide one: f64, float2 (two f32 words) or double2 (two f64 words).
//!
//! float2 and f64 are substitutes where about 45 bits are enough, so they are compared by rate.
//! double2 has no native rival; its cost is told in f64 operations. Rates that a profile has are
//! used; the others are derived from the instructions that an operation takes and the rates of the
//! units that run them, and say so.
use crate::bits;
use crate::profile::{DeviceProfile, FigureSource};
use kerf_num::doubleword::Elementary;
use serde::Serialize;

/// The functions compared.
pub const FUNCTIONS: [&str; 5] = ["add", "mul", "fma", "div", "exp"];

/// Where a rate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Measured on the device.
    Measured,
    /// From the profile's publication.
    Published,
    /// From instruction counts and the units' rates.
    Derived,
}

/// Results per clock per multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// The rate.
    pub per_clock: f64,
    /// Where it comes from.
    pub basis: Basis,
}

/// One format's side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Side {
    /// How fast.
    pub rate: Option<Rate>,
    /// How many bits of the result are right in the worst case.
    pub bits: Option<f64>,
}

/// Which of the substitutes is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// Native double precision.
    F64,
    /// Two f32 words.
    Float2,
}

/// One function on one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakevenRow {
    /// `add` to `exp`.
    pub function: &'static str,
    /// Native double precision.
    pub f64: Side,
    /// Two f32 words.
    pub float2: Side,
    /// Two f64 words.
    pub double2: Side,
    /// The faster of f64 and float2, where both are known.
    pub winner: Option<Winner>,
    /// How many times faster it is.
    pub factor: Option<f64>,
    /// What a double2 operation costs, in f64 operations of the same kind.
    pub double2_cost: Option<f64>,
}

/// Instructions of one operation.
struct Work {
    /// On the unit of the words.
    words: f64,
    /// On the special-function unit.
    sfu: f64,
}

/// Instructions of the double-word exponential, whose polynomials are as long as the constants of
/// `kerf_num`: reduction by three parts of ln 2, a tail in one word, a head in two, the square,
/// two products, a sum, and the scaling of both words.
fn exp_words<T: Elementary>() -> f64 {
    let (plus_word, times, plus) = (10, 9, 20);
    let reduction = 2 + 3 * (1 + plus_word);
    let polynomial = T::EXP_TAIL.len() + T::EXP_HEAD.len() * (times + plus);
    let rest = 2 * times + plus + plus_word + 2;
    (reduction + polynomial + rest) as f64
}

/// Instructions of an operation that is not a single one.
///
/// Add, multiply and multiply-add are those of the algorithms (JMP 6 and 12), and what ptxas 12.9
/// makes of them for 7.5 to 12.0. Divisions are the usual path of that code: f64 by a seed and 8
/// steps, a double word (JMP 17) by two divisions of its words. The exponential of f64 is
/// libdevice's.
fn work(function: &str, format: &str) -> Option<Work> {
    let (words, sfu) = match (function, format) {
        ("add", "dw32" | "dw64") => (20.0, 0.0),
        ("mul", "dw32" | "dw64") => (9.0, 0.0),
        ("fma", "dw32" | "dw64") => (29.0, 0.0),
        ("div", "dw32") => (26.0, 2.0),
        ("div", "dw64") => (32.0, 2.0),
        ("exp", "dw32") => (exp_words::<f32>(), 0.0),
        ("exp", "dw64") => (exp_words::<f64>(), 0.0),
        ("div", "f64") => (8.0, 1.0),
        ("exp", "f64") => (18.0, 0.0),
        _ => return None,
    };
    Some(Work { words, sfu })
}

/// The worst relative error of a double-word operation in units of `u^2`: proven, but for `exp`,
/// where it is what `kerf_num` asserts of its measurements. That of `fma` is relative to the sum of
/// the magnitudes of product and addend.
fn error_u2(function: &str) -> Option<f64> {
    Some(match function {
        "add" => 3.0,
        "mul" => 5.0,
        "fma" => 8.0,
        "div" => 15.0,
        "exp" => <f32 as Elementary>::EXP_ERR_U2,
        _ => return None,
    })
}

fn stated(p: &DeviceProfile, key: &str) -> Option<Rate> {
    let f = &p.operations.get(key)?.throughput;
    let basis = match f.source {
        FigureSource::Measured => Basis::Measured,
        FigureSource::Published(_) => Basis::Published,
        FigureSource::Unknown => return None,
    };
    f.value
        .filter(|v| *v > 0.0)
        .map(|per_clock| Rate { per_clock, basis })
}

fn derived(p: &DeviceProfile, function: &str, format: &str) -> Option<Rate> {
    let w = work(function, format)?;
    let word = if format == "dw32" {
        "fma.f32"
    } else {
        "fma.f64"
    };
    let by_words = stated(p, word)?.per_clock / w.words;
    let per_clock = match w.sfu > 0.0 {
        // Both units work at the same time; the slower one decides.
        true => by_words.min(stated(p, "rcp.f32.sfu")?.per_clock / w.sfu),
        false => by_words,
    };
    Some(Rate {
        per_clock,
        basis: Basis::Derived,
    })
}

fn side(p: &DeviceProfile, function: &str, format: &str) -> Side {
    let key = format!("{function}.{format}");
    let known = p
        .operations
        .get(&key)
        .and_then(|o| o.accuracy.as_ref())
        .and_then(|a| bits::correct(a, format))
        .filter(|b| b.measure == bits::BitsMeasure::Relative)
        .map(|b| b.bits);
    let by_design = || match format {
        // IEEE 754 since compute capability 2.0.
        "f64" => (function != "exp").then_some(53.0),
        _ => error_u2(function).map(|e| {
            let word = if format == "dw32" { 24.0 } else { 53.0 };
            2.0 * word - e.log2()
        }),
    };
    Side {
        rate: stated(p, &key).or_else(|| derived(p, function, format)),
        bits: known.or_else(by_design),
    }
}

/// The comparison on one device.
pub fn rows(p: &DeviceProfile) -> Vec<BreakevenRow> {
    let row = |function| {
        let [f64, float2, double2] = ["f64", "dw32", "dw64"].map(|f| side(p, function, f));
        let ratio = |a: Side, b: Side| Some(a.rate?.per_clock / b.rate?.per_clock);
        let gain = ratio(float2, f64);
        BreakevenRow {
            function,
            f64,
            float2,
            double2,
            winner: gain.map(|g| if g > 1.0 { Winner::Float2 } else { Winner::F64 }),
            factor: gain.map(|g| g.max(1.0 / g)),
            double2_cost: ratio(f64, double2),
        }
    };
    FUNCTIONS.into_iter().map(row).collect()
}

/// Whether a sum, a product and a multiply-add of two f32 words all take less time than those of f64: where a search for f64 programs
/// has reason to try pairs of f32.
pub fn pairs_of_f32_pay(p: &DeviceProfile) -> bool {
    let basic = ["add", "mul", "fma"];
    let rows = rows(p);
    let mut basic = rows.iter().filter(|r| basic.contains(&r.function));
    basic.all(|r| r.winner == Some(Winner::Float2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled;
    use crate::profile::Figure;

    fn profile(word: &str) -> DeviceProfile {
        bundled::find(word).expect(word).bundled.load().expect(word)
    }

    fn row(p: &DeviceProfile, function: &str) -> BreakevenRow {
        let r = rows(p).into_iter().find(|r| r.function == function);
        r.expect(function)
    }

    #[test]
    fn scarce_doubles_lose_and_plenty_win() {
        // 128 / 20 = 6.4 additions of float2 against 2 of f64.
        let r = row(&profile("8.6"), "add");
        assert_eq!(r.winner, Some(Winner::Float2));
        assert!((r.factor.expect("known") - 3.2).abs() < 1e-12);
        // The same 6.4 against 64.
        let r = row(&profile("9.0"), "add");
        assert_eq!(r.winner, Some(Winner::F64));
        assert!((r.factor.expect("known") - 10.0).abs() < 1e-12);
        assert_eq!(r.double2_cost, Some(20.0));
        assert_eq!(r.float2.rate.expect("derived").basis, Basis::Derived);
        assert_eq!(r.f64.rate.expect("published").basis, Basis::Published);
    }

    #[test]
    fn pairs_of_f32_pay_where_doubles_are_scarce() {
        for (word, pay) in [
            ("h200", false),
            ("h100", false),
            ("a100", false),
            ("b200", false),
            ("rtx3090", true),
            ("rtx4090", true),
            ("rtx5090", true),
            ("b300", true),
            ("t4", true),
        ] {
            assert_eq!(pairs_of_f32_pay(&profile(word)), pay, "{word}");
        }
    }

    #[test]
    fn the_slower_unit_decides_a_division() {
        // float2 on 9.0: 128 / 26 = 4.92 by f32, 16 / 2 = 8 by the special-function unit.
        let r = row(&profile("9.0"), "div");
        assert!((r.float2.rate.expect("derived").per_clock - 128.0 / 26.0).abs() < 1e-12);
        // f64: 64 / 8 = 8 against 16.
        assert_eq!(r.f64.rate.expect("derived").per_clock, 8.0);
        // Fermi has four special-function units: 4 / 2 = 2 against 32 / 26 = 1.23.
        let r = row(&profile("fermi"), "div");
        assert!((r.float2.rate.expect("derived").per_clock - 32.0 / 26.0).abs() < 1e-12);
    }

    #[test]
    fn measurements_come_first_and_gaps_stay_gaps() {
        let mut p = profile("9.0");
        let o = p.operations.entry("add.dw32".into()).or_default();
        o.throughput = Figure::measured(5.0);
        let r = row(&p, "add");
        assert_eq!(
            r.float2.rate,
            Some(Rate {
                per_clock: 5.0,
                basis: Basis::Measured
            })
        );
        p.operations.remove("fma.f64");
        p.operations.remove("add.f64");
        let r = row(&p, "add");
        assert_eq!((r.f64.rate, r.winner, r.double2_cost), (None, None, None));
        assert!(row(&p, "div").f64.rate.is_none());
    }

    #[test]
    fn bits_are_those_of_the_proofs() {
        let r = row(&profile("9.0"), "add");
        assert!((r.float2.bits.expect("proven") - (48.0 - 3f64.log2())).abs() < 1e-12);
        assert!((r.double2.bits.expect("proven") - (106.0 - 3f64.log2())).abs() < 1e-12);
        assert_eq!(r.f64.bits, Some(53.0));
        assert!(row(&profile("kepler"), "exp").f64.bits.is_none());
    }

    #[test]
    fn an_exponential_is_as_long_as_its_polynomial() {
        // Counted from the steps of `Dw::exp` with 7 + 5 and 13 + 8 coefficients.
        assert_eq!(exp_words::<f32>(), 35.0 + 5.0 + 7.0 * 29.0 + 50.0);
        assert_eq!(exp_words::<f64>(), 35.0 + 8.0 + 13.0 * 29.0 + 50.0);
    }
}
