//! Certificates: complete ones pass, damaged ones do not.
use kerf_hardround::certificate::{CertificateRecord, Header, UnitRecord};
use kerf_hardround::format::BINARY64;
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::group::GroupRecord;
use kerf_hardround::leaf::{PieceMethod, Query, search};
use kerf_hardround::search::Isa;
use kerf_hardround::units::{Units, work};
use kerf_hardround::verify::{CertificateVerdict, VerifyOptions, verify};
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

/// Verifies with so many samples of each piece, or by a search of everything.
fn verified(r: &CertificateRecord, samples: Option<u64>) -> CertificateVerdict {
    let options = VerifyOptions {
        samples,
        seed: 1,
        threads: 2,
    };
    verify(r, options, &mut |_| ())
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
        let v = verified(&r, Some(8));
        assert_eq!(v.mistakes, [""; 0], "{}", f.name());
        assert_eq!(v.missing, 0);
        assert!(v.stretches + v.evaluated > 0);
    }
}

/// A certificate with one change, its hashes made anew, so that only its content can tell.
struct Fault {
    name: &'static str,
    record: CertificateRecord,
    /// What `verify` says of it.
    says: &'static str,
}

/// What a search did.
type Searched = (Header, Units, Vec<UnitRecord>);

/// Faults of the search itself, written by it into an otherwise right certificate.
fn faults_of_search(all: &Searched) -> Vec<Fault> {
    let bounds = |change: fn(&mut f64, &mut f64, &mut f64)| {
        written(all, |u| {
            for p in &mut u.pieces {
                if let PieceMethod::Test { r, s, d, .. } = &mut p.method {
                    change(r, s, d);
                }
            }
        })
    };
    let bound = "less than it has to be";
    let pieces = "the pieces with their bounds";
    let fault = |name, record, says| Fault { name, record, says };
    vec![
        fault("threshold", bounds(|_, _, d| *d *= 0.5), bound),
        fault("remainder", bounds(|r, _, _| *r *= 0.5), bound),
        fault("truncation", bounds(|_, s, _| *s = 0.0), bound),
        fault("NaN bound", bounds(|_, _, d| *d = f64::NAN), bound),
        fault(
            "bound of F''",
            written(all, |u| {
                for p in &mut u.pieces {
                    p.second = p.second.map(|(a, b)| (a * 0.9, b * 0.9));
                }
            }),
            pieces,
        ),
        fault(
            "polynomial's error",
            written(all, |u| u.pieces.iter_mut().for_each(|p| p.error *= 0.5)),
            pieces,
        ),
        fault(
            "shortened interval",
            written(all, |u| u.pieces[0].length -= 1),
            pieces,
        ),
        fault(
            "shifted interval",
            written(all, |u| u.pieces[0].first += 1),
            pieces,
        ),
        fault(
            "said to have no case",
            written(all, |u| {
                u.cases.clear();
                u.pieces[0].method = PieceMethod::NoneHard;
            }),
            pieces,
        ),
        fault("k", written(all, |u| u.cases[0].k += 1), "is not the case"),
        fault(
            "round bit",
            written(all, |u| u.cases[0].round_bit ^= 1),
            "is not the case",
        ),
        fault(
            "repeated bit",
            written(all, |u| u.cases[0].repeated ^= 1),
            "is not the case",
        ),
        fault(
            "sign",
            written(all, |u| u.cases[0].sign = '-'),
            "is not the case",
        ),
        fault(
            "binade",
            written(all, |u| u.cases[0].binade += 1),
            "is not the case",
        ),
    ]
}

