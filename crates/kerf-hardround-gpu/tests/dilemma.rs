//! The published deployments find what the search finds, whatever the form of the test.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_hardround::format::{BINARY64, BinadeGrid};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{FoundCases, Query, decide, search};
use kerf_hardround::poly::{BlockPolynomial, block};
use kerf_hardround::search::{Isa, Scratch};
use kerf_hardround_gpu::dilemma::{self, Dilemma, FORMS, SUB_BLOCK};

#[test]
fn all_deployments_agree() {
    let q = Query {
        function: ElementaryFunction::Exp,
        format: BINARY64,
        bits: 24,
        isa: Some(Isa::best()),
    };
    let grid = BinadeGrid {
        negative: false,
        exponent: -52,
        first: 1 << 52,
        end: (1 << 52) + SUB_BLOCK,
    };
    let BlockPolynomial::Smooth(poly) = block(q.function, q.format, &grid) else {
        panic!("exp is smooth");
    };
    let record = dilemma::record(&poly, grid.first, q.eps()).unwrap();
    let module = dilemma::program("sm_90").unwrap();
    let mut exec = CpuExecutor::new(&module, CpuOptions::default()).unwrap();
    let mut d = Dilemma::new(&mut exec, &[record]).unwrap();
    let expected = search(&q, &grid, &mut Scratch::default()).cases;
    assert!(expected.len() > 30, "{}", expected.len());
    let check = |places: &[u64]| {
        let mut found = FoundCases::default();
        let at = places.iter().map(|p| grid.first + p).collect();
        decide(&q, &grid, &poly, at, &mut found);
        assert_eq!(found.cases, expected);
    };
    check(&d.exhaustive().unwrap().places);
    let mut failed = Vec::new();
    for form in FORMS {
        let three = d.three(form).unwrap();
        check(&three.places);
        let one = d.one(form).unwrap();
        check(&one.places);
        assert_eq!(one.failed, three.failed, "{form}");
        failed.push(three.failed[0] as f64);
        let r = d.rounds(form).unwrap();
        assert!(
            r.mean > 3.0 && r.mean <= r.warp && r.warp < 45.0,
            "{form} {r:?}"
        );
        assert!((0.0..0.8).contains(&r.deviation), "{form} {r:?}");
    }
    // Quotients that are one too small may differ between forms; what they prove hardly does.
    let most = failed.iter().copied().fold(0.0, f64::max);
    assert!(
        failed.iter().all(|f| *f > 0.9 * most && *f > 20.0),
        "{failed:?}"
    );
}
