//! Quantiles of the relative error: digit by digit, from the highest, the values of a digit are counted among the
//! errors that begin with the digits found so far, and the one is taken that has the rank.
use super::DeviceComparer;
use super::records::{BINS, DIGIT_BITS, PREFIXES, Words};
use crate::call::{Record, start_of};
use crate::{Arg, ExecError, Executor};
use kerf_num::metrics::{ErrorParts, Quantile, nearest_rank};

/// Digits of an error, without its sign.
const DIGITS: u32 = 63 / DIGIT_BITS;

/// A value that is looked for.
struct Wanted {
    /// Its digits so far.
    prefix: u64,
    /// Its rank among the errors that begin with them.
    rank: u64,
}

impl Wanted {
    /// Takes the digit from the counts of its values.
    fn take_digit(&mut self, counts: &[u8]) -> Result<(), ExecError> {
        let mut words = Words::new(counts);
        for digit in 0..BINS as u64 {
            let count = words.take();
            if self.rank < count {
                self.prefix = self.prefix << DIGIT_BITS | digit;
                return Ok(());
            }
            self.rank -= count;
        }
        Err(ExecError::Device {
            what: "taking quantiles of an output's error".into(),
            why: "the output changed meanwhile".into(),
        })
    }
}

/// Quantiles where nothing was compared.
pub(super) fn no_values(quantiles: &[f64]) -> Vec<Quantile> {
    quantiles
        .iter()
        .map(|&q| Quantile { q, rel: 0.0 })
        .collect()
}

impl<E: Executor> DeviceComparer<E> {
    /// Quantiles at ascending shares.
    pub(super) fn quantiles(
        &mut self,
        values: &Arg,
        ascending: &[f64],
        parts: &ErrorParts,
    ) -> Result<Vec<Quantile>, ExecError> {
        let ranks = ascending
            .iter()
            .map(|&q| nearest_rank(q, parts.compared))
            .collect::<Option<Vec<usize>>>();
        let Some(ranks) = ranks else {
            return Ok(no_values(ascending));
        };
        let mut wanted: Vec<Wanted> = ranks
            .into_iter()
            .map(|rank| Wanted {
                prefix: 0,
                rank: rank as u64,
            })
            .collect();
        for digit in (0..DIGITS).rev() {
            let before: Vec<u64> = wanted.iter().map(|w| w.prefix).collect();
            let mut prefixes = before.clone();
            prefixes.sort_unstable();
            prefixes.dedup();
            for some in prefixes.chunks(PREFIXES) {
                let counts = self.count_digit(values, parts.count, some, digit)?;
                for (w, before) in wanted.iter_mut().zip(&before) {
                    if let Some(k) = some.iter().position(|p| p == before) {
                        w.take_digit(&counts[k * BINS * 8..])?;
                    }
                }
            }
        }
        let found = ascending.iter().zip(&wanted);
        Ok(found
            .map(|(&q, w)| Quantile {
                q,
                rel: f64::from_bits(w.prefix),
            })
            .collect())
    }

    /// How often each value of a digit occurs after each of at most [`PREFIXES`] prefixes.
    fn count_digit(
        &mut self,
        values: &Arg,
        count: usize,
        prefixes: &[u64],
        digit: u32,
    ) -> Result<Vec<u8>, ExecError> {
        let mut record = Record::default();
        for k in 0..PREFIXES {
            record.word(prefixes.get(k).copied().unwrap_or(0));
        }
        record.halves(prefixes.len() as u32, digit * DIGIT_BITS);
        self.exec
            .write(self.bins, &vec![0; prefixes.len() * BINS * 8])?;
        let args = [values.clone(), record.arg(), start_of(self.bins)];
        self.launch("count_digits", super::counting(count), &args)?;
        self.exec.read(self.bins)
    }
}
