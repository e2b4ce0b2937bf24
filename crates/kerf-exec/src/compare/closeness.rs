//! Whether an output is close to expected numbers, on the device that has both.
use super::records::Words;
use super::{DeviceComparer, counting, number};
use crate::call::{Record, start_of};
use crate::{BufferId, ExecError, Executor};
use kerf_num::Format;
use kerf_num::metrics::{CloseRule, Closeness, NumpyType};

/// Counters of the kernel.
const WORDS: usize = 4;

/// A type, as the device code numbers it.
fn type_number(t: NumpyType) -> u32 {
    let signed_integers = 64;
    match t {
        NumpyType::Float(f) => number(f),
        NumpyType::Integer { bytes, signed } => {
            (Format::ALL.len() + bytes) as u32 + if signed { signed_integers } else { 0 }
        }
    }
}

impl<E: Executor> DeviceComparer<E> {
    /// What [`CloseRule::compare`] says of the first `count` numbers of two buffers, bit for bit.
    pub fn closeness(
        &mut self,
        rule: &CloseRule,
        expected: BufferId,
        got: BufferId,
        count: usize,
    ) -> Result<Closeness, ExecError> {
        if count == 0 {
            return Ok(Closeness::default());
        }
        let mut record = Record::default();
        record.pointer(expected);
        record.pointer(got);
        record.word(count as u64);
        record.halves(type_number(rule.expected), type_number(rule.got));
        record.halves(number(rule.difference), number(rule.bound));
        record.float(rule.rtol);
        record.float(rule.atol);
        self.exec.write(self.bins, &[0; 8 * WORDS])?;
        let args = [record.arg(), start_of(self.bins)];
        self.launch("compare_closeness", counting(count), &args)?;
        let bytes = self.exec.read(self.bins)?;
        let mut words = Words::new(&bytes);
        let (beyond, not_finite) = (words.take() as usize, words.take() as usize);
        let largest_difference = f64::from_bits(words.take());
        let before_end = words.take() as usize;
        Ok(Closeness {
            values: count,
            beyond,
            not_finite,
            first_beyond: (before_end > 0).then(|| count - before_end),
            largest_difference,
        })
    }
}
