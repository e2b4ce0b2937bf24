//! Certificates: complete ones pass, damaged ones do not.
use kerf_hardround::certificate::{CertificateRecord, Header, UnitRecord};
use kerf_hardround::format::BINARY64;
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{PieceMethod, Query, search};
use kerf_hardround::search::Isa;
use kerf_hardround::units::{Units, work};
use kerf_hardround::verify::verify;
use std::ops::ControlFlow;

fn record(f: ElementaryFunction, from: f64, to: f64, bits: u32) -> CertificateRecord {
    let q = Query {
        function: f,
        format: BINARY64,
        bits,
        isa: Some(Isa::best()),
    };
    let units = Units::new(&q, from, to).unwrap();
    let header = Header::new(&q, from, to, units.len(), "cpu");
    let mut lines = vec![serde_json::to_string(&header).unwrap()];
    let all = work(
        &units,
        0..u64::MAX,
        2,
        |_| true,
        |g, s| search(&q, g, s),
        |i, g, found| {
            lines.push(serde_json::to_string(&UnitRecord::new(&header, i, &g, &found)).unwrap());
            ControlFlow::Continue(())
        },
    );
    assert!(all);
    CertificateRecord::parse(&(lines.join("\n") + "\n")).unwrap()
}

/// The same record with units changed, hashes made anew: what a wrong search would write.
fn changed(r: &CertificateRecord, change: impl Fn(&mut UnitRecord)) -> CertificateRecord {
    let mut r = r.clone();
    for u in &mut r.units {
        change(u);
        u.hash = u.digest(&r.header);
    }
    r
}

#[test]
fn complete_records_pass() {
    let span = 2f64.powi(-20);
    for (f, from) in [
        (ElementaryFunction::Exp, 1.25),
        (ElementaryFunction::Log, 0.75),
        (ElementaryFunction::Sin, -2.5),
        (ElementaryFunction::Acos, 0.3),
        (ElementaryFunction::Cbrt, 5.0),
        (ElementaryFunction::Power(-3), 1.75),
        (ElementaryFunction::Cosh, 1e-9),
        (ElementaryFunction::Tan, 2f64.powi(-30)),
    ] {
        let to = from + span * f64::abs(from);
        let r = record(f, from, to, 30);
        let v = verify(&r, 8, 1);
        assert_eq!(v.mistakes, [""; 0], "{}", f.name());
        assert_eq!(v.missing, 0);
        assert!(v.stretches + v.evaluated > 0);
    }
}

#[test]
fn damage_is_found() {
    let r = record(ElementaryFunction::Exp, 1.5, 1.5 + 2f64.powi(-18), 26);
    let cases: usize = r.units.iter().map(|u| u.cases.len()).sum();
    assert!(cases > 100, "{cases}");
    let mistakes = |r: &CertificateRecord, samples| verify(r, samples, 1).mistakes.join("; ");
    assert_eq!(mistakes(&r, 4), "");
    let missing = changed(&r, |u| u.cases.clear());
    assert!(mistakes(&missing, 400).contains("hard and not listed"));
    let wrong = changed(&r, |u| u.cases[0].k += 1);
    assert!(mistakes(&wrong, 0).contains("is not the case"));
    let twice = changed(&r, |u| u.cases.push(u.cases[0].clone()));
    assert!(mistakes(&twice, 0).contains("twice"));
    let gap = changed(&r, |u| u.pieces[0].length -= 1);
    assert!(mistakes(&gap, 0).contains("left out"));
    let bent = changed(&r, |u| {
        for p in &mut u.pieces {
            p.second = p.second.map(|(a, b)| (a * 0.9, b * 0.9));
        }
    });
    assert!(mistakes(&bent, 0).contains("F'' leaves its bounds"));
    let short = changed(&r, |u| {
        for p in &mut u.pieces {
            if let PieceMethod::Test { d, .. } = &mut p.method {
                *d *= 0.5;
            }
        }
    });
    assert!(mistakes(&short, 0).contains("d is less"));
    let uneven = changed(&r, |u| u.counts.tested[1] += 1);
    assert!(mistakes(&uneven, 0).contains("do not fit each other"));
    let few = changed(&r, |u| u.counts.tested[0] /= 2);
    assert!(mistakes(&few, 0).contains("do not fit each other"));
    let said = changed(&r, |u| {
        u.cases.clear();
        for p in &mut u.pieces {
            p.method = PieceMethod::NoneHard;
        }
    });
    assert!(mistakes(&said, 0).contains("cannot be proven"));
    let mut lost = r.clone();
    lost.units.pop();
    assert!(mistakes(&lost, 0).contains("missing"));
    let mut text = serde_json::to_string(&r.header).unwrap() + "\n";
    text += &serde_json::to_string(&r.units[0])
        .unwrap()
        .replace("\"k\":26", "\"k\":27");
    assert!(CertificateRecord::parse(&(text.clone() + "\n")).is_err());
    // A line that was cut off is no mistake: it is done again.
    assert_eq!(CertificateRecord::parse(&text).unwrap().units.len(), 0);
}

