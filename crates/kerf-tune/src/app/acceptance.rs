//! Whether the numbers of a run are accepted, against those of the original program.
use super::values::Values;
use kerf_exec::replay::AppCriterion;
use kerf_num::metrics::{CompareError, ComparedCounts, Judgement, Rejection};
use kerf_num::{Dd, Format};

/// Why there is no error of a run's numbers against those of the original program.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Incomparable {
    /// The run gives more or fewer numbers.
    #[error("the output has {got} numbers and that of the original program {reference}")]
    Length {
        /// Numbers of the run.
        got: usize,
        /// Numbers of the original program.
        reference: usize,
    },
    /// The run gives the numbers in other arrays.
    #[error("the output has other arrays than that of the original program")]
    Arrays,
    /// The run gives integers of other widths.
    #[error("the output has other integers than that of the original program")]
    Integers,
    /// The measure has no value for the two.
    #[error(transparent)]
    Measure(#[from] CompareError),
    /// The numbers are rejected, and not for their error.
    #[error("{why}: {counts}")]
    Rejected {
        /// What they are rejected for.
        why: Rejection,
        /// How many were compared.
        counts: ComparedCounts,
    },
    /// With a tolerance of 0 every bit has to be the program's own: the sign of a zero is no error.
    #[error("the output has other bits than that of the original program")]
    OtherBits,
    /// The error is infinite.
    #[error("the error is infinite: {counts}")]
    Infinite {
        /// How many were compared.
        counts: ComparedCounts,
    },
}

/// The decision on the numbers of a run, against those of the original program: the worst of its arrays counts.
pub fn judged(
    got: &Values,
    reference: &Values,
    c: &AppCriterion,
) -> Result<Judgement, Incomparable> {
    if got.floats.len() != reference.floats.len() {
        return Err(Incomparable::Length {
            got: got.floats.len(),
            reference: reference.floats.len(),
        });
    }
    if got.widths != reference.widths {
        return Err(Incomparable::Integers);
    }
    if got.arrays != reference.arrays {
        return Err(Incomparable::Arrays);
    }
    let mut reports = Vec::new();
    for range in reference.ranges() {
        let exact = reference.floats[range.clone()].iter();
        let exact: Vec<Dd> = exact.map(|v| Dd::from(*v)).collect();
        let got = &got.floats[range];
        reports.push(kerf_num::metrics::compare(
            got,
            &exact,
            Format::F64,
            c.floor,
        )?);
    }
    Ok(c.judge(&reports, got.integers(reference)))
}

/// The error of numbers against the reference's.
pub fn error(got: &Values, reference: &Values, c: &AppCriterion) -> Result<f64, Incomparable> {
    let error = error_by(judged(got, reference, c)?)?;
    match c.tolerance == 0.0 && error == 0.0 && !got.has_bits_of(reference) {
        true => Err(Incomparable::OtherBits),
        false => Ok(error),
    }
}

/// The error that a decision is by.
pub fn error_by(j: Judgement) -> Result<f64, Incomparable> {
    match (j.value, j.rejection) {
        (Some(error), _) => Ok(error),
        (None, Some(why)) => Err(Incomparable::Rejected {
            why,
            counts: j.counts,
        }),
        (None, None) => Err(Incomparable::Infinite { counts: j.counts }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::values::OutputArray;
    use kerf_num::Metric;

    #[test]
    fn errors_and_what_is_none() {
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            ..Values::default()
        };
        let e = |a: &[f64], b: &[f64]| error(&v(a), &v(b), &criterion(false));
        assert_eq!(e(&[1.0, 3.0], &[1.0, 2.0]), Ok(0.5));
        assert!(e(&[1.0], &[1.0, 2.0]).is_err());
        assert!(e(&[f64::NAN], &[1.0]).is_err());
    }

    fn criterion(allow_nan: bool) -> AppCriterion {
        AppCriterion {
            metric: Metric::MaxRel,
            tolerance: 1.0,
            floor: None,
            allow_nan,
        }
    }

    #[test]
    fn at_a_tolerance_of_zero_signs_of_zeros_count() {
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            ..Values::default()
        };
        let e = |tolerance| {
            let c = AppCriterion {
                tolerance,
                ..criterion(true)
            };
            error(&v(&[1.0, -0.0]), &v(&[1.0, 0.0]), &c)
        };
        assert_eq!(e(1e-9), Ok(0.0));
        assert_eq!(e(0.0), Err(Incomparable::OtherBits));
    }

    #[test]
    fn each_array_has_a_scale_of_its_own() {
        let array = |count| OutputArray {
            name: String::new(),
            count,
        };
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            arrays: vec![array(2), array(1)],
            ..Values::default()
        };
        let c = AppCriterion {
            metric: Metric::RelLinf,
            ..criterion(false)
        };
        let reference = v(&[8.0, 1e-308, 0.5]);
        assert_eq!(
            error(&v(&[8.0, 0.0, 0.5]), &reference, &c),
            Ok(1e-308 / 8.0)
        );
        assert_eq!(error(&v(&[8.0, 0.0, 0.25]), &reference, &c), Ok(0.5));
        let other = Values {
            arrays: vec![array(1), array(2)],
            ..reference.clone()
        };
        assert_eq!(error(&other, &reference, &c), Err(Incomparable::Arrays));
    }

    #[test]
    fn nan_against_nan_is_no_agreement() {
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            ..Values::default()
        };
        let (all, some) = (v(&[f64::NAN, f64::NAN]), v(&[f64::NAN, 1.0]));
        for allow_nan in [false, true] {
            let said = error(&all, &all, &criterion(allow_nan)).expect_err("nothing compared");
            assert_eq!(
                said.to_string(),
                "nothing could be compared: 0 of 2 values compared, 2 pairs of NaN"
            );
        }
        assert!(error(&some, &some, &criterion(false)).is_err());
        assert_eq!(error(&some, &some, &criterion(true)), Ok(0.0));
    }

    #[test]
    fn integers_that_differ_are_counted() {
        let of = |last: u16| {
            let mut v = Values {
                floats: vec![1.0],
                ..Values::default()
            };
            v.integer(&[1]);
            v.integer(&7u16.to_le_bytes());
            v.integer(&last.to_le_bytes());
            v
        };
        let j = judged(&of(300), &of(301), &criterion(false)).expect("alike");
        assert_eq!(
            j.rejection,
            Some(kerf_num::metrics::Rejection::IntegersDiffer)
        );
        assert_eq!((j.counts.values, j.counts.integer_mismatches), (4, 1));
        assert!(judged(&of(3), &of(3), &criterion(false)).is_ok_and(|j| j.accepted()));
    }
}
