//! Counts over whole small formats.
use crate::common;

use common::{Random, functions};
use kerf_hardround::confirm::value;
use kerf_hardround::exhaustive::{ArgumentTally, tally};
use kerf_hardround::format::{BFLOAT16, BINARY16, BINARY32, BinadeGrid};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::Query;
use kerf_hardround::units::{Units, work};
use std::ops::ControlFlow;

fn count(q: &Query) -> (ArgumentTally, usize) {
    let units = Units::all(q);
    let mut sum = ArgumentTally::default();
    let mut cases = 0;
    let all = work(
        &units,
        0..u64::MAX,
        2,
        |_| true,
        |g, _| tally(q, g),
        |_, _, (t, c)| {
            sum.add(&t);
            cases += c.len();
            ControlFlow::Continue(())
        },
    );
    assert!(all);
    assert_eq!(u128::from(sum.total()), units.arguments());
    (sum, cases)
}

/// All of binary16, against MPFR on every argument.
#[test]
fn halves_by_mpfr() {
    for function in [
        ElementaryFunction::Exp,
        ElementaryFunction::Log,
        ElementaryFunction::Sin,
        ElementaryFunction::Cos,
        ElementaryFunction::Tan,
        ElementaryFunction::Asin,
        ElementaryFunction::Power(3),
    ] {
        let q = Query {
            function,
            format: BINARY16,
            bits: 9,
            isa: None,
        };
        let (sum, cases) = count(&q);
        let mut by_k = vec![0; sum.by_k.len()];
        let mut exact = 0;
        let units = Units::all(&q);
        for g in (0..units.len()).map_while(|i| units.get(i)) {
            for m in g.first..g.end {
                match value(function, BINARY16, &g.float(m, 64)).map(|v| v.k) {
                    Ok(Some(k)) => by_k[k as usize] += 1,
                    Ok(None) => exact += 1,
                    Err(kerf_hardround::confirm::NoValue::Zero) => exact += 1,
                    _ => {}
                }
            }
        }
        if sum.out_of_range + sum.uniform == 0 {
            assert_eq!(sum.by_k, by_k, "{function:?}");
        } else {
            // Far out, results are not looked at one by one.
            assert!(
                sum.by_k.iter().zip(&by_k).all(|(a, b)| a <= b),
                "{function:?} {sum:?} {by_k:?} {exact}"
            );
        }
        if sum.uniform == 0 {
            assert_eq!(sum.exact, exact, "{function:?}");
        }
        assert!(cases as u64 <= sum.by_k.iter().skip(9).sum::<u64>());
    }
}

/// Negative arguments of odd and even functions are what the positive ones tell.
#[test]
fn negative_arguments_are_mirrored() {
    for function in functions() {
        let Some(odd) = function.odd() else { continue };
        let q = Query {
            function,
            format: BFLOAT16,
            bits: 9,
            isa: None,
        };
        let visit = |grids: &[BinadeGrid]| {
            let mut all = (ArgumentTally::default(), Vec::new());
            for g in grids {
                let (t, c) = tally(&q, g);
                all.0.add(&t);
                all.1.extend(c);
            }
            all
        };
        let units = Units::all(&q);
        let positive: Vec<BinadeGrid> = (0..units.len()).map_while(|i| units.get(i)).collect();
        assert!(positive.iter().all(|g| !g.negative), "{function:?}");
        let negative: Vec<BinadeGrid> = positive
            .iter()
            .map(|g| BinadeGrid {
                negative: true,
                ..*g
            })
            .collect();
        let (mut sum, mut cases) = visit(&positive);
        let (below, mut hard) = visit(&negative);
        sum.mirror(odd, &mut cases);
        let mut half = below.clone();
        half.add(&below);
        assert_eq!(sum, half, "{function:?}");
        cases.retain(|c| c.x < 0.0);
        cases.sort_by(|a, b| a.x.total_cmp(&b.x));
        hard.sort_by(|a, b| a.x.total_cmp(&b.x));
        assert_eq!(cases, hard, "{function:?}");
    }
}

/// Large arguments of sine, cosine and tangent, against MPFR on every argument.
#[test]
fn large_angles_by_mpfr() {
    let mut r = Random(5);
    for function in [
        ElementaryFunction::Sin,
        ElementaryFunction::Cos,
        ElementaryFunction::Tan,
    ] {
        for (format, length) in [(BINARY32, 3000), (BFLOAT16, 128), (BINARY32, 50)] {
            let exponent = -14 + r.below(100) as i32;
            let top = 1u64 << (format.precision - 1);
            let first = top + r.below(top - length + 1);
            let g = BinadeGrid {
                negative: r.below(2) == 0,
                exponent,
                first,
                end: first + length,
            };
            let q = Query {
                function,
                format,
                bits: 9,
                isa: None,
            };
            let (sum, cases) = tally(&q, &g);
            let mut by_k = vec![0; sum.by_k.len()];
            let mut hard = Vec::new();
            for m in g.first..g.end {
                let k = value(function, format, &g.float(m, 64)).unwrap().k.unwrap();
                by_k[k as usize] += 1;
                if k >= q.bits {
                    hard.push(g.value(m));
                }
            }
            assert_eq!(sum.by_k, by_k, "{function:?} {g:?}");
            assert_eq!(cases.iter().map(|c| c.x).collect::<Vec<_>>(), hard);
        }
    }
}

/// Every function over all of bfloat16 and a binade of binary32: counts halve from k to k + 1.
#[test]
fn counts_are_complete() {
    for function in functions() {
        let q = Query {
            function,
            format: BFLOAT16,
            bits: 12,
            isa: None,
        };
        count(&q);
    }
    let q = Query {
        function: ElementaryFunction::Exp,
        format: BINARY32,
        bits: 22,
        isa: None,
    };
    let units = Units::new(&q, 1.0, 2.0).unwrap();
    let mut sum = ArgumentTally::default();
    let _ = work(
        &units,
        0..u64::MAX,
        2,
        |_| true,
        |g, _| tally(&q, g),
        |_, _, (t, _)| {
            sum.add(&t);
            ControlFlow::Continue(())
        },
    );
    assert_eq!(sum.total(), 1 << 23);
    for k in 1..10 {
        let want = (1u64 << 23 >> k) as f64;
        assert!(
            (sum.by_k[k] as f64 - want).abs() < 6.0 * want.sqrt(),
            "{k}: {sum:?}"
        );
    }
}
