//! A tally as the profile has it.
use super::AccuracyError;
use super::errors::{ResultErrors, ResultVerdict};
use super::exact::ExactFunction;
use super::number::NumberKind;
use super::subject::AccuracySubject;
use super::tally::{AccuracyTally, ArgumentCase, ErrorPlace};
use crate::profile::{Accuracy, BinadeError, BoundCheck, Coverage, FigureSource, WorstArgument};

/// Computes cases anew.
struct Again<'a> {
    subject: &'a AccuracySubject,
    reference: ExactFunction,
}

struct Found {
    errors: ResultErrors,
    first: f64,
    worst: WorstArgument,
}

impl Again<'_> {
    fn new(s: &AccuracySubject) -> Result<Again<'_>, AccuracyError> {
        let reference = ExactFunction::new(s.function, s.argument)
            .ok_or_else(|| AccuracyError::Unknown(s.key.clone()))?;
        Ok(Again {
            subject: s,
            reference,
        })
    }

    /// Errors of a case by MPFR, which have to be those that were seen.
    fn at(
        &mut self,
        case: Option<ArgumentCase>,
        seen: Option<f64>,
    ) -> Result<Option<Found>, AccuracyError> {
        let Some(case) = case else {
            return Ok(None);
        };
        let s = self.subject;
        let exact = self.reference.at(&case.arguments);
        let worst = s.worst(&case, exact.digits());
        let verdict = s.rules().verdict(&case.got, exact);
        let errors = match verdict {
            ResultVerdict::Number { errors, .. } => Some(errors),
            _ => None,
        };
        let host = errors.map_or(f64::NAN, |e| e.ulp);
        let device = seen.unwrap_or(host);
        // The device's reference is good to a few units of f64.
        match errors {
            Some(errors) if (host - device).abs() <= 1e-6 * (1.0 + host) => Ok(Some(Found {
                errors,
                first: s.value(&case.arguments, 0),
                worst,
            })),
            _ => Err(AccuracyError::Reference {
                key: s.key.clone(),
                arguments: worst.arguments.join(", "),
                device,
                host,
            }),
        }
    }
}

/// The profile's form of a tally; worst arguments are computed anew by MPFR.
pub fn report(
    s: &AccuracySubject,
    tally: AccuracyTally,
    coverage: Coverage,
    mut notes: Vec<String>,
    look: &mut dyn FnMut(&ErrorPlace) -> Result<Option<ArgumentCase>, AccuracyError>,
) -> Result<Accuracy, AccuracyError> {
    let double = matches!(s.result, NumberKind::Double(_));
    let mut again = Again::new(s)?;
    let worst = match &tally.ulp.place {
        Some(place) => again.at(look(place)?, Some(tally.ulp.value))?,
        None => None,
    };
    let mut checks = Vec::new();
    for (bound, (peak, violations)) in s.documented.iter().zip(&tally.bounds) {
        let found = match &peak.place {
            Some(place) => again.at(look(place)?, None)?,
            None => None,
        };
        let (seen, worst) = found.map_or((0.0, None), |f| {
            (f.errors.by(bound.measure, f.first), Some(f.worst))
        });
        checks.push(BoundCheck {
            bound: bound.words.into(),
            published: bound.published.into(),
            seen,
            limit: bound.limit,
            holds: *violations == 0,
            violations: *violations,
            worst: worst.filter(|_| *violations > 0),
        });
    }
    if let (true, Some(w)) = (double, &worst) {
        let mean = tally.sum_ulp / tally.compared.max(1) as f64;
        notes.push(format!(
            "largest error {:.4} u^2, mean {mean:.4} u^2",
            w.errors.ulp
        ));
    }
    if tally.flushed > 0 {
        notes.push(format!(
            "{} arguments with a subnormal argument or result left out: it is flushed",
            tally.flushed
        ));
    }
    if let Some(case) = tally.mismatch.as_ref().map(look).transpose()?.flatten() {
        let w = s.worst(&case, String::new());
        notes.push(format!(
            "special values: {} gives {}",
            w.arguments.join(", "),
            w.got
        ));
    }
    if tally.unsettled > 0 {
        notes.push(format!(
            "{} arguments too near to a rounding boundary were not settled",
            tally.unsettled
        ));
    }
    let mean = |sum: f64, n: u64| (n > 0).then(|| sum / n as f64);
    let some = |v: f64| (tally.compared > 0).then_some(v);
    // A double word has no unit in the last place.
    let single = |v: Option<f64>| v.filter(|_| !double);
    Ok(Accuracy {
        source: FigureSource::Measured,
        coverage,
        arguments: tally.arguments,
        max_ulp_rounded: single(some(tally.steps)),
        max_ulp_real: single(worst.as_ref().map(|w| w.errors.ulp)),
        mean_ulp_real: single(mean(tally.sum_ulp, tally.compared)),
        mean_ulp_rounded: single(mean(tally.sum_steps, tally.compared)),
        max_rel: (tally.normal > 0).then_some(tally.relative),
        mean_rel: mean(tally.sum_relative, tally.normal),
        max_abs: some(tally.absolute),
        misrounded: single(some(0.0)).map(|_| tally.misrounded),
        special_mismatches: tally.mismatched,
        worst: worst.map(|w| w.worst),
        binades: tally
            .binades
            .iter()
            .filter(|(_, b)| b.compared > 0)
            .map(|((negative, exponent), b)| BinadeError {
                exponent: *exponent,
                negative: *negative,
                count: b.count,
                max_ulp: if double { 0.0 } else { b.ulp },
                max_abs: b.absolute,
                max_rel: b.relative,
            })
            .collect(),
        bounds: checks,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    })
}
