//! Fake quantization written out operation by operation, for what no fused operation does: blends of two grids,
//! gradients of ranges and steps, channels with zero points.
use super::{Quantizer, Trace, along, at_least, rest};
use crate::decision::{Decision, GridRange, Noise, Scheme};
use crate::points::QuantizationPoint;
use tch::{Kind, TchError, Tensor};

struct Placed {
    y: Tensor,
    inside: Tensor,
    above: Tensor,
    below: Tensor,
    offset: Tensor,
}

impl Quantizer {
    /// Everything else, written out.
    pub(super) fn slow(
        &mut self,
        at: usize,
        point: &QuantizationPoint,
        d: &Decision,
        x: &Tensor,
        steps: f32,
    ) -> Result<Tensor, TchError> {
        let before = x.f_detach()?;
        let (y, pass, trace) = tch::no_grad(|| self.written_out(at, point, d, &before, steps))?;
        // The value is y to the bit: what is added is zero, and carries the gradient.
        let y = x.f_sub(&before)?.f_mul(&pass)?.f_add(&y)?;
        // Nothing flows back to the network's input.
        if self.want.gradients && y.requires_grad() {
            self.seen[at].trace = Some(Trace {
                y: y.shallow_clone(),
                ..trace
            });
        }
        Ok(y)
    }

    fn written_out(
        &mut self,
        at: usize,
        point: &QuantizationPoint,
        d: &Decision,
        x: &Tensor,
        steps: f32,
    ) -> Result<(Tensor, Tensor, Trace), TchError> {
        let (lo, hi) = match (&d.range, point.channels) {
            (GridRange::Fixed { lo, hi }, _) => {
                let put = |v: &[f32]| along(&Tensor::f_from_slice(v)?.f_to(self.device)?, x);
                (put(lo)?, put(hi)?)
            }
            (GridRange::Observed { shrink }, None) => {
                let (lo, hi) = self.span(at, x, *shrink)?;
                let lo = match lo {
                    Some(lo) => lo,
                    None => self.constant(0.0)?,
                };
                (lo.f_squeeze()?, hi.f_squeeze()?)
            }
            (GridRange::Observed { shrink }, Some(_)) => {
                let hi = x.f_amax(&rest(x)[..], false)?;
                let hi = hi.f_sub(&hi.f_mul_scalar(f64::from(*shrink))?)?;
                (along(&x.f_amin(&rest(x)[..], false)?, x)?, along(&hi, x)?)
            }
        };
        let (lo, hi) = (lo.f_clamp_max(0.0)?, hi.f_clamp_min(0.0)?);
        let first = self.on_grid(d, x, &lo, &hi, steps)?;
        let kind = |t: &Tensor| t.f_to_kind(Kind::Float);
        let (mut y, mut pass) = (first.y.shallow_clone(), kind(&first.inside)?);
        let mut other = None;
        if let Some((steps2, part)) = d.blend {
            let second = self.on_grid(d, x, &lo, &hi, steps2)?;
            let (a, b) = (f64::from(1.0 - part), f64::from(part));
            y = y.f_mul_scalar(a)?.f_add(&second.y.f_mul_scalar(b)?)?;
            pass = pass
                .f_mul_scalar(a)?
                .f_add(&kind(&second.inside)?.f_mul_scalar(b)?)?;
            other = Some(second.y.f_sub(&first.y)?);
        }
        if let Noise::Portion(p) = d.noise {
            let chosen = x.f_rand_like()?.f_lt(f64::from(p))?;
            y = y.f_where_self(&chosen, x)?;
            pass = pass.f_where_self(&chosen, &pass.f_ones_like()?)?;
        }
        let trace = Trace {
            y: y.shallow_clone(),
            above: first.above,
            below: first.below,
            inside: first.inside,
            offset: first.offset,
            other,
        };
        Ok((y, pass, trace))
    }

    fn on_grid(
        &mut self,
        d: &Decision,
        x: &Tensor,
        lo: &Tensor,
        hi: &Tensor,
        steps: f32,
    ) -> Result<Placed, TchError> {
        let half = (steps / 2.0).floor();
        let all = self.constant(steps)?;
        let (step, low, high) = match d.scheme {
            Scheme::Affine => {
                let step = at_least(&hi.f_sub(lo)?.f_div(&all)?)?;
                let zero = lo
                    .f_neg()?
                    .f_div(&step)?
                    .f_round()?
                    .f_clamp_max(f64::from(steps))?;
                let high = all.f_sub(&zero)?;
                (step, zero.f_neg()?, high)
            }
            scheme => {
                let reach = lo.f_neg()?.f_maximum(hi)?;
                let (step, low, high) = match scheme {
                    Scheme::Symmetric => {
                        let half = half.max(1.0);
                        (reach.f_div(&self.constant(half)?)?, -half, half)
                    }
                    _ => {
                        let step = reach.f_mul_scalar(2.0)?.f_div(&all)?;
                        (step, -((steps + 1.0) / 2.0).floor().max(1.0), half)
                    }
                };
                (at_least(&step)?, self.constant(low)?, self.constant(high)?)
            }
        };
        let inverse = self.constant(1.0)?.f_div(&step)?;
        let place = x.f_mul(&inverse)?;
        let r = match d.noise {
            Noise::Rounding => place.f_add(&x.f_rand_like()?)?.f_floor()?,
            _ => place.f_round()?,
        };
        let (above, below) = (r.f_gt_tensor(&high)?, r.f_lt_tensor(&low)?);
        let y = r.f_maximum(&low)?.f_minimum(&high)?.f_mul(&step)?;
        Ok(Placed {
            inside: above.f_logical_or(&below)?.f_logical_not()?,
            offset: r.f_sub(&place)?,
            y,
            above,
            below,
        })
    }
}
