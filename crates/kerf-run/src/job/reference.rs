//! An output against its reference, with the verdict.
use super::report::{Output, OutputVerdict};
use super::save::save;
use super::shadowed::{Reference, ReferenceOutput};
use super::{Job, JobError};
use crate::run::WorkloadSession;
use kerf_num::metrics::{
    CompareOptions, ErrorReport, ImageExtents, Integers, NanPairs, judge, scatter, ssim,
};
use kerf_num::{Format, Metric};
use kerf_workload::accept::Criterion;
use kerf_workload::digest::digest;
use kerf_workload::generate::perturb::format_of;
use kerf_workload::workload::BufferSpec;

/// What a workload asks of an output.
pub(super) struct OutputCriterion<'a> {
    pub criterion: Option<&'a Criterion>,
    spec: &'a BufferSpec,
}

impl<'a> OutputCriterion<'a> {
    pub(super) fn for_output(session: &WorkloadSession<'a>, buffer: usize) -> OutputCriterion<'a> {
        let w = session.workload;
        let spec = &w.buffers[buffer];
        OutputCriterion {
            criterion: w.accept.criterion(&spec.name),
            spec,
        }
    }

    /// How values of a format are compared.
    pub(super) fn options(&self, format: Format) -> Result<CompareOptions, JobError> {
        let floor = self.criterion.and_then(|c| c.floor);
        CompareOptions::new(format, floor, &self.quantiles())
            .map_err(|e| JobError::Input(e.to_string()))
    }

    /// The quantiles of the error that the workload asks for.
    pub(super) fn quantiles(&self) -> Vec<f64> {
        let asked = self.criterion.and_then(|c| c.quantile);
        asked.into_iter().collect()
    }

    /// Takes the peak that the workload says.
    pub(super) fn set_peak(&self, report: &mut ErrorReport) {
        if let Some(p) = self.criterion.and_then(|c| c.peak) {
            report.set_peak(p);
        }
    }

    /// The image that values are, so many to an element, where it is asked how similar it is.
    pub(super) fn image(&self, channels: usize) -> Option<ImageExtents> {
        let images = [Metric::Psnr, Metric::Ssim];
        let asked = self.criterion.is_some_and(|c| images.contains(&c.metric));
        let image = self.spec.image().filter(|_| asked)?;
        Some(ImageExtents { channels, ..image })
    }
}

/// A number of an output at a place.
pub(super) fn value_at(bytes: &[u8], at: usize, f: Format) -> f64 {
    let mut b = [0u8; 8];
    b[..f.bytes()].copy_from_slice(&bytes[at..at + f.bytes()]);
    f.decode(u64::from_le_bytes(b))
}

/// The floats of one format in the elements of an output, in order.
fn float_values(b: &BufferSpec, bytes: &[u8], f: Format) -> Vec<f64> {
    let one = b.elem.scalars();
    let some = one.iter().filter(|(_, s)| format_of(*s) == Some(f));
    let places: Vec<usize> = some.map(|(at, _)| *at).collect();
    let elements = bytes.chunks_exact(b.elem.size().max(1));
    elements
        .flat_map(|e| places.iter().map(move |at| value_at(e, *at, f)))
        .collect()
}

/// Compares an output with its reference, and decides on it.
pub(super) fn compare_output(
    job: &Job,
    session: &WorkloadSession,
    buffer: usize,
    got: &[u8],
    reference: &ReferenceOutput,
    out: &mut Output,
) -> Result<(), JobError> {
    let spec = &session.workload.buffers[buffer];
    let mut reports = Vec::new();
    let asked = OutputCriterion::for_output(session, buffer);
    for (f, shadow) in &reference.1 {
        let values = float_values(spec, got, *f);
        let options = asked.options(*f)?;
        let mut r = kerf_num::metrics::compare_with_quantiles(
            &values,
            shadow,
            *f,
            Some(options.floor()),
            options.quantiles(),
        )
        .map_err(|e| JobError::Input(e.to_string()))?;
        if job.scatter {
            // Where elements have several numbers, or numbers of several formats, places are of one row.
            let shape = spec.npy_shape();
            out.scatter.push(scatter(&values, shadow, r.floor, &shape));
        }
        asked.set_peak(&mut r);
        if let Some(image) = asked.image(values.len() / spec.len.max(1)) {
            let exact: Vec<f64> = shadow.iter().map(|d| d.to_f64()).collect();
            r.ssim = ssim(&values, &exact, image, r.peak);
        }
        out.push_report(*f, r.clone());
        reports.push(r);
    }
    let mut integers = Integers::default();
    let one = spec.elem.scalars();
    let places: Vec<_> = one
        .iter()
        .filter(|(_, s)| format_of(*s).is_none())
        .collect();
    let size = spec.elem.size().max(1);
    for (x, y) in got.chunks_exact(size).zip(reference.0.chunks_exact(size)) {
        for (at, s) in &places {
            let bytes = *at..at + s.bytes();
            integers.count += 1;
            integers.mismatches += usize::from(x[bytes.clone()] != y[bytes]);
        }
    }
    out.integer_mismatches = (integers.count > 0).then_some(integers.mismatches);
    let finite = || Ok(session.inputs_are_finite()?);
    out.verdict = verdict(asked.criterion, &reports, integers, finite)?;
    Ok(())
}

/// Decides on an output. Without a criterion there is a verdict only where it does not depend on one.
pub(super) fn verdict(
    criterion: Option<&Criterion>,
    reports: &[ErrorReport],
    integers: Integers,
    inputs_are_finite: impl FnOnce() -> Result<bool, JobError>,
) -> Result<Option<OutputVerdict>, JobError> {
    let pairs = reports.iter().any(|r| r.nan_pairs > 0);
    let nan_pairs = match criterion {
        // Inputs are looked through only where it matters.
        Some(c) if !c.allow_nan && pairs && inputs_are_finite()? => NanPairs::Rejected,
        _ => NanPairs::Allowed,
    };
    let bound = criterion.map(Criterion::bound);
    let j = judge(reports, integers, bound.as_ref(), nan_pairs);
    if criterion.is_none() && j.accepted() && !reports.is_empty() {
        return Ok(None);
    }
    Ok(Some(OutputVerdict {
        metric: criterion.map(|c| c.metric),
        value: j.value,
        tolerance: criterion.map(|c| c.tolerance),
        accepted: j.accepted(),
        rejection: j.rejection,
        counts: j.counts,
    }))
}

/// Saves outputs and compares them with the reference, as far as the job wants it. Nothing is known of those that were
/// not read.
pub(super) fn compared_outputs(
    job: &Job,
    session: &WorkloadSession,
    read: Option<Vec<Vec<u8>>>,
    reference: Option<&Reference>,
) -> Result<Vec<Output>, JobError> {
    let spec = |o: usize| &session.workload.buffers[o];
    let Some(read) = read else {
        let all = session.outputs().into_iter();
        return Ok(all.map(|o| Output::empty(spec(o))).collect());
    };
    let mut outputs = Vec::new();
    for ((k, o), bytes) in session.outputs().into_iter().enumerate().zip(read) {
        let mut out = Output::empty(spec(o));
        if !job.skip_digests {
            out.digest = digest(&bytes, &spec(o).elem);
        }
        if let Some(dir) = &job.save {
            let shadows = reference.map(|r| &r.outputs[k]);
            out.saved = Some(save(dir, spec(o), &bytes, shadows)?);
        }
        if let Some(r) = reference {
            compare_output(job, session, o, &bytes, &r.outputs[k], &mut out)?;
        }
        outputs.push(out);
    }
    Ok(outputs)
}
