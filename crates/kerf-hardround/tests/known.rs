//! Published hard cases of exp.
use kerf_hardround::format::{BINARY64, grids, parse};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{Query, search};
use kerf_hardround::search::{Isa, Scratch};

fn exp(from: &str, to: &str, bits: u32, isa: Isa) -> Vec<(f64, u32)> {
    let ends = [from, to].map(|t| parse(t).unwrap());
    let (parts, zero) = grids(BINARY64, ends[0], ends[1]).unwrap();
    assert!(!zero);
    let query = Query {
        function: ElementaryFunction::Exp,
        format: BINARY64,
        bits,
        isa: Some(isa),
    };
    let mut all = Vec::new();
    for g in parts {
        let found = search(&query, &g, &mut Scratch::default());
        all.extend(found.cases.iter().map(|c| (c.x, c.value.k.unwrap())));
    }
    all
}

/// 2^39 arguments: 236 cases at 32 bits, the hardest of 39.
#[test]
fn exp_from_one() {
    let all = exp("1", "0x1.0008p+0", 32, Isa::best());
    assert_eq!(all.len(), 236);
    let hardest = all.iter().max_by_key(|c| c.1).unwrap();
    assert_eq!(*hardest, (parse("0x1.0007af40780cfp+0").unwrap(), 39));
}

/// Every hard case of 44 bits that CORE-MATH lists (src/binary64/exp/exp.wc) is found in a range around it,
/// for each kind of vectors.
#[test]
fn exp_around_published_cases() {
    let isas = Isa::all();
    for (i, line) in include_str!("exp_binary64_1_2_k44.txt").lines().enumerate() {
        let Some((x, k)) = line.split_once(' ').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let (x, k) = (parse(x).unwrap(), k.parse().unwrap());
        // A range of 2^25 arguments at a place that differs from case to case.
        let from = x - ((i as u64 * 0x9e37_79b9) % (1 << 25)) as f64 * f64::EPSILON;
        let to = from + (1 << 25) as f64 * f64::EPSILON;
        let hex = kerf_hardround::format::hex;
        let found = exp(&hex(from), &hex(to), 44, isas[i % isas.len()]);
        assert_eq!(found, [(x, k)], "{line}");
    }
}
