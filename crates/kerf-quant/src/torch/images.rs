//! Images kept on the device; cut, mirrored and normalised there, with the bits of [`ImageBatch::reals`].
use crate::data::images::{ImageBatch, PixelStore, Pixels};
use std::sync::Arc;
use tch::{Device, Kind, TchError, Tensor};

/// The same values, channels last in memory, for images.
pub(super) fn channels_last(x: &Tensor) -> Result<Tensor, TchError> {
    if x.dim() != 4 {
        return Ok(x.shallow_clone());
    }
    x.f_permute([0, 2, 3, 1])?
        .f_contiguous()?
        .f_permute([0, 3, 1, 2])
}

struct Kept {
    store: Arc<PixelStore>,
    /// `[images, height, width, channels]`.
    pixels: Tensor,
    /// What each byte stands for, `[channels * 256]`; for reals the mean and deviation.
    table: Tensor,
    deviation: Tensor,
}

/// Sets of images on the device: as many as were used, a training and a test set as a rule.
#[derive(Default)]
pub(super) struct Resident {
    kept: Vec<Kept>,
}

fn upload(store: &Arc<PixelStore>, device: Device) -> Result<Kept, TchError> {
    let [c, h, w] = store.shape.map(|d| d as i64);
    let pixels = match &store.pixels {
        Pixels::Bytes(v) => Tensor::f_from_slice(v)?,
        Pixels::Reals(v) => Tensor::f_from_slice(v)?,
    };
    let pixels = pixels.f_view([-1, c, h, w])?.f_to(device)?;
    let normal = &store.normal;
    let table: Vec<f32> = match &store.pixels {
        Pixels::Bytes(_) => {
            let of = |k: usize, v: u32| (v as f32 / 255.0 - normal.mean[k]) / normal.std[k];
            let channels = 0..c as usize;
            channels
                .flat_map(|k| (0..256).map(move |v| of(k, v)))
                .collect()
        }
        Pixels::Reals(_) => normal.mean.clone(),
    };
    Ok(Kept {
        store: store.clone(),
        pixels: pixels.f_permute([0, 2, 3, 1])?.f_contiguous()?,
        table: Tensor::f_from_slice(&table)?.f_to(device)?,
        deviation: Tensor::f_from_slice(&normal.std)?.f_to(device)?,
    })
}

impl Resident {
    /// These images, `[images, channels, height, width]`, channels last in memory.
    pub(super) fn batch(
        &mut self,
        images: &ImageBatch,
        device: Device,
    ) -> Result<Tensor, TchError> {
        let at = match self
            .kept
            .iter()
            .position(|k| Arc::ptr_eq(&k.store, &images.store))
        {
            Some(i) => i,
            None => {
                self.kept.push(upload(&images.store, device)?);
                self.kept.len() - 1
            }
        };
        let kept = &self.kept[at];
        let [c, h, w] = images.store.shape.map(|d| d as i64);
        let n = images.indices.len() as i64;
        let holes = images.moves.iter().any(|m| m.hole != [0; 4]);
        // One transfer for all that the host says of the images.
        let mut host: Vec<i32> = images.indices.iter().map(|i| *i as i32).collect();
        if !images.moves.is_empty() {
            host.extend(images.moves.iter().map(|m| m.top));
            host.extend(images.moves.iter().map(|m| m.left));
            host.extend(images.moves.iter().map(|m| i32::from(m.flip)));
            if holes {
                for k in 0..4 {
                    host.extend(images.moves.iter().map(|m| m.hole[k]));
                }
            }
        }
        let host = Tensor::f_from_slice(&host)?.f_view([-1, n])?.f_to(device)?;
        let index = host.f_select(0, 0)?.f_to_kind(Kind::Int64)?;
        let bytes = matches!(images.store.pixels, Pixels::Bytes(_));
        let (pixels, inside) = if images.moves.is_empty() {
            (kept.pixels.f_index_select(0, &index)?, None)
        } else {
            let count = |n: i64| Tensor::f_arange(n, (Kind::Int64, device));
            let row = |k: i64| host.f_select(0, k)?.f_to_kind(Kind::Int64)?.f_view([n, 1]);
            let flip = row(3)?;
            let x = count(w)?.f_view([1, w])?;
            // x, or w - 1 - x where mirrored.
            let turned = (&x * -2 + (w - 1)) * &flip;
            let x = x + turned + row(2)?;
            let y = count(h)?.f_view([1, h])? + row(1)?;
            let within = |v: &Tensor, n: i64| v.f_ge(0)?.f_logical_and(&v.f_lt(n)?);
            let inside = within(&y, h)?.f_view([n, h, 1, 1])?;
            let inside = inside.f_logical_and(&within(&x, w)?.f_view([n, 1, w, 1])?)?;
            let y = y.f_clamp(0, h - 1)?.f_view([n, h, 1])?;
            let x = x.f_clamp(0, w - 1)?.f_view([n, 1, w])?;
            let at = [Some(index.f_view([n, 1, 1])?), Some(y), Some(x)];
            (kept.pixels.f_index(&at)?, Some(inside))
        };
        let pixels = match inside {
            Some(m) => pixels.f_mul(&m.f_to_kind(pixels.kind())?)?,
            None => pixels,
        };
        let x = if bytes {
            let base = Tensor::f_arange(c, (Kind::Int64, device))? * 256;
            let place = pixels.f_to_kind(Kind::Int64)?.f_add(&base)?;
            kept.table
                .f_index_select(0, &place.f_view(-1)?)?
                .f_view([n, h, w, c])?
        } else {
            pixels.f_sub(&kept.table)?.f_div(&kept.deviation)?
        };
        let x = match holes {
            true => {
                let row = |k: i64| host.f_select(0, k)?.f_view([n, 1]);
                let within = |size: i64, first: i64| {
                    let v = Tensor::f_arange(size, (Kind::Int, device))?.f_view([1, size])?;
                    v.f_ge_tensor(&row(4 + first)?)?
                        .f_logical_and(&v.f_lt_tensor(&row(6 + first)?)?)
                };
                let rows = within(h, 0)?.f_view([n, h, 1, 1])?;
                let hole = rows.f_logical_and(&within(w, 1)?.f_view([n, 1, w, 1])?)?;
                x.f_masked_fill(&hole, 0.0)?
            }
            false => x,
        };
        x.f_permute([0, 3, 1, 2])
    }
}