/// A search of everything sees the one case that is missing, and finds nothing wrong with a right record.
#[test]
fn all_is_searched_again() {
    let r = record(ElementaryFunction::Log, 1.25, 1.25 + 2f64.powi(-25), 24);
    let cases: usize = r.units.iter().map(|u| u.cases.len()).sum();
    assert!(cases > 2, "{cases}");
    let v = verify(&r, u64::MAX, 1);
    assert_eq!(v.mistakes, [""; 0]);
    for at in [0, cases / 2, cases - 1] {
        let mut short = r.clone();
        let mut before = 0;
        for u in &mut short.units {
            if (before..before + u.cases.len()).contains(&at) {
                u.cases.remove(at - before);
                u.hash = u.digest(&short.header);
                break;
            }
            before += u.cases.len();
        }
        let found = verify(&short, u64::MAX, 1).mistakes;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("hard and not listed"), "{found:?}");
    }
}

/// Uniform pieces of all kinds are proven: next to zero and to limits, subnormal arguments and results.
#[test]
fn uniform_pieces_are_proven() {
    for (f, from, to, bits) in [
        (
            ElementaryFunction::Sin,
            2f64.powi(-1074),
            2f64.powi(-1022),
            40,
        ),
        (
            ElementaryFunction::Tan,
            2f64.powi(-45),
            1.0001 * 2f64.powi(-45),
            60,
        ),
        (ElementaryFunction::Exp, 2f64.powi(-60), 2f64.powi(-54), 40),
        (ElementaryFunction::Cos, 2f64.powi(-40), 2f64.powi(-30), 40),
        (ElementaryFunction::Exp, -745.2, -745.15, 40),
        (ElementaryFunction::Expm1, -50.0, -49.99, 44),
        (ElementaryFunction::Atan, 2f64.powi(60), 2f64.powi(64), 30),
        (
            ElementaryFunction::Acos,
            -2f64.powi(-60),
            -2f64.powi(-62),
            40,
        ),
    ] {
        let v = verify(&record(f, from, to, bits), 1, 1);
        assert_eq!(v.mistakes, [""; 0], "{}", f.name());
        assert!(v.uniform > 0, "{}", f.name());
    }
}

/// Next to a pole all arguments are visited; that is checked by chords too.
#[test]
fn visited_pieces_are_searched_again() {
    let from = std::f64::consts::FRAC_PI_2 - 1.5 * 2f64.powi(-17);
    let r = record(ElementaryFunction::Tan, from, from + 2f64.powi(-34), 10);
    let visited = r.units.iter().flat_map(|u| &u.pieces);
    let visited = visited.filter(|p| p.method == PieceMethod::Walk);
    assert!(visited.map(|p| p.length).sum::<u64>() == 1 << 18);
    let v = verify(&r, u64::MAX, 1);
    assert_eq!(v.mistakes, [""; 0]);
    assert_eq!(v.arguments >> 18, 1);
    let cases: usize = r.units.iter().map(|u| u.cases.len()).sum();
    assert!(cases > 400, "{cases}");
    let short = changed(&r, |u| {
        u.cases.pop();
    });
    let mistakes = verify(&short, u64::MAX, 1).mistakes;
    assert_eq!(mistakes.len(), r.units.len(), "{mistakes:?}");
    assert!(mistakes[0].contains("hard and not listed"), "{mistakes:?}");
    let bent = changed(&r, |u| {
        for p in &mut u.pieces {
            p.second = p.second.map(|(a, b)| (a * 0.9, b * 0.9));
        }
    });
    let mistakes = verify(&bent, 0, 1).mistakes.join("; ");
    assert!(mistakes.contains("F'' leaves its bounds"), "{mistakes}");
}
