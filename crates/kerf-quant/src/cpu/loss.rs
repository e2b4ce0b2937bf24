//! Softmax and cross entropy with smoothed labels.
use crate::backend::BatchScore;
use rayon::prelude::*;

/// Loss and hits of scores of `classes` each; turns `logits` into the gradient of the mean loss if wanted.
pub fn cross_entropy(
    logits: &mut [f32],
    labels: &[u32],
    classes: usize,
    smoothing: f32,
    gradient: bool,
) -> BatchScore {
    let n = labels.len();
    let share = smoothing / classes as f32;
    let rows = logits.par_chunks_mut(classes).zip(labels).with_min_len(64);
    let each: Vec<(f64, bool)> = rows
        .map(|(row, label)| {
            let label = *label as usize;
            let most = row
                .iter()
                .fold(f32::NEG_INFINITY, |a, b| if *b > a { *b } else { a });
            let best = row.iter().position(|v| *v == most);
            let sum: f64 = row.iter().map(|v| f64::from(v - most).exp()).sum();
            let log = sum.ln() + f64::from(most);
            let all: f64 = row.iter().map(|v| log - f64::from(*v)).sum();
            let own = log - f64::from(row[label]);
            let loss = f64::from(1.0 - smoothing) * own + f64::from(share) * all;
            if gradient {
                for (c, v) in row.iter_mut().enumerate() {
                    let p = (f64::from(*v) - log).exp() as f32;
                    let target = share + if c == label { 1.0 - smoothing } else { 0.0 };
                    *v = (p - target) / n as f32;
                }
            }
            (loss, best == Some(label))
        })
        .collect();
    BatchScore {
        loss: each.iter().map(|(l, _)| l).sum::<f64>() / n.max(1) as f64,
        correct: each.iter().filter(|(_, c)| *c).count() as u64,
        count: n as u64,
    }
}
