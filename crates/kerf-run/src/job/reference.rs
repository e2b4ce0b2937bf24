//! An output against its reference, with the verdict.
use super::report::{Output, OutputVerdict};
use super::shadowed::{ReferenceOutput, scalars};
use super::{Job, JobError};
use crate::run::WorkloadSession;
use kerf_num::metrics::{ErrorReport, ImageExtents, Integers, NanPairs, judge, ssim};
use kerf_num::{Format, Metric};
use kerf_workload::accept::Criterion;
use kerf_workload::generate::perturb::format_of;

fn value_at(bytes: &[u8], at: usize, f: Format) -> f64 {
    let mut b = [0u8; 8];
    b[..f.bytes()].copy_from_slice(&bytes[at..at + f.bytes()]);
    f.decode(u64::from_le_bytes(b))
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
    let w = session.workload;
    let all = scalars(w, buffer);
    let mut reports = Vec::new();
    let criterion = w.accept.criterion(&w.buffers[buffer].name);
    for (f, shadow) in &reference.1 {
        let values: Vec<f64> = all
            .iter()
            .filter(|(_, s)| format_of(*s) == Some(*f))
            .map(|(at, _)| value_at(got, *at, *f))
            .collect();
        let quantiles: Vec<f64> = [0.5, 0.9, 0.99, 0.999]
            .into_iter()
            .chain(criterion.and_then(|c| c.quantile))
            .collect();
        let mut r = kerf_num::metrics::compare_with_quantiles(
            &values,
            shadow,
            *f,
            criterion.and_then(|c| c.floor),
            &quantiles,
        )
        .map_err(|e| JobError::Input(e.to_string()))?;
        if job.scatter {
            // Where elements have several numbers, or numbers of several formats, places are of one row.
            let shape = w.buffers[buffer].npy_shape();
            out.scatter
                .push(kerf_num::metrics::scatter(&values, shadow, r.floor, &shape));
        }
        if let Some(p) = criterion.and_then(|c| c.peak) {
            r.set_peak(p);
        }
        let images = [Metric::Psnr, Metric::Ssim];
        if let Some(image) = w.buffers[buffer].image()
            && criterion.is_some_and(|c| images.contains(&c.metric))
        {
            let exact: Vec<f64> = shadow.iter().map(|d| d.to_f64()).collect();
            let channels = values.len() / w.buffers[buffer].len.max(1);
            let image = ImageExtents { channels, ..image };
            r.ssim = ssim(&values, &exact, image, r.peak);
        }
        let mut v = serde_json::to_value(&r).map_err(|e| JobError::Worker(e.to_string()))?;
        v["format"] = serde_json::json!(f);
        out.errors.push(v);
        reports.push(r);
    }
    let mut integers = Integers::default();
    for (at, s) in all.iter().filter(|(_, s)| format_of(*s).is_none()) {
        let bytes = *at..at + s.bytes();
        integers.count += 1;
        integers.mismatches += usize::from(got[bytes.clone()] != reference.0[bytes]);
    }
    out.integer_mismatches = (integers.count > 0).then_some(integers.mismatches);
    out.verdict = verdict(session, criterion, &reports, integers)?;
    Ok(())
}

/// Decides on an output. Without a criterion there is a verdict only where it does not depend on one.
fn verdict(
    session: &WorkloadSession,
    criterion: Option<&Criterion>,
    reports: &[ErrorReport],
    integers: Integers,
) -> Result<Option<OutputVerdict>, JobError> {
    let pairs = reports.iter().any(|r| r.nan_pairs > 0);
    let nan_pairs = match criterion {
        // Inputs are looked through only where it matters.
        Some(c) if !c.allow_nan && pairs && session.inputs_are_finite()? => NanPairs::Rejected,
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
