//! Structural similarity of images on a device.
use super::records::{CHUNK, SUM_BYTES, TILE, Words};
use super::{DeviceComparer, DeviceValues, THREADS};
use crate::call::{Record, start_of};
use crate::{Arg, ExecError, Executor};
use kerf_num::metrics::{ErrorReport, ImageExtents, SsimConstants};
use kerf_num::{Dd, Format};

/// One channel of an image as the kernels take it.
fn channel_record(image: ImageExtents, channel: usize, shift: f64, of: &SsimConstants) -> Arg {
    let mut record = Record::default();
    for extent in [image.height, image.width, image.channels, channel] {
        record.word(extent as u64);
    }
    for value in [shift, of.c1, of.c2].into_iter().chain(of.weights) {
        record.word(value.to_bits());
    }
    record.arg()
}

impl<E: Executor> DeviceComparer<E> {
    /// Mean structural similarity of values that are an image, for the peak of their report. None for an image smaller
    /// than a window, of another size than the values, or with values that are not finite, as the report says.
    pub fn ssim(
        &mut self,
        values: &DeviceValues,
        format: Format,
        image: ImageExtents,
        report: &ErrorReport,
    ) -> Result<Option<f64>, ExecError> {
        let count = values.count();
        let finite = report.count == count && report.compared == count;
        if !finite || !image.has_windows(count) {
            return Ok(None);
        }
        let described = self.describe(values, format, report.floor)?;
        let constants = SsimConstants::new(report.peak);
        let chunks = (image.height * image.width).div_ceil(CHUNK);
        let (rows, columns) = image.windows();
        let tiles = rows.div_ceil(TILE) * columns.div_ceil(TILE);
        let mut sum = 0.0;
        for channel in 0..image.channels {
            let c = channel_record(image, channel, 0.0, &constants);
            let args = [described.clone(), c];
            let pixels = self.summed("sum_channel", (chunks, THREADS), args)?;
            let shift = image.mean_of_pixels(pixels);
            let c = channel_record(image, channel, shift, &constants);
            let args = [described.clone(), c];
            let windows = self.summed("sum_similarity", (tiles, (TILE * TILE) as u32), args)?;
            sum += image.mean_of_windows(windows);
        }
        Ok(Some(sum / image.channels as f64))
    }

    /// The sum of what the blocks of a kernel give.
    fn summed(
        &mut self,
        kernel: &str,
        (blocks, threads): (usize, u32),
        [values, channel]: [Arg; 2],
    ) -> Result<Dd, ExecError> {
        let out = self.partials[0].with(&mut self.exec, blocks * SUM_BYTES)?;
        self.launch(kernel, (blocks, threads), &[values, channel, start_of(out)])?;
        self.combine("combine_sums", blocks, SUM_BYTES)?;
        let bytes = self.exec.read(self.result)?;
        Ok(Words::new(&bytes).sum())
    }
}
