//! Findings of a publication, judged by what was measured here.
use crate::measured::{StudyMetric, StudyRow};
use serde::Serialize;

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingVerdict {
    /// In every case.
    Holds,
    /// In some cases.
    InPart,
    /// In none.
    Fails,
    /// What it speaks of was not measured.
    NotJudged,
}

impl FindingVerdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            FindingVerdict::Holds => "holds",
            FindingVerdict::InPart => "holds in part",
            FindingVerdict::Fails => "does not hold",
            FindingVerdict::NotJudged => "not judged",
        }
    }

    /// By the number of cases in which it held.
    pub fn by_cases(held: usize, cases: usize) -> FindingVerdict {
        match (held, cases) {
            (_, 0) => FindingVerdict::NotJudged,
            (h, c) if h == c => FindingVerdict::Holds,
            (0, _) => FindingVerdict::Fails,
            _ => FindingVerdict::InPart,
        }
    }
}

/// A finding and its fate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What is claimed.
    pub claim: String,
    /// Where: section, figure or table. Claims about the proven algorithms are Kerf's own.
    pub place: String,
    /// Its fate.
    pub verdict: FindingVerdict,
    /// The numbers that decided.
    pub evidence: String,
}

/// A ratio or quantity in few digits.
pub fn short(x: f64) -> String {
    match x.abs() {
        _ if !x.is_finite() => "infinite".into(),
        0.0 => "0".into(),
        a if !(1e-2..1e4).contains(&a) => format!("{x:.1e}"),
        a if a < 10.0 => format!("{x:.2}"),
        a if a < 100.0 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

/// `a / b`, where two zeros are equal.
pub fn ratio(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { a / b }
}

/// `a, from x to y`.
pub fn span(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match short(low) == short(high) {
        true => short(low),
        false => format!("{} to {}", short(low), short(high)),
    }
}

impl Finding {
    /// A finding decided by other means.
    pub fn new(claim: &str, place: &str, verdict: FindingVerdict, evidence: String) -> Finding {
        Finding {
            claim: claim.into(),
            place: place.into(),
            verdict,
            evidence,
        }
    }

    /// A claim about the ratio of a metric between pairs of number types, judged in every case and size
    /// that has both.
    pub fn by_ratio(
        claim: &str,
        place: &str,
        rows: &[StudyRow],
        metric: StudyMetric,
        pairs: &[(&str, &str)],
        holds: impl Fn(f64) -> bool,
    ) -> Finding {
        let (mut held, mut cases) = (0, 0);
        let mut evidence = Vec::new();
        for (a, b) in pairs {
            let ratios: Vec<f64> = rows
                .iter()
                .filter(|r| r.label == *a)
                .filter_map(|r| {
                    let same =
                        |o: &&StudyRow| o.label == *b && o.case == r.case && o.size == r.size;
                    let other = rows.iter().find(same)?;
                    Some(ratio(metric.value(r)?, metric.value(other)?))
                })
                .collect();
            if ratios.is_empty() {
                continue;
            }
            let good = ratios.iter().filter(|r| holds(**r)).count();
            evidence.push(format!(
                "{a} against {b} {} (as claimed in {good} of {})",
                span(&ratios),
                ratios.len()
            ));
            held += good;
            cases += ratios.len();
        }
        let evidence = match evidence.is_empty() {
            true => format!("{} not measured here", metric.name()),
            false => format!("ratio of {}: {}", metric.name(), evidence.join(", ")),
        };
        Finding::new(
            claim,
            place,
            FindingVerdict::by_cases(held, cases),
            evidence,
        )
    }

    /// A claim that a metric of each type does not fall from one row to the next, or, with `ends`, from
    /// the first to the last.
    pub fn grows(
        claim: &str,
        place: &str,
        rows: &[StudyRow],
        metric: StudyMetric,
        labels: &[&str],
        ends: bool,
    ) -> Finding {
        let (mut held, mut cases) = (0, 0);
        let mut evidence = Vec::new();
        for label in labels {
            let v: Vec<f64> = rows
                .iter()
                .filter(|r| r.label == *label)
                .filter_map(|r| metric.value(r))
                .collect();
            if v.len() < 2 {
                continue;
            }
            if ends {
                held += usize::from(v[v.len() - 1] > v[0]);
                cases += 1;
            } else {
                held += v.windows(2).filter(|w| w[1] >= w[0]).count();
                cases += v.len() - 1;
            }
            let all: Vec<String> = v.iter().map(|x| short(*x)).collect();
            evidence.push(format!("{label} {}", all.join(", ")));
        }
        let evidence = format!("{}: {}", metric.name(), evidence.join("; "));
        Finding::new(
            claim,
            place,
            FindingVerdict::by_cases(held, cases),
            evidence,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::ErrorSummary;

    fn row(label: &'static str, size: usize, abs: f64, time_s: Option<f64>) -> StudyRow {
        StudyRow {
            case: "c".into(),
            size,
            label,
            errors: ErrorSummary {
                compared: 1,
                sum_abs: abs,
                ..ErrorSummary::default()
            },
            time_s,
            registers: None,
            shared_bytes: None,
        }
    }

    #[test]
    fn verdicts_follow_the_rows() {
        let rows = [
            row("a", 1, 2.0, None),
            row("b", 1, 1.0, None),
            row("a", 2, 0.5, None),
            row("b", 2, 1.0, None),
        ];
        let f = |metric, holds: fn(f64) -> bool| {
            Finding::by_ratio("x", "y", &rows, metric, &[("a", "b")], holds)
        };
        assert_eq!(
            f(StudyMetric::SumAbs, |r| r > 0.1).verdict,
            FindingVerdict::Holds
        );
        assert_eq!(
            f(StudyMetric::SumAbs, |r| r > 1.0).verdict,
            FindingVerdict::InPart
        );
        assert_eq!(
            f(StudyMetric::SumAbs, |r| r > 3.0).verdict,
            FindingVerdict::Fails
        );
        assert_eq!(
            f(StudyMetric::Time, |_| true).verdict,
            FindingVerdict::NotJudged
        );
        assert!(
            f(StudyMetric::SumAbs, |r| r > 1.0)
                .evidence
                .contains("0.50 to 2.00")
        );
        let g = Finding::grows("x", "y", &rows, StudyMetric::SumAbs, &["a", "b"], false);
        assert_eq!(g.verdict, FindingVerdict::InPart);
    }

    #[test]
    fn zeros_compare() {
        assert_eq!(ratio(0.0, 0.0), 1.0);
        assert_eq!(ratio(0.0, 2.0), 0.0);
        assert_eq!(ratio(2.0, 0.0), f64::INFINITY);
        assert_eq!(short(1234.5), "1234");
        assert_eq!(short(3.21e-7), "3.2e-7");
    }
}
