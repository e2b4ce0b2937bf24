//! Certificates: complete ones pass, damaged ones do not.
use kerf_hardround::certificate::{CertificateRecord, Header, UnitRecord};
use kerf_hardround::format::BINARY64;
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::group::GroupRecord;
use kerf_hardround::leaf::{PieceMethod, Query, search};
use kerf_hardround::search::Isa;
use kerf_hardround::units::{Units, work};
use kerf_hardround::verify::verify;
use std::ops::ControlFlow;

/// Units of a range, each a group of its own or all as the search writes them.
fn units_of(
    f: ElementaryFunction,
    from: f64,
    to: f64,
    bits: u32,
) -> (Header, Units, Vec<UnitRecord>) {
    let q = Query {
        function: f,
        format: BINARY64,
        bits,
        isa: Some(Isa::best()),
    };
    let units = Units::new(&q, from, to).unwrap();
    let header = Header::new(&q, from, to, units.len(), "cpu");
    let mut all = Vec::new();
    let whole = work(
        &units,
        0..u64::MAX,
        2,
        |_| true,
        |g, s| search(&q, g, s),
        |i, g, found| {
            all.push(UnitRecord::new(&header, i, &g, &found));
            ControlFlow::Continue(())
        },
    );
    assert!(whole);
    all.sort_by_key(|u| u.unit);
    (header, units, all)
}

/// A certificate as text, and read again; `change` is what a wrong search would write.
fn written(
    (header, units, all): &(Header, Units, Vec<UnitRecord>),
    change: impl Fn(&mut UnitRecord),
) -> CertificateRecord {
    let mut lines = vec![serde_json::to_string(header).unwrap()];
    let mut all = all.clone();
    all.iter_mut().for_each(change);
    for run in all.chunk_by(|a, b| units.group(a.unit) == units.group(b.unit)) {
        let group = GroupRecord::new(header, run).unwrap();
        lines.push(serde_json::to_string(&group).unwrap());
    }
    CertificateRecord::parse(&(lines.join("\n") + "\n")).unwrap()
}

fn record(f: ElementaryFunction, from: f64, to: f64, bits: u32) -> CertificateRecord {
    written(&units_of(f, from, to, bits), |_| ())
}

