//! Every rule on random values against MPFR: both sides in 400 bits, where the left one is defined.
use super::*;
use crate::term::{Term, operation};
use crate::value::evaluated;
use egg::{ENodeOrVar, Language, Pattern};
use kerf_num::random::SplitMix64;
use rug::Float;
use std::collections::BTreeMap;

const BITS: u32 = 400;

type Values = BTreeMap<String, Float>;

/// The value of a pattern; none where it is not a finite number.
fn value(pattern: &str, at: &Values) -> Option<Float> {
    let p: Pattern<Term> = pattern.parse().expect("a pattern");
    let mut out: Vec<Float> = Vec::new();
    for node in p.ast.as_ref() {
        let v = match node {
            ENodeOrVar::Var(v) => at[&v.to_string()].clone(),
            ENodeOrVar::ENode(Term::Number(n)) => Float::with_val(BITS, n.value()),
            ENodeOrVar::ENode(t) => {
                let o = operation(t).expect("an operation");
                let x: Vec<Float> = t
                    .children()
                    .iter()
                    .map(|c| out[usize::from(*c)].clone())
                    .collect();
                evaluated(o, &x, BITS).expect("it has its operands")
            }
        };
        if !v.is_finite() {
            return None;
        }
        out.push(v);
    }
    out.pop()
}

fn variables(pattern: &str) -> Vec<String> {
    let p: Pattern<Term> = pattern.parse().expect("a pattern");
    let all = p.ast.as_ref().iter().filter_map(|n| match n {
        ENodeOrVar::Var(v) => Some(v.to_string()),
        ENodeOrVar::ENode(_) => None,
    });
    all.collect()
}

/// A random number that meets a rule's conditions on a variable.
fn draw(r: &Rule, name: &str, random: &mut SplitMix64) -> f64 {
    let mut uniform = || (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
    let size = (uniform() * 6.0 - 3.0).exp2() * (1.0 + uniform());
    let mut sign = if uniform() < 0.5 { -1.0 } else { 1.0 };
    for c in r.when {
        match c {
            NonNegative(v) | Positive(v) if *v == name => sign = 1.0,
            PowerOfTwo(v) if *v == name => return sign * size.log2().floor().exp2(),
            _ => {}
        }
    }
    sign * size
}

/// How far two sides may be apart: 1/3 is no number of f64, and further still from one of f32.
fn tolerance(r: &Rule) -> f64 {
    let exponent = |text: &str| r.from.contains(text);
    if exponent("432674408") || exponent("865348816") {
        1e-6
    } else if exponent("33333") || exponent("66666") {
        1e-14
    } else {
        1e-90
    }
}

#[test]
fn every_rule_holds_where_its_left_side_is_defined() {
    let mut random = SplitMix64::new(31);
    for r in RULES {
        let (mut defined, mut tries) = (0, 0);
        while defined < 200 {
            tries += 1;
            assert!(tries < 20_000, "{}: hardly ever defined", r.name);
            let names = variables(r.from);
            let at: Values = names
                .iter()
                .map(|n| (n.clone(), Float::with_val(BITS, draw(r, n, &mut random))))
                .collect();
            let Some(left) = value(r.from, &at) else {
                continue;
            };
            defined += 1;
            let right = value(r.to, &at);
            let Some(right) = right else {
                panic!("{}: {at:?}: the right side is not defined", r.name);
            };
            let off = Float::with_val(BITS, &left - &right).abs().to_f64();
            let size = left.to_f64().abs().max(1e-30);
            assert!(
                off <= tolerance(r) * size,
                "{}: {at:?}: {left} is not {right}",
                r.name
            );
        }
    }
}

#[test]
fn conditions_name_variables_and_are_needed() {
    let mut random = SplitMix64::new(32);
    for r in RULES {
        let names = variables(r.from);
        for v in variables(r.to) {
            assert!(names.contains(&v), "{}: {v} is on the right alone", r.name);
        }
        for c in r.when {
            let (NonNegative(v) | Positive(v) | NonZero(v) | PowerOfTwo(v)) = c;
            assert!(names.iter().any(|n| n == v), "{}: {v}", r.name);
        }
        // A condition on a sign that nothing breaks would keep a rule from where it holds.
        let signs: Vec<&str> = r
            .when
            .iter()
            .filter_map(|c| match c {
                NonNegative(v) | Positive(v) => Some(*v),
                _ => None,
            })
            .collect();
        if signs.is_empty() {
            continue;
        }
        let broken = (0..400).any(|k| {
            let sign = |n: &str| if signs.contains(&n) { -1.0 } else { 1.0 };
            let at: Values = names
                .iter()
                .map(|n| {
                    let x = draw(r, n, &mut random).abs();
                    // Powers of negative numbers have integer exponents; halves may add up to one.
                    let x = match k % 3 {
                        0 => x,
                        1 => x.ceil(),
                        _ => (2.0 * x).ceil() / 2.0,
                    };
                    (n.clone(), Float::with_val(BITS, x * sign(n)))
                })
                .collect();
            match (value(r.from, &at), value(r.to, &at)) {
                (Some(a), Some(b)) => Float::with_val(BITS, a - b).abs() > 1e-20,
                (a, b) => a.is_some() != b.is_some(),
            }
        });
        assert!(broken, "{}: it holds for negative values too", r.name);
    }
}

#[test]
fn exact_rules_keep_the_bits() {
    use kerf_ir::pure_operation::PureOperation;
    let mut random = SplitMix64::new(33);
    let rounded = |pattern: &str, at: &BTreeMap<String, f64>| {
        let p: Pattern<Term> = pattern.parse().expect("a pattern");
        let mut out: Vec<f64> = Vec::new();
        for node in p.ast.as_ref() {
            out.push(match node {
                ENodeOrVar::Var(v) => at[&v.to_string()],
                ENodeOrVar::ENode(Term::Number(n)) => n.value(),
                ENodeOrVar::ENode(t) => {
                    let x: Vec<f64> = t.children().iter().map(|c| out[usize::from(*c)]).collect();
                    match operation(t).expect("an operation") {
                        PureOperation::Fma => x[0].mul_add(x[1], x[2]),
                        o => crate::term::folded(o, &x, kerf_num::Format::F64).expect("arithmetic"),
                    }
                }
            });
        }
        out.pop().expect("a value")
    };
    let special = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
        f64::MAX,
        1.0,
    ];
    for r in RULES.iter().filter(|r| r.kind == Exact) {
        for k in 0..400 {
            let names = variables(r.from);
            let number = |n: &String, random: &mut SplitMix64| {
                let constrained = r.when.iter().any(|c| {
                    let (NonNegative(v) | Positive(v) | NonZero(v) | PowerOfTwo(v)) = c;
                    v == n
                });
                let pick = random.bits() as usize % special.len();
                match k % 2 == 0 && !constrained {
                    true => special[pick],
                    false => draw(r, n, random),
                }
            };
            let at: BTreeMap<String, f64> = names
                .iter()
                .map(|n| (n.clone(), number(n, &mut random)))
                .collect();
            let (a, b) = (rounded(r.from, &at), rounded(r.to, &at));
            assert!(
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                "{}: {at:?}: {a:e} is not {b:e}",
                r.name
            );
        }
    }
}
