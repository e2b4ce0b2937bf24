//! What is told of the points: ranges, histograms, gradients.
use super::{Quantizer, SAMPLE, dense, rest};
use crate::decision::{Histogram, PointGradient, PointReport};
use crate::points::QuantizationPoint;
use tch::{Kind, TchError, Tensor};

impl Quantizer {
    /// Statistics that were asked for.
    pub(super) fn look(
        &mut self,
        at: usize,
        point: &QuantizationPoint,
        x: &Tensor,
    ) -> Result<(), TchError> {
        if !self.want.statistics && self.want.histogram.is_none() {
            return Ok(());
        }
        let x = x.f_detach()?;
        let (min, max) = match point.channels {
            Some(_) => (
                x.f_amin(&rest(&x)[..], false)?,
                x.f_amax(&rest(&x)[..], false)?,
            ),
            None => dense(&x)?.f_aminmax(None, false)?,
        };
        if let (Some(parts), false) = (self.want.histogram, point.is_weight()) {
            let rows = x.size()[0];
            let each = (x.numel() as i64 / rows.max(1)).max(1);
            let some = dense(&x.f_narrow(0, 0, rows.min((SAMPLE / each).max(1)))?)?;
            let some = some.f_to_kind(Kind::Float)?;
            let (lo, hi) = some.f_aminmax(None, false)?;
            // It refuses what is no number; the loss will say so.
            let counts = some.f_reshape(-1)?.f_histc(parts as i64);
            self.seen[at].histogram = counts.ok().map(|c| (lo, hi, c));
        }
        self.seen[at].min = Some(min);
        self.seen[at].max = Some(max);
        Ok(())
    }

    /// Gradients of the parameters; those of points that were asked for are kept.
    pub(in crate::torch) fn backward(
        &mut self,
        loss: &Tensor,
        leaves: &[Tensor],
        scale: f64,
    ) -> Result<Vec<Tensor>, TchError> {
        let mut inputs: Vec<&Tensor> = leaves.iter().collect();
        let traced: Vec<usize> = (0..self.seen.len())
            .filter(|i| self.seen[*i].trace.is_some())
            .collect();
        let of = |i: &usize| self.seen[*i].trace.as_ref().map(|t| &t.y);
        inputs.extend(traced.iter().filter_map(of));
        let loss = loss.f_mul_scalar(scale)?;
        let mut all = Tensor::f_run_backward(&[&loss], &inputs, false, false)?;
        let own = all.split_off(leaves.len());
        tch::no_grad(|| -> Result<(), TchError> {
            for (i, g) in traced.into_iter().zip(own) {
                let Some(t) = self.seen[i].trace.take() else {
                    continue;
                };
                let g = g.f_to_kind(Kind::Float)?.f_mul_scalar(1.0 / scale)?;
                let sum = |m: &Tensor| g.f_mul(&m.f_to_kind(Kind::Float)?)?.f_sum(Kind::Double);
                let zero = || Tensor::f_zeros([1], (Kind::Double, g.device()))?.f_squeeze();
                let inner = t.offset.f_mul(&t.inside.f_to_kind(Kind::Float)?)?;
                let blend = match &t.other {
                    Some(o) => sum(o)?,
                    None => zero()?,
                };
                let parts = [sum(&t.above)?, sum(&t.below)?, sum(&inner)?, blend];
                self.seen[i].gradient = Some(Tensor::f_stack(&parts, 0)?);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// What was seen, in one transfer for ranges, one for histograms and one for gradients.
    pub(in crate::torch) fn report(
        &mut self,
        points: &[QuantizationPoint],
    ) -> Result<Vec<PointReport>, TchError> {
        let fetch = |parts: Vec<Tensor>| -> Result<Vec<f64>, TchError> {
            if parts.is_empty() {
                return Ok(Vec::new());
            }
            let flat: Result<Vec<Tensor>, TchError> = parts
                .iter()
                .map(|t| t.f_reshape(-1)?.f_to_kind(Kind::Double))
                .collect();
            Vec::<f64>::try_from(Tensor::f_cat(&flat?, 0)?)
        };
        let mut parts = Vec::new();
        for s in &self.seen {
            parts.extend(
                [&s.min, &s.max]
                    .into_iter()
                    .flatten()
                    .map(Tensor::shallow_clone),
            );
            if let Some((lo, hi, counts)) = &s.histogram {
                parts.extend([lo, hi, counts].map(Tensor::shallow_clone));
            }
            parts.extend(s.gradient.iter().map(Tensor::shallow_clone));
        }
        let mut values = fetch(parts)?.into_iter();
        let mut take = |n: usize| values.by_ref().take(n).collect::<Vec<f64>>();
        let narrow = |v: Vec<f64>| v.into_iter().map(|x| x as f32).collect::<Vec<f32>>();
        let mut all = Vec::new();
        for (s, p) in self.seen.iter().zip(points) {
            let mut one = PointReport::default();
            if s.min.is_some() {
                let n = p.channels.unwrap_or(1);
                one.min = narrow(take(n));
                one.max = narrow(take(n));
            }
            if let Some((_, _, counts)) = &s.histogram {
                let ends = take(2);
                one.histogram = Some(Histogram {
                    lo: ends[0] as f32,
                    hi: ends[1] as f32,
                    counts: take(counts.numel()),
                });
            }
            if self.want.gradients && s.gradient.is_none() {
                one.gradient = Some(PointGradient::default());
            }
            if s.gradient.is_some() {
                let g = take(4);
                one.gradient = Some(PointGradient {
                    above: g[0],
                    below: g[1],
                    step: g[2],
                    blend: g[3],
                });
            }
            all.push(one);
        }
        Ok(all)
    }
}