/// The same record with groups changed, hashes made anew.
fn changed(r: &CertificateRecord, change: impl Fn(&mut GroupRecord)) -> CertificateRecord {
    let mut r = r.clone();
    for g in &mut r.groups {
        change(g);
        g.hash = g.digest(&r.header);
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
    let all = units_of(ElementaryFunction::Exp, 1.5, 1.5 + 2f64.powi(-18), 26);
    let r = written(&all, |_| ());
    let cases: usize = r.groups.iter().map(|u| u.cases.len()).sum();
    assert!(cases > 100, "{cases}");
    let mistakes = |r: &CertificateRecord, samples| verify(r, samples, 1).mistakes.join("; ");
    assert_eq!(mistakes(&r, 4), "");
    let missing = changed(&r, |g| g.cases.clear());
    assert!(mistakes(&missing, 400).contains("hard and not listed"));
    let wrong = written(&all, |u| u.cases[0].k += 1);
    assert!(mistakes(&wrong, 0).contains("is not the case"));
    let twice = changed(&r, |g| g.cases.push(g.cases[0].clone()));
    assert!(mistakes(&twice, 0).contains("twice"));
    let elsewhere = changed(&r, |g| {
        g.cases[0] = "0x1.d6336a88077aap+0 53 0 1 + 2".into()
    });
    assert!(mistakes(&elsewhere, 0).contains("not among their arguments"));
    let less = changed(&r, |g| g.length -= 1);
    assert!(mistakes(&less, 0).contains("left out"));
    let bent = written(&all, |u| {
        for p in &mut u.pieces {
            p.second = p.second.map(|(a, b)| (a * 0.9, b * 0.9));
        }
    });
    assert!(mistakes(&bent, 0).contains("bounds of F''"));
    let short = written(&all, |u| {
        for p in &mut u.pieces {
            if let PieceMethod::Test { d, .. } = &mut p.method {
                *d *= 0.5;
            }
        }
    });
    assert!(mistakes(&short, 0).contains("less than it has to be"));
    let uneven = changed(&r, |g| g.counts.tested[1] += 1);
    assert!(mistakes(&uneven, 0).contains("do not fit each other"));
    let few = changed(&r, |g| g.counts.tested[0] /= 2);
    assert!(mistakes(&few, 0).contains("do not fit each other"));
    let said = written(&all, |u| {
        u.cases.clear();
        for p in &mut u.pieces {
            p.method = PieceMethod::NoneHard;
        }
    });
    assert!(mistakes(&said, 0).contains("the pieces with their bounds"));
    let mut lost = r.clone();
    lost.groups.pop();
    assert!(mistakes(&lost, 0).contains("missing"));
    let again = CertificateRecord {
        groups: [r.groups.clone(), r.groups.clone()].concat(),
        ..r.clone()
    };
    assert!(mistakes(&again, 0).contains("there twice"));
    let far = changed(&r, |g| g.unit += 1 << 40);
    assert!(mistakes(&far, 0).contains("not of this range"));
    let mut text = serde_json::to_string(&r.header).unwrap() + "\n";
    text += &serde_json::to_string(&r.groups[0])
        .unwrap()
        .replacen(" 26 ", " 27 ", 1);
    assert!(CertificateRecord::parse(&(text.clone() + "\n")).is_err());
    // A line that was cut off is no mistake: it is done again.
    assert_eq!(CertificateRecord::parse(&text).unwrap().groups.len(), 0);
}

/// Certificates stay small: a binade has about a hundred lines, whatever its number of units; each line some hundred bytes.
#[test]
fn groups_are_few() {
    for (f, from, to) in [
        (ElementaryFunction::Exp, 1.0, 2.0),
        (ElementaryFunction::Tan, 1.0, 2.0),
        (ElementaryFunction::Sin, 512.0, 1024.0),
        (ElementaryFunction::Tanh, 16.0, 32.0),
    ] {
        let q = Query {
            function: f,
            format: BINARY64,
            bits: 44,
            isa: None,
        };
        let units = Units::new(&q, from, to).unwrap();
        let (mut at, mut groups) = (0, 0);
        while at < units.len() {
            let group = units.group(at);
            assert_eq!(group.start, at);
            assert_eq!(units.group(group.end - 1), group);
            at = group.end;
            groups += 1;
        }
        assert_eq!(at, units.len());
        assert!((1..=101).contains(&groups), "{} {groups}", f.name());
    }
    let r = record(ElementaryFunction::Exp, 1.5, 1.5 + 2f64.powi(-14), 44);
    let bytes = serde_json::to_string(&r.groups[0]).unwrap().len();
    assert!(bytes < 600, "{bytes}");
}

/// A search of everything sees the one case that is missing, and finds nothing wrong with a right record.
#[test]
fn all_is_searched_again() {
    let r = record(ElementaryFunction::Log, 1.25, 1.25 + 2f64.powi(-25), 24);
    let cases: usize = r.groups.iter().map(|g| g.cases.len()).sum();
    assert!(cases > 2, "{cases}");
    let v = verify(&r, u64::MAX, 1);
    assert_eq!(v.mistakes, [""; 0]);
    for at in [0, cases / 2, cases - 1] {
        let mut short = r.clone();
        let mut before = 0;
        for g in &mut short.groups {
            if (before..before + g.cases.len()).contains(&at) {
                g.cases.remove(at - before);
                g.hash = g.digest(&short.header);
                break;
            }
            before += g.cases.len();
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
    let visited: u64 = r.groups.iter().filter_map(|g| g.methods.get("walk")).sum();
    assert_eq!(visited, 1 << 18);
    let v = verify(&r, u64::MAX, 1);
    assert_eq!(v.mistakes, [""; 0]);
    assert_eq!(v.arguments >> 18, 1);
    let cases: usize = r.groups.iter().map(|g| g.cases.len()).sum();
    assert!(cases > 400, "{cases}");
    let short = changed(&r, |g| {
        g.cases.pop();
    });
    let mistakes = verify(&short, u64::MAX, 1).mistakes;
    assert_eq!(mistakes.len(), r.groups.len(), "{mistakes:?}");
    assert!(mistakes[0].contains("hard and not listed"), "{mistakes:?}");
}