/// Faults of what is kept: lines, lists and counts.
fn faults_of_record(r: &CertificateRecord) -> Vec<Fault> {
    let fault = |name, record, says| Fault { name, record, says };
    let header = |change: fn(&mut Header)| {
        let mut other = r.clone();
        change(&mut other.header);
        changed(&other, |_| ())
    };
    let half: Vec<GroupRecord> = r.groups.iter().step_by(2).cloned().collect();
    let lost = CertificateRecord {
        groups: half,
        ..r.clone()
    };
    let twice = CertificateRecord {
        groups: [&r.groups[..], &r.groups[..1]].concat(),
        ..r.clone()
    };
    let counts = "do not fit each other";
    vec![
        fault("lost rank", lost, "missing"),
        fault("unit twice", twice, "there twice"),
        fault(
            "skipped unit",
            changed(r, |g| g.units += u64::from(g.unit == 0)),
            "left out",
        ),
        fault("arguments", changed(r, |g| g.length -= 1), "left out"),
        fault(
            "first",
            changed(r, |g| g.first = "0x1.8p+1".into()),
            "left out",
        ),
        fault(
            "units",
            changed(r, |g| g.unit += 1 << 40),
            "not of this range",
        ),
        fault(
            "one case lost",
            changed(r, |g| {
                g.cases.remove(g.cases.len() / 2);
            }),
            "hard and not listed",
        ),
        fault(
            "all cases lost",
            changed(r, |g| g.cases.clear()),
            "hard and not listed",
        ),
        fault(
            "a case twice",
            changed(r, |g| g.cases.push(g.cases[0].clone())),
            "twice",
        ),
        fault(
            "a case of elsewhere",
            changed(r, |g| g.cases[0] = "0x1.d6336a88077aap+0 53 0 1 + 2".into()),
            "not among their arguments",
        ),
        fault(
            "tests halved",
            changed(r, |g| g.counts.tested[0] /= 2),
            counts,
        ),
        fault(
            "failed interval not divided",
            changed(r, |g| g.counts.tested[1] -= 2),
            counts,
        ),
        fault(
            "method",
            changed(r, |g| {
                let n = g.methods.remove("test").unwrap();
                g.methods.insert("none-hard".into(), n);
            }),
            "not dealt with",
        ),
        fault("exact cases", changed(r, |g| g.exact += 1), "exact cases"),
        fault("fewer bits", header(|h| h.bits -= 1), "hard and not listed"),
        fault(
            "longer range",
            header(|h| h.to = "0x1.00004p+0".into()),
            "left out",
        ),
        fault(
            "function",
            header(|h| h.function = "exp2".into()),
            "is not the case",
        ),
    ]
}

/// Faults that change the list or break the proof; `verify --all` sees each, and nothing in the certificate without.
#[test]
fn every_injected_fault_is_found() {
    // Two binades, and so two units.
    let (from, to) = (1.0 - 2f64.powi(-20), 1.0 + 2f64.powi(-19));
    let all = units_of(ElementaryFunction::Exp, from, to, 26);
    assert_eq!(all.2.len(), 2);
    let r = written(&all, |_| ());
    let v = verified(&r, None);
    assert_eq!(v.mistakes, [""; 0]);
    assert_eq!(v.arguments, 1 << 34);
    assert!(v.cases > 100, "{}", v.cases);
    let faults = faults_of_search(&all)
        .into_iter()
        .chain(faults_of_record(&r));
    let faults: Vec<Fault> = faults.collect();
    assert!(faults.len() >= 20, "{}", faults.len());
    for Fault { name, record, says } in faults {
        let mistakes = verified(&record, None).mistakes.join("; ");
        assert!(mistakes.contains(says), "{name}: {mistakes}");
    }
}

/// A line that was changed by hand is refused by its hash; one that was cut off is no mistake: it is done again.
#[test]
fn damaged_lines() {
    let r = record(ElementaryFunction::Exp, 1.5, 1.5 + 2f64.powi(-24), 20);
    let mut text = serde_json::to_string(&r.header).unwrap() + "\n";
    text += &serde_json::to_string(&r.groups[0])
        .unwrap()
        .replacen(" 20 ", " 21 ", 1);
    assert!(CertificateRecord::parse(&(text.clone() + "\n")).is_err());
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
    let v = verified(&r, None);
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
        let found = verified(&short, None).mistakes;
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
        let v = verified(&record(f, from, to, bits), Some(1));
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
    let v = verified(&r, None);
    assert_eq!(v.mistakes, [""; 0]);
    assert_eq!(v.arguments >> 18, 1);
    let cases: usize = r.groups.iter().map(|g| g.cases.len()).sum();
    assert!(cases > 400, "{cases}");
    let short = changed(&r, |g| {
        g.cases.pop();
    });
    let mistakes = verified(&short, None).mistakes;
    assert_eq!(mistakes.len(), r.groups.len(), "{mistakes:?}");
    assert!(mistakes[0].contains("hard and not listed"), "{mistakes:?}");
}
