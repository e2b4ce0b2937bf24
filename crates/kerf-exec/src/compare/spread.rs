//! How the errors of an output are spread: counts by half decade, a map of the largest, and the worst elements.
use super::records::{HALVES, Words};
use super::{DeviceComparer, DeviceValues, counting};
use crate::call::{self, Record, start_of};
use crate::{ExecError, Executor};
use kerf_num::Format;
use kerf_num::metrics::{ErrorCells, NamedError, Scatter, ScatterParts, half_decades};

/// Elements among which the worst are looked for, at most.
const COLLECTED: usize = 1 << 14;

impl<E: Executor> DeviceComparer<E> {
    /// What `kerf_num::metrics::scatter` says of the values. None where so many have the same large error that the worst are
    /// not among those that are collected.
    pub fn scatter(
        &mut self,
        values: &DeviceValues,
        format: Format,
        floor: f64,
        shape: &[usize],
    ) -> Result<Option<Scatter>, ExecError> {
        let count = values.count();
        let cells = ErrorCells::new(count, shape);
        let mut parts = ScatterParts::nothing(&cells);
        if count == 0 {
            return Ok(Some(parts.finish(0, &cells)));
        }
        self.spread_errors(values, (format, floor), &cells, &mut parts)?;
        let least = parts.least_of_worst();
        let Some(named) = self.collect_errors(values, (format, floor), least)? else {
            return Ok(None);
        };
        named.into_iter().for_each(|n| parts.name(n));
        Ok(Some(parts.finish(count, &cells)))
    }

    /// Takes counts and the largest of each cell.
    fn spread_errors(
        &mut self,
        values: &DeviceValues,
        (format, floor): (Format, f64),
        cells: &ErrorCells,
        parts: &mut ScatterParts,
    ) -> Result<(), ExecError> {
        let limits = half_decades();
        debug_assert!(limits.len() <= HALVES);
        let bytes: Vec<u8> = limits.iter().flat_map(|l| l.to_le_bytes()).collect();
        let [table, out] = &mut self.partials;
        let table = table.with(&mut self.exec, bytes.len())?;
        self.exec.write(table, &bytes)?;
        let words = 2 + limits.len() + parts.cells.len();
        let out = out.with(&mut self.exec, 8 * words)?;
        self.exec.write(out, &vec![0; 8 * words])?;
        let mut record = Record::default();
        for extent in [cells.rows, cells.columns, cells.height, cells.width] {
            record.word(extent as u64);
        }
        record.pointer(table);
        record.word(limits.len() as u64);
        let args = [
            self.describe(values, format, floor)?,
            record.arg(),
            start_of(out),
        ];
        self.launch("spread_errors", counting(values.count()), &args)?;
        let bytes = self.exec.read(out)?;
        let mut words = Words::new(&bytes);
        parts.exact = words.take() as usize;
        parts.infinite = words.take() as usize;
        parts.halves.fill_with(|| words.take() as usize);
        parts.cells.fill_with(|| f64::from_bits(words.take()));
        Ok(())
    }

    /// Elements whose error is no less than another, in their order; none where there are too many.
    fn collect_errors(
        &mut self,
        values: &DeviceValues,
        (format, floor): (Format, f64),
        least: f64,
    ) -> Result<Option<Vec<NamedError>>, ExecError> {
        let bytes = 8 * (1 + 4 * COLLECTED);
        let out = self.partials[0].with(&mut self.exec, bytes)?;
        self.exec.write(out, &[0; 8])?;
        let args = [
            self.describe(values, format, floor)?,
            call::float(least),
            call::word(COLLECTED),
            start_of(out),
        ];
        self.launch("collect_errors", counting(values.count()), &args)?;
        let bytes = self.exec.read(out)?;
        let mut words = Words::new(&bytes);
        let found = words.take() as usize;
        if found > COLLECTED {
            return Ok(None);
        }
        let mut one = || NamedError {
            index: words.take() as usize,
            error: f64::from_bits(words.take()),
            got: f64::from_bits(words.take()),
            reference: f64::from_bits(words.take()),
        };
        let mut all: Vec<NamedError> = (0..found).map(|_| one()).collect();
        all.sort_by_key(|n| n.index);
        Ok(Some(all))
    }
}
