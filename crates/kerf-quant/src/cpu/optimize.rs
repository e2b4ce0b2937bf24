//! Parameters follow their gradients, by PyTorch's formulas.
use super::parallel::ELEMENTS;
use crate::backend::Optimizer;
use rayon::prelude::*;

/// What an optimizer remembers of a parameter; empty before the first step.
#[derive(Debug, Clone, Default)]
pub struct OptimizerState {
    /// Momentum, or mean of gradients.
    pub first: Vec<f32>,
    /// Mean of squares.
    pub second: Vec<f32>,
}

/// One step of a parameter.
pub fn follow(
    o: &Optimizer,
    step: u64,
    rate: f32,
    w: &mut [f32],
    g: &[f32],
    m: &mut OptimizerState,
) {
    match *o {
        Optimizer::Sgd {
            momentum,
            nesterov,
            weight_decay,
        } => {
            let fresh = m.first.is_empty();
            if fresh {
                m.first = vec![0.0; w.len()];
            }
            let parts = w.par_chunks_mut(ELEMENTS).zip(g.par_chunks(ELEMENTS));
            parts
                .zip(m.first.par_chunks_mut(ELEMENTS))
                .for_each(|((w, g), b)| {
                    for ((w, g), b) in w.iter_mut().zip(g).zip(b) {
                        let g = g + weight_decay * *w;
                        *b = if fresh { g } else { momentum * *b + g };
                        *w -= rate * if nesterov { g + momentum * *b } else { *b };
                    }
                });
        }
        Optimizer::Adam {
            beta1,
            beta2,
            eps,
            weight_decay,
            decoupled,
        } => {
            if m.first.is_empty() {
                m.first = vec![0.0; w.len()];
                m.second = vec![0.0; w.len()];
            }
            let n = step.min(i32::MAX as u64) as i32;
            let one = 1.0 - f64::from(beta1).powi(n);
            let two = (1.0 - f64::from(beta2).powi(n)).sqrt();
            let (size, root) = ((f64::from(rate) / one) as f32, two as f32);
            let parts = w.par_chunks_mut(ELEMENTS).zip(g.par_chunks(ELEMENTS));
            let moments = m
                .first
                .par_chunks_mut(ELEMENTS)
                .zip(m.second.par_chunks_mut(ELEMENTS));
            parts.zip(moments).for_each(|((w, g), (a, b))| {
                for ((w, g), (a, b)) in w.iter_mut().zip(g).zip(a.iter_mut().zip(b)) {
                    let mut g = *g;
                    if decoupled {
                        *w *= 1.0 - rate * weight_decay;
                    } else {
                        g += weight_decay * *w;
                    }
                    *a = beta1 * *a + (1.0 - beta1) * g;
                    *b = beta2 * *b + (1.0 - beta2) * g * g;
                    *w -= size * *a / (b.sqrt() / root + eps);
                }
            });
        }
    }
}
